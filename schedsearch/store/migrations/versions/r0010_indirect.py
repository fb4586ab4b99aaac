"""Intervals of speed-ups that were timed against another schedule are no longer kept: they left out
that one's own uncertainty. Samples stay."""

from __future__ import annotations

import json
import math

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    measurement = sa.table(
        "measurement",
        *(sa.column(name) for name in ("id", "low", "high")),
        sa.column("samples", sa.Text()),
    )
    connection = op.get_bind()
    known = sa.select(measurement.c.id, sa.cast(measurement.c.samples, sa.Text()))
    indirect = [
        id_
        for id_, samples in connection.execute(known)
        if json.loads(samples)["reference_speedup"] != 1.0
    ]
    for id_ in indirect:
        row = sa.update(measurement).where(measurement.c.id == id_)
        connection.execute(row.values(low=0.0, high=math.inf))
