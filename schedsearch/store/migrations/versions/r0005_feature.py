"""Measured candidates have features, which the learned cost model is trained on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "feature",
        sa.Column("candidate_id", INTEGER, nullable=False),
        sa.Column("version", INTEGER, nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"], ["candidate.id"], name=op.f("fk_feature_candidate_id_candidate")
        ),
        sa.PrimaryKeyConstraint("candidate_id", name=op.f("pk_feature")),
    )
