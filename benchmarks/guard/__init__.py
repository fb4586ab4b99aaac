"""How often `schedsearch check` cries wolf on this machine, and what it misses."""
