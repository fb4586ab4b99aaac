"""Alembic's entry point: migrate over the connection that opened the store."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(
    connection=given["connection"],
    version_table=given["version_table"],
    transactional_ddl=True,
)
context.run_migrations()
