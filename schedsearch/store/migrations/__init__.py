"""Alembic migrations of the tuning store; `store.revisions` runs them on open.

A released revision never changes. A new one is a file in `versions/`: the tests
compare its result with the models.
"""
