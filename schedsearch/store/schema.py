"""Tables of the tuning store.

A change here needs a new revision in `migrations/versions`; so does a new
`Outcome` or `TimingKind`, because an older program could not read it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ColumnElement,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    Integer,
    MetaData,
    Text,
    TypeDecorator,
    UniqueConstraint,
    and_,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from schedsearch.core.records import Outcome, RunStatus, TimingKind
from schedsearch.core.shown import shown
from schedsearch.store.views import Scope


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC datetime; SQLite itself keeps no time zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and value.replace(tzinfo=UTC)


class ShownText(TypeDecorator[str]):
    """Text that users see, from a file that may come from elsewhere. Characters that would steer
    their terminal are read as backslash escapes."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value and shown(value)


class AnyText(ShownText):
    """Text that may hold undecodable bytes (a compiler's message, a file name).

    Lone surrogates have no UTF-8 form, and PostgreSQL has no NUL: both are kept as
    backslash escapes.
    """

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value and value.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


class KindText(TypeDecorator[TimingKind]):
    """A `TimingKind`, in a column that has been text since the first revision."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: TimingKind | None, dialect: Dialect) -> str | None:
        return value and str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> TimingKind | None:
        return TimingKind(value) if value else None


def _enum(kind: type[StrEnum]) -> Enum:
    return Enum(kind, native_enum=False, length=16, values_callable=lambda k: [m.value for m in k])


_said = datetime.min.replace(tzinfo=UTC)


def utc_now() -> datetime:
    """The time now, always later than the last answer in this process, even if the clock was set
    back. So the rows of a run are in order, and no duration is negative."""
    global _said
    _said = max(datetime.now(UTC), _said + timedelta(microseconds=1))
    return _said


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  (SQLAlchemy's declarative interface)
        # Of SQLite's, only INTEGER can be the row's own number.
        int: BigInteger().with_variant(Integer(), "sqlite"),
        str: ShownText(),
        dict[str, Any]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
        datetime: UtcDateTime(),
        Outcome: _enum(Outcome),
        RunStatus: _enum(RunStatus),
        TimingKind: KindText(),
    }


class WorkloadRow(Base):
    __tablename__ = "workload"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    proc: Mapped[str]
    proc_key: Mapped[str]
    sizes: Mapped[list[Any]]  # [[name, value], ...]: their order is part of the key
    source: Mapped[str] = mapped_column(AnyText())
    source_sha: Mapped[str]
    source_text: Mapped[str] = mapped_column(AnyText())
    specialized: Mapped[list[Any] | None]  # names of sizes that are constants; NULL: none
    signature: Mapped[list[Any] | None]  # NULL: of an earlier version


class TargetRow(Base):
    __tablename__ = "target"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    description: Mapped[dict[str, Any]]  # Target.to_json()


class RunRow(Base):
    __tablename__ = "run"

    id: Mapped[int] = mapped_column(primary_key=True)
    workload_id: Mapped[int] = mapped_column(ForeignKey("workload.id"))
    target_id: Mapped[int] = mapped_column(ForeignKey("target.id"))
    tree: Mapped[int] = mapped_column(server_default="1")  # as of candidates
    uuid: Mapped[str] = mapped_column(unique=True)  # the same in every store that has this run
    seed: Mapped[int]
    strategy: Mapped[str]
    settings: Mapped[dict[str, Any]]
    environment: Mapped[dict[str, Any]]
    process: Mapped[str]  # process.token() of the process that writes this run
    status: Mapped[RunStatus]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    summary: Mapped[dict[str, Any] | None]


class CandidateRow(Base):
    """One node of the search tree.

    The trace is the `rewrite` steps on the way from the root: storing it whole
    in every node would cost depth times the space.
    """

    __tablename__ = "candidate"

    id: Mapped[int] = mapped_column(primary_key=True)
    workload_id: Mapped[int] = mapped_column(ForeignKey("workload.id"))
    target_id: Mapped[int] = mapped_column(ForeignKey("target.id"))
    tree: Mapped[int] = mapped_column(server_default="1")  # 1, and one more per fresh start
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("candidate.id"), index=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))  # that found it
    rewrite: Mapped[dict[str, Any] | None]  # the last step; NULL: the root
    trace_key: Mapped[str]
    depth: Mapped[int]
    outcome: Mapped[Outcome | None]  # NULL: legal, not yet measured
    message: Mapped[str] = mapped_column(AnyText())
    ast_key: Mapped[str | None]
    code_key: Mapped[str | None]
    binary_key: Mapped[str | None]
    # Deferred: the original may come later in the same batch.
    duplicate_of: Mapped[int | None] = mapped_column(
        ForeignKey("candidate.id", deferrable=True, initially="DEFERRED")
    )
    duplicate_level: Mapped[str | None]
    stage_s: Mapped[dict[str, Any]]
    expanded_at: Mapped[datetime | None]
    predicted: Mapped[float | None]

    __table_args__ = (
        UniqueConstraint("workload_id", "target_id", "trace_key", "tree"),
        CheckConstraint("(parent_id IS NULL) = (rewrite IS NULL)", "root"),
    )


class MeasurementRow(Base):
    """Raw samples; the other columns are derived from them, for queries. `low` and `high` are of
    this timing alone; 0 and infinity if it was not against the procedure as written."""

    __tablename__ = "measurement"

    id: Mapped[int] = mapped_column(primary_key=True)
    candidate_id: Mapped[int] = mapped_column(ForeignKey("candidate.id"), index=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"))
    kind: Mapped[TimingKind]
    samples: Mapped[dict[str, Any]]  # Measurement.to_json()
    speedup: Mapped[float]
    low: Mapped[float]
    high: Mapped[float]
    candidate_ns: Mapped[float]
    created_at: Mapped[datetime]


class StageTimeRow(Base):
    """Seconds a run spent in a stage, over `count` additions."""

    __tablename__ = "stage_time"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    stage: Mapped[str] = mapped_column(primary_key=True)
    seconds: Mapped[float]
    count: Mapped[int]


class CodeRow(Base):
    __tablename__ = "code"

    code_key: Mapped[str] = mapped_column(primary_key=True)
    proc: Mapped[str]
    header: Mapped[str]
    source: Mapped[str]
    build: Mapped[dict[str, Any] | None]  # Build.to_json(); NULL: the target's own options


def of_pair(table: type[CandidateRow | RunRow], scope: Scope) -> ColumnElement[bool]:
    """Rows of the scope's workload and target, whatever the tree."""
    return and_(table.workload_id == scope.workload_id, table.target_id == scope.target_id)


def in_scope(table: type[CandidateRow | RunRow], scope: Scope) -> ColumnElement[bool]:
    """Rows of the scope."""
    return and_(of_pair(table, scope), table.tree == scope.tree)
