"""How far the measuring protocol can be trusted on this machine."""
