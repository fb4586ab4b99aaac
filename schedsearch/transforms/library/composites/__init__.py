"""Rewrites of several Exo operators each, one module per transform."""
