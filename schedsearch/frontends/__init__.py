"""Ways to write a kernel other than as an Exo procedure: NumPy, equations, C."""
