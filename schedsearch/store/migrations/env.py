"""Alembic's entry point: migrate over the connection that `store.revisions` opened."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
