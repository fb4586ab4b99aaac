"""Are kernels from C, NumPy and equations right, and as fast as what they replace?"""
