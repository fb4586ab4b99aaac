"""Workloads say what they compute, so that schedules of similar ones are found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("workload", sa.Column("signature", sa.JSON(), nullable=True))
