"""First revision: workloads, targets, runs, the candidate tree, measurements, code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""As `schema` has it: only INTEGER numbers the rows of a SQLite table."""


def upgrade() -> None:
    op.create_table(
        "code",
        sa.Column("code_key", sa.Text(), nullable=False),
        sa.Column("proc", sa.Text(), nullable=False),
        sa.Column("header", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("code_key", name="pk_code"),
    )
    op.create_table(
        "target",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("description", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_target"),
        sa.UniqueConstraint("key", name="uq_target_key"),
    )
    op.create_table(
        "workload",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("proc", sa.Text(), nullable=False),
        sa.Column("proc_key", sa.Text(), nullable=False),
        sa.Column("sizes", sa.JSON(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_sha", sa.Text(), nullable=False),
        sa.Column("source_text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_workload"),
        sa.UniqueConstraint("key", name="uq_workload_key"),
    )
    op.create_table(
        "run",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("workload_id", INTEGER, nullable=False),
        sa.Column("target_id", INTEGER, nullable=False),
        sa.Column("seed", INTEGER, nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("summary", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["target_id"], ["target.id"], name="fk_run_target_id"),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name="fk_run_workload_id"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_table(
        "candidate",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("workload_id", INTEGER, nullable=False),
        sa.Column("target_id", INTEGER, nullable=False),
        sa.Column("parent_id", INTEGER, nullable=True),
        sa.Column("run_id", INTEGER, nullable=False),
        sa.Column("rewrite", sa.JSON(), nullable=True),
        sa.Column("trace_key", sa.Text(), nullable=False),
        sa.Column("depth", INTEGER, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("ast_key", sa.Text(), nullable=True),
        sa.Column("code_key", sa.Text(), nullable=True),
        sa.Column("binary_key", sa.Text(), nullable=True),
        sa.Column("duplicate_of", INTEGER, nullable=True),
        sa.Column("duplicate_level", sa.Text(), nullable=True),
        sa.Column("stage_s", sa.JSON(), nullable=False),
        sa.Column("expanded_at", sa.DateTime(), nullable=True),
        sa.CheckConstraint("(parent_id IS NULL) = (rewrite IS NULL)", name="ck_candidate_root"),
        sa.ForeignKeyConstraint(
            ["duplicate_of"],
            ["candidate.id"],
            name="fk_candidate_duplicate_of",
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(["parent_id"], ["candidate.id"], name="fk_candidate_parent_id"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_candidate_run_id"),
        sa.ForeignKeyConstraint(["target_id"], ["target.id"], name="fk_candidate_target_id"),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name="fk_candidate_workload_id"),
        sa.PrimaryKeyConstraint("id", name="pk_candidate"),
        sa.UniqueConstraint(
            "workload_id",
            "target_id",
            "trace_key",
            name="uq_candidate_workload_id_target_id_trace_key",
        ),
    )
    op.create_index("ix_candidate_parent_id", "candidate", ["parent_id"], unique=False)
    op.create_table(
        "stage_time",
        sa.Column("run_id", INTEGER, nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("count", INTEGER, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_stage_time_run_id"),
        sa.PrimaryKeyConstraint("run_id", "stage", name="pk_stage_time"),
    )
    op.create_table(
        "measurement",
        sa.Column("id", INTEGER, nullable=False),
        sa.Column("candidate_id", INTEGER, nullable=False),
        sa.Column("run_id", INTEGER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.Column("speedup", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=False),
        sa.Column("high", sa.Double(), nullable=False),
        sa.Column("candidate_ns", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"], ["candidate.id"], name="fk_measurement_candidate_id"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_measurement_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_measurement"),
    )
    op.create_index("ix_measurement_candidate_id", "measurement", ["candidate_id"], unique=False)
