"""How soon a run finds what, over time and over measured candidates."""
