"""How fast candidates are made, and where the time goes."""
