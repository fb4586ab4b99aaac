"""What searches learn from earlier ones, of other kernels."""
