"""How far the rooflines can be trusted on this machine."""
