"""Functions on NumPy arrays as programs: rewritten, and traced with stand-ins for arrays."""
