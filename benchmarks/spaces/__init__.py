"""Recorded spaces of small kernels, and the command that records them."""
