"""Exo procedures for the tests; Exo reads their source, so they live in files."""
