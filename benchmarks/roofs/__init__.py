"""How far the roofs can be trusted on this machine."""
