"""Machine code of kernels: read, and counted."""
