"""What callers lose who do not align their arrays."""
