"""Equations on arrays: `C[i, j] = A[i, k] * B[k, j]`, and NumPy's einsum."""

from schedsearch.frontends.equations.program import equations, read

__all__ = ["equations", "read"]
