"""Strategies, executors and the driver that runs a search."""
