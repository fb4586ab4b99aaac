"""Rewrites of one Exo operator each, one module per transform."""
