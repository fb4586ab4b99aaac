"""Candidates have no features any more: the learned cost model that they were for is gone."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.drop_table("feature")
