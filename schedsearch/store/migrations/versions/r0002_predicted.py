"""Candidates keep what the cost estimate promised when they were found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("candidate", sa.Column("predicted", sa.Double(), nullable=True))
