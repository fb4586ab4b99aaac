"""Generated C keeps the build options it is compiled with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("code", sa.Column("build", sa.JSON(), nullable=True))
