"""A procedure can be searched afresh: candidates and runs say which search tree they are of.
Runs have an identity that copies of a store share."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UNIQUE = "uq_candidate_workload_id_target_id_trace_key"


def upgrade() -> None:
    op.add_column("run", sa.Column("tree", INTEGER, nullable=False, server_default="1"))
    op.add_column("run", sa.Column("uuid", sa.Text(), nullable=True))
    _identify_runs()
    with op.batch_alter_table("run") as run:
        run.alter_column("uuid", nullable=False, existing_type=sa.Text())
        run.create_unique_constraint("uq_run_uuid", ["uuid"])
    with op.batch_alter_table("candidate") as candidate:
        candidate.add_column(sa.Column("tree", INTEGER, nullable=False, server_default="1"))
        candidate.drop_constraint(UNIQUE, type_="unique")
        candidate.create_unique_constraint(
            f"{UNIQUE}_tree", ["workload_id", "target_id", "trace_key", "tree"]
        )


def _identify_runs() -> None:
    """From what tells runs apart, so that two copies of a store give the same."""
    run = sa.table(
        "run",
        *(sa.column(name) for name in ("id", "uuid", "process", "seed", "workload_id")),
        sa.column("started_at", sa.DateTime()),
    )
    workload = sa.table("workload", sa.column("id"), sa.column("key"))
    known = sa.select(run.c.id, run.c.process, run.c.started_at, run.c.seed, workload.c.key)
    connection = op.get_bind()
    for row in connection.execute(known.join(workload, workload.c.id == run.c.workload_id)).all():
        told = "/".join(map(str, (row.process, row.started_at.isoformat(), row.seed, row.key)))
        identity = uuid.uuid5(uuid.NAMESPACE_OID, told).hex
        connection.execute(sa.update(run).where(run.c.id == row.id).values(uuid=identity))
