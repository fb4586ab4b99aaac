"""Loops: how often they run, what their variables are, and what becomes of their bodies."""
