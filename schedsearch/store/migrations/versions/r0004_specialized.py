"""Workloads say which of their sizes are constants of the procedure."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("workload", sa.Column("specialized", sa.JSON(), nullable=True))
