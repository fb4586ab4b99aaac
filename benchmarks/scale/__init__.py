"""How memory and time of the driver and the store grow with the number of candidates."""
