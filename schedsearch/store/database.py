"""The tuning store."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, NoResultFound

from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.closeable import Closeable
from schedsearch.core.errors import UserError
from schedsearch.core.fields import LARGEST, Fields
from schedsearch.core.interrupts import deferred_interrupts
from schedsearch.core.records import (
    OF_ITSELF,
    GeneratedC,
    Outcome,
    RunStatus,
    Target,
    TuningRecord,
    Workload,
)
from schedsearch.core.shown import shown
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Rewrite
from schedsearch.store import merge, process, ranking, tree
from schedsearch.store.backend import Backend, explained, said, upsert, writing
from schedsearch.store.candidates import select_candidates, walk
from schedsearch.store.location import locate
from schedsearch.store.schema import (
    CandidateRow,
    CodeRow,
    MeasurementRow,
    RunRow,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
    in_scope,
    of_pair,
    utc_now,
)
from schedsearch.store.views import Merged, Run, Scope, StoredCandidate, Table, Timed

_UNREADABLE = (
    *(UserError, NoResultFound),
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError),
)
"""What comes of reading rows that only a foreign or a damaged store has."""

_CODE = select(CodeRow.__table__).where(CodeRow.code_key == bindparam("code_key"))

_CANDIDATES = select(
    CandidateRow.id,
    CandidateRow.parent_id,
    CandidateRow.run_id,
    CandidateRow.depth,
    CandidateRow.outcome,
    CandidateRow.predicted,
    CandidateRow.expanded_at.is_not(None).label("expanded"),
    CandidateRow.duplicate_of,
    CandidateRow.duplicate_level,
    CandidateRow.message,
    CandidateRow.trace_key,
    CandidateRow.ast_key,
    CandidateRow.code_key,
    CandidateRow.binary_key,
    cast(CandidateRow.rewrite, Text).label("step"),
).order_by(CandidateRow.id)

_MEASUREMENTS = (
    select(
        MeasurementRow.id,
        MeasurementRow.candidate_id,
        MeasurementRow.run_id,
        MeasurementRow.kind,
        MeasurementRow.created_at,
        MeasurementRow.speedup,
        MeasurementRow.low,
        MeasurementRow.high,
        MeasurementRow.candidate_ns,
    )
    .join(CandidateRow, CandidateRow.id == MeasurementRow.candidate_id)
    .order_by(MeasurementRow.created_at, MeasurementRow.id)
)


class Store(Closeable):
    """Everything known of every candidate, durable and shared between processes.

    The contract, which the tests check of every backend:

    - A method that writes is one transaction: when it returns, a killed process
      loses nothing of it; until then, nothing of it is visible.
    - A scope is a search tree; `best` alone looks at all trees of a workload and target.
    - A candidate is named by its scope and trace key; its id never changes, is
      unique over scopes, and is larger than its parent's.
    - Children appear by `add_expansion`, in portions, the last one together with
      their parent's mark, so an expanded parent always has all its children; and,
      without the mark, by `add_replay`. `reopen` takes the marks back.
    - Rejected children are candidates like the others, with their cause.
    - Measurements are only ever added.
    - `incorrect` is final. `correct` yields only to `incorrect`. Any other
      outcome is replaced by the next one. None (not measured) replaces nothing.
    - Several processes may read and write at once; a writer waits up to 30 s.

    A trace key that the scope does not have raises LookupError, and nothing is
    changed; scopes and run ids are the store's own. Every method raises UserError
    for what the user can mend: a full disk, a damaged file, a lock held too long.
    """

    def __init__(self, backend: Backend, engine: Engine) -> None:
        self._backend = backend
        self._readers, self._writers = engine, writing(engine)

    @classmethod
    def open(cls, where: Path | str, *, create: bool = True) -> Self:
        """Open the store in the file `where`, or in the database of a `postgresql://` URL;
        migrate it to the newest revision if it is older.

        Raises UserError, having changed nothing, if the file is damaged, not a
        store, written by a newer schedsearch or not writable; also if it does
        not exist and `create` is false. The same of a database that cannot be
        reached, and of other programs' tables in it. A store that cannot be written is
        opened all the same if `create` is false, and refuses what writes.
        """
        backend = locate(where)
        with explained(backend):
            return cls(backend, backend.open(create))

    @classmethod
    @contextmanager
    def frozen(cls, where: Path | str) -> Iterator[Self]:
        """The store as it is now, to be read only; nothing there is changed, nor migrated.

        Raises UserError as `open` does, and for a database of an older revision.
        """
        backend = locate(where)
        with ExitStack() as opened:
            with explained(backend):
                engine = opened.enter_context(backend.frozen())
            yield cls(backend, engine)

    @property
    def name(self) -> str:
        """What messages call it: its path, or its URL without the password."""
        return self._backend.name

    @property
    def location(self) -> Path | str:
        """What `open` opens: with the password, if there is one."""
        return self._backend.location

    def close(self) -> None:
        """Release the file. The store can be closed twice, but not used again."""
        self._readers.dispose()

    def compact(self) -> int:
        """Give back what deleted rows took to the file system, in bytes."""
        with explained(self._backend):
            return self._backend.compact(self._readers)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._backend), self._readers.begin() as connection:
            try:
                yield connection
            except (*_UNREADABLE, DBAPIError) as error:
                if isinstance(error, DBAPIError) and self._explains(error):
                    raise
                raise UserError(
                    f"tuning store {self.name} holds what schedsearch did not write there "
                    f"({said(error)}); choose another store"
                ) from error

    def _explains(self, error: DBAPIError) -> bool:
        """Whether the backend knows what a user can do about it."""
        return isinstance(error.orig, Exception) and self._backend.advice(error.orig) is not None

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        # An interrupt between BEGIN and SQLAlchemy's knowing of it would leave the lock with a
        # connection that nobody ends, and this process itself would wait for it.
        with explained(self._backend), deferred_interrupts(), self._writers.begin() as connection:
            yield connection

    # -- what is tuned, and runs ----------------------------------------------------------

    def register(self, workload: Workload, target: Target, source_text: str) -> Scope:
        """The scope of `workload` on `target`, added if new: its search tree begun last.

        Source path and text and the compiler's path are not part of their identity: the values
        registered last are kept.
        """
        described = {
            "proc": workload.proc,
            "proc_key": workload.proc_key,
            "sizes": workload.sizes,
            "source": workload.source,
            "source_sha": workload.source_sha,
            "source_text": source_text,
            "specialized": list(workload.specialized) or None,
            "signature": list(workload.signature) or None,
        }
        with self._write() as connection:
            workload_id = _register(connection, WorkloadRow, workload.key, described)
            description = {"description": target.to_json()}
            target_id = _register(connection, TargetRow, target.key, description)
            return _newest(connection, workload_id, target_id)

    def find_scope(self, workload: Workload, target: Target) -> Scope | None:
        """The scope of a workload on a target, the tree begun last; None if it was never
        registered."""
        with self._read() as connection:
            one = connection.scalar(select(WorkloadRow.id).where(WorkloadRow.key == workload.key))
            two = connection.scalar(select(TargetRow.id).where(TargetRow.key == target.key))
            return _newest(connection, one, two) if one and two else None

    def scopes(self) -> list[Scope]:
        """Every workload and target that was ever run together: the trees begun last."""
        with self._read() as connection:
            return _scopes(connection)

    def trees(self, scope: Scope) -> list[Scope]:
        """All trees of the scope's workload and target, the one begun last at the end."""
        with self._read() as connection:
            return _trees(connection, scope)

    def afresh(self, scope: Scope) -> Scope:
        """A scope without candidates for the same workload and target: a new tree, which is
        there for others as soon as a run is started in it."""
        trees = self.trees(scope)
        return replace(scope, tree=trees[-1].tree + 1) if trees else scope

    def workload(self, scope: Scope) -> Workload:
        with self._read() as connection:
            table = WorkloadRow.__table__
            row = connection.execute(select(table).where(table.c.id == scope.workload_id)).one()
            given = Fields(dict(row.sizes), f"sizes of {row.proc}")
            sizes = tuple((name, given.integer(name, least=-LARGEST)) for name, _ in row.sizes)
            lists = {"specialized": row.specialized or [], "signature": row.signature or []}
            texts = Fields(lists, str(row.proc))
            names, signature = texts.texts("specialized"), texts.texts("signature")
            return Workload(
                row.proc, row.proc_key, sizes, row.source, row.source_sha, names, signature
            )

    def source(self, scope: Scope) -> str:
        """Text of the workload's source file: data, never executed from here."""
        text = select(WorkloadRow.source_text).where(WorkloadRow.id == scope.workload_id)
        with self._read() as connection:
            return connection.execute(text).scalar_one()

    def target(self, scope: Scope, run_id: int | None = None) -> Target:
        """As the last run had it, or that run: compilers' patch levels differ between runs on
        one target, and numbers of cores."""
        with self._read() as connection:
            return _target(connection, scope, run_id)

    def target_of(self, candidate: StoredCandidate) -> Target:
        """As the run had it whose measurement ranks the candidate, else the one that found it."""
        ranking_run = select(MeasurementRow.run_id).where(
            MeasurementRow.candidate_id == candidate.id, ranking.RANKS
        )
        with self._read() as connection:
            run_id = connection.scalar(ranking_run) or candidate.run_id
            return _target(connection, candidate.scope, run_id)

    def start_run(
        self,
        scope: Scope,
        *,
        seed: int,
        strategy: str,
        settings: Mapping[str, Any],
        environment: Mapping[str, Any],
    ) -> int:
        """Id of a new run, which belongs to the calling process.

        `settings` and `environment` are JSON-able: what the user chose, and
        where it ran (host state, versions, calibration).
        """
        with self._write() as connection:
            row = insert(RunRow).values(
                **asdict(scope),
                uuid=uuid.uuid4().hex,
                seed=seed,
                strategy=strategy,
                settings=dict(settings),
                environment=dict(environment),
                process=process.token(os.getpid()),
                status=RunStatus.RUNNING,
                started_at=utc_now(),
            )
            return connection.execute(row.returning(RunRow.id)).scalar_one()

    def finish_run(self, run_id: int, status: RunStatus | str, summary: Mapping[str, Any]) -> None:
        """Close a run as `finished`, `interrupted` or `failed`, with a JSON-able summary."""
        end = {"status": RunStatus(status), "summary": dict(summary)}
        with self._write() as connection:
            row = update(RunRow).where(RunRow.id == run_id).values(**end, finished_at=utc_now())
            if connection.execute(row).rowcount == 0:
                raise LookupError(f"no run {run_id}")

    def runs(self, scope: Scope | None = None) -> list[Run]:
        """Runs of one scope or of all, the oldest first."""
        rows = select(RunRow.__table__).order_by(RunRow.id)
        if scope is not None:
            rows = rows.where(in_scope(RunRow, scope))
        with self._read() as connection:
            return [_run(row) for row in connection.execute(rows)]

    # -- the search tree ------------------------------------------------------------------

    def add_root(self, scope: Scope, run_id: int, record: TuningRecord) -> bool:
        """Add the unscheduled procedure (the empty trace); False if it is there already.

        Raises ValueError for any other trace.
        """
        if record.trace.steps:
            raise ValueError(f"the root has no rewrites, this trace has {len(record.trace)}")
        with self._write() as connection:
            if tree.find(connection, scope, record.trace.key) is not None:
                return False
            tree.add_candidates(connection, scope, run_id, [record], parent_id=None)
            tree.add_stage_seconds(connection, run_id, record.stage_s)
            return True

    def add_expansion(
        self,
        scope: Scope,
        run_id: int,
        parent_key: str,
        children: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
        *,
        whole: bool = True,
    ) -> bool:
        """Add children of a candidate, but those that a replay added, and mark it expanded if it
        has no others (`whole`).

        False, and nothing is changed, if it is expanded already. A child's
        `duplicate_of` is the trace key of a stored candidate or of another
        child. `stage_s` is seconds per stage spent on the expansion as a whole;
        the children's own are added to it. Raises ValueError if a trace does not
        extend the parent's by one rewrite.
        """
        with self._write() as connection:
            parent = tree.get(connection, scope, parent_key)
            if parent.expanded_at is not None:
                return False
            if children:
                # One hash, then tuple comparisons: all share the parent's steps.
                above = children[0].trace.parent
                if above is None or above.key != parent_key:
                    raise ValueError(f"not a child of {parent_key}: {children[0].trace.key}")
                for child in children:
                    if child.trace.parent != above:
                        raise ValueError(f"not a child of {parent_key}: {child.trace.key}")
            known = select(CandidateRow.trace_key).where(CandidateRow.parent_id == parent.id)
            replayed = set(connection.scalars(known)) if children else set()
            new = [c for c in children if not replayed or c.trace.key not in replayed]
            if new:
                tree.add_candidates(connection, scope, run_id, new, parent_id=parent.id)
            if whole:
                tree.change(connection, parent.id, expanded_at=utc_now())
            spent = [*stage_s.items(), *(item for child in children for item in child.stage_s)]
            tree.add_stage_seconds(connection, run_id, spent)
            return True

    def reopen(self, scope: Scope) -> None:
        """Take back the mark of every expanded candidate: there are more transforms now."""
        with self._write() as connection:
            connection.execute(
                update(CandidateRow)
                .where(in_scope(CandidateRow, scope), CandidateRow.expanded_at.is_not(None))
                .values(expanded_at=None)
            )

    def add_replay(
        self,
        scope: Scope,
        run_id: int,
        steps: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
    ) -> None:
        """Add candidates whose parents are not expanded, each a child of one before it or
        of a stored one. Stored candidates stay as they are.

        `stage_s` is seconds per stage spent on the replay as a whole.
        """
        with self._write() as connection:
            for step in steps:
                above = step.trace.parent
                if above is None:
                    raise ValueError("the root is not a step of a replay")
                parent = tree.get(connection, scope, above.key)
                if tree.find(connection, scope, step.trace.key) is None:
                    tree.add_candidates(connection, scope, run_id, [step], parent_id=parent.id)
            spent = [*stage_s.items(), *(item for step in steps for item in step.stage_s)]
            tree.add_stage_seconds(connection, run_id, spent)

    def record(self, scope: Scope, run_id: int, record: TuningRecord) -> Outcome | None:
        """Add what was found out about a stored candidate; returns the outcome it has now.

        That is the recorded one unless the contract forbids it: then the
        candidate's message says what was found later. Keys that are None leave
        the known ones; a measurement is added to the others.
        """
        with self._write() as connection:
            known = tree.get(connection, scope, record.trace.key)
            values = tree.revised(connection, scope, known, record)
            tree.change(connection, known.id, **values)
            if record.measurement is not None:
                tree.add_measurement(connection, known.id, run_id, record.measurement)
            tree.add_stage_seconds(connection, run_id, record.stage_s)
            outcome: Outcome | None = values["outcome"]
            return outcome

    def walk(self, scope: Scope) -> Iterator[StoredCandidate]:
        """The whole tree, by id: parents come before their children.

        One candidate at a time, so that a million of them need not be in memory; what is
        written meanwhile is not seen.
        """
        with self._read() as connection:
            yield from walk(connection, scope)

    def load(self, scope: Scope) -> list[StoredCandidate]:
        """All of `walk`."""
        return list(self.walk(scope))

    def known(self, scope: Scope, trace_keys: Sequence[str]) -> set[str]:
        """Those of `trace_keys` that are stored, whatever their outcome."""
        found = select(CandidateRow.trace_key).where(
            in_scope(CandidateRow, scope), CandidateRow.trace_key.in_(trace_keys)
        )
        with self._read() as connection:
            return set(connection.scalars(found))

    def find(self, scope: Scope, trace_keys: Sequence[str]) -> list[StoredCandidate]:
        """Those of `trace_keys` that are stored, by id."""
        where = and_(in_scope(CandidateRow, scope), CandidateRow.trace_key.in_(trace_keys))
        with self._read() as connection:
            return select_candidates(connection, where)

    def candidate(self, candidate_id: int) -> StoredCandidate:
        """Raises UserError if there is none with this id."""
        with self._read() as connection:
            found = select_candidates(connection, CandidateRow.id == candidate_id)
        if not found:
            raise UserError(
                f"no candidate {candidate_id} in tuning store {self.name}; `schedsearch best` "
                "lists the ids"
            )
        return found[0]

    def children(self, candidate_id: int) -> list[StoredCandidate]:
        """Children of a candidate by id, the rejected ones too: all of them if it is
        `expanded`, else those made so far."""
        with self._read() as connection:
            return select_candidates(connection, CandidateRow.parent_id == candidate_id)

    # -- how fast candidates are ----------------------------------------------------------

    def best(self, scope: Scope, limit: int = 10) -> list[StoredCandidate]:
        """Correct and measured candidates of all trees of the scope's workload and target,
        the fastest first. Of a schedule in several trees, what the last one found out counts.

        Ranked by what all their timings say together (`ranking.joint`), else by the latest
        measurement; equal ones by id. The fastest confirmed one is before those that are not, and
        are not surely faster.
        """
        with self._read() as connection:
            ids = ranking.best_ids(connection, scope, limit)
            found = {c.id: c for c in select_candidates(connection, CandidateRow.id.in_(ids))}
            return [found[id_] for id_ in ids]

    def joint(self, scope: Scope) -> dict[str, Estimate]:
        """By trace key: speed-ups by all timings together, of those of this scope that were
        timed more than to screen them."""
        with self._read() as connection:
            found = ranking.joint(connection, scope)
            own = in_scope(CandidateRow, scope) & CandidateRow.id.in_(found.keys())
            keys = connection.execute(select(CandidateRow.id, CandidateRow.trace_key).where(own))
            return {row.trace_key: found[row.id] for row in keys}

    def timeline(self, scope: Scope) -> list[Timed]:
        """Every measurement of a verified candidate, the oldest first."""
        columns = (
            MeasurementRow.created_at,
            MeasurementRow.run_id,
            MeasurementRow.candidate_id,
            MeasurementRow.kind,
            MeasurementRow.speedup,
            MeasurementRow.candidate_ns,
        )
        verified = and_(in_scope(CandidateRow, scope), CandidateRow.outcome == Outcome.CORRECT)
        rows = select(*columns).join(CandidateRow).where(verified)
        rows = rows.order_by(MeasurementRow.created_at, MeasurementRow.id)
        with self._read() as connection:
            return [Timed(*row) for row in connection.execute(rows)]

    # -- generated C ----------------------------------------------------------------------

    def add_code(self, codes: Iterable[GeneratedC]) -> None:
        """Keep generated C under its key; C that is already stored stays as it is."""
        rows = [
            {
                "code_key": c.key,
                "proc": c.proc,
                "header": c.header,
                "source": c.source,
                "build": c.build.to_json() if c.build != DEFAULT_BUILD else None,
            }
            for c in codes
        ]
        with self._write() as connection:
            if rows:
                new = upsert(connection.dialect.name, CodeRow).on_conflict_do_nothing()
                connection.execute(new, rows)

    def code(self, code_key: str) -> GeneratedC | None:
        """Generated C, None if not stored."""
        with self._read() as connection:
            row = connection.execute(_CODE, {"code_key": code_key}).one_or_none()
            if row is None:
                return None
            build = Build.from_json(row.build) if row.build else DEFAULT_BUILD
            return GeneratedC(row.proc, row.header, row.source, row.code_key, build)

    def drop_code(self, keep: int, *, dry_run: bool = False) -> int:
        """Forget generated C but that of the `keep` best of each workload and target, and of
        unscheduled procedures; returns how many. It can be generated again from the traces.

        With `dry_run` they are only counted.
        """
        with self._write() as connection:
            best = [
                candidate_id
                for scope in _scopes(connection)
                for candidate_id in ranking.best_ids(connection, scope, keep)
            ]
            needed = select(CandidateRow.code_key).where(
                CandidateRow.code_key.is_not(None),
                or_(CandidateRow.parent_id.is_(None), CandidateRow.id.in_(best)),
            )
            dropped = CodeRow.code_key.not_in(needed)
            count = select(func.count()).select_from(CodeRow).where(dropped)
            number = connection.execute(count).scalar_one()
            if not dry_run:
                connection.execute(delete(CodeRow).where(dropped))
            return number

    # -- counts and tables ----------------------------------------------------------------

    def counts(self, scope: Scope) -> tuple[int, int]:
        """How many candidates there are, and how many of them have been measured."""
        measured = exists().where(MeasurementRow.candidate_id == CandidateRow.id)
        both = select(func.count(), func.count().filter(measured)).select_from(CandidateRow)
        with self._read() as connection:
            row = connection.execute(both.where(in_scope(CandidateRow, scope))).one()
            return row[0], row[1]

    def expanded(self, run_id: int) -> int:
        """How many candidates a run found children of."""
        parents = select(func.count(CandidateRow.parent_id.distinct()))
        with self._read() as connection:
            return connection.execute(parents.where(CandidateRow.run_id == run_id)).scalar_one()

    def version(self) -> tuple[int, ...]:
        """Numbers that change with what anybody writes of runs, candidates and measurements: what
        shows them need not read them again before."""
        run, stage = RunRow, StageTimeRow
        asked = (
            select(func.count(run.id), func.count(run.finished_at)),
            select(func.max(CandidateRow.id), func.count(CandidateRow.outcome)),
            select(func.max(MeasurementRow.id)),
            select(func.sum(stage.count)),
        )
        with self._read() as connection:
            rows = [connection.execute(each).one() for each in asked]
        return tuple(int(value or 0) for row in rows for value in row)

    def outcomes(self, scope: Scope) -> dict[Outcome | None, int]:
        """Number of candidates per outcome; None: not measured."""
        outcome = CandidateRow.outcome
        counts = select(outcome, func.count()).where(in_scope(CandidateRow, scope))
        with self._read() as connection:
            return dict(connection.execute(counts.group_by(outcome)).all())

    def stage_seconds(self, scope: Scope) -> dict[str, float]:
        """Seconds per stage, over all runs."""
        totals = select(StageTimeRow.stage, func.sum(StageTimeRow.seconds)).join(RunRow)
        totals = totals.where(in_scope(RunRow, scope)).group_by(StageTimeRow.stage)
        with self._read() as connection:
            return dict(connection.execute(totals).all())

    def candidate_table(self, scope: Scope, parent_id: int | None = None) -> Table:
        """Every candidate, or every child of one, without its trace and samples, parents first.

        `rewrite` is its last step as text, `transform` that step's name, both empty for the
        root; speed-ups are by all timings together, else of the measurement that ranks it
        (without an interval, if that was against another schedule), None if it was not measured
        or failed after it.
        """
        where = in_scope(CandidateRow, scope)
        if parent_id is not None:
            where = and_(where, CandidateRow.parent_id == parent_id)
        with self._read() as connection:
            ranked = connection.execute(_MEASUREMENTS.where(where, ranking.RANKS))
            timed = {row.candidate_id: row for row in ranked}
            together = ranking.joint(connection, scope)
            result = connection.execute(_CANDIDATES.where(where))
            read = lru_cache(maxsize=1 << 14)(_last_step)
            rows = [
                (*row[:-1], *read(row.step), *_speed(row, timed.get(row.id), together))
                for row in result
            ]
            return Table((*list(result.keys())[:-1], "transform", "rewrite", *_SPEED), rows)

    def measurement_table(self, scope: Scope) -> Table:
        """Every timing without its samples, the oldest first; `candidate_ns` is of one call.
        Intervals are of that timing alone, None if it was against another schedule."""
        with self._read() as connection:
            result = connection.execute(_MEASUREMENTS.where(in_scope(CandidateRow, scope)))
            names = tuple(result.keys())
            rows = [row._asdict() | {"kind": str(row.kind)} for row in result]
        unknown = {"low": None, "high": None}
        rows = [row | unknown if row["high"] == inf else row for row in rows]
        return Table(names, [tuple(row.values()) for row in rows])

    def stage_table(self, scope: Scope) -> Table:
        """Seconds by run and stage, and on how many pieces of work they were spent."""
        stage = StageTimeRow
        rows = select(stage.run_id, stage.stage, stage.seconds, stage.count)
        rows = rows.join(RunRow, RunRow.id == stage.run_id).where(in_scope(RunRow, scope))
        with self._read() as connection:
            result = connection.execute(rows.order_by(stage.run_id, stage.stage))
            return Table(tuple(result.keys()), [tuple(row) for row in result])

    # -- other stores ---------------------------------------------------------------------

    def merge(self, other: Store) -> Merged:
        """Add everything `other` has: merged again, it adds nothing, and it does not matter
        which of the two is merged into the other.

        Both may know a candidate: measurements of both are kept, `incorrect` and `correct`
        win as in one store, whatever is expanded in one is expanded.
        """
        with other._read() as source, self._write() as into:
            return merge.merge(source, into)


def _register(
    connection: Connection,
    table: type[WorkloadRow | TargetRow],
    key: str,
    values: Mapping[str, Any],
) -> int:
    row = upsert(connection.dialect.name, table).values(key=key, **values)
    row = row.on_conflict_do_update(index_elements=["key"], set_=dict(values))
    found: int = connection.execute(row.returning(table.id)).scalar_one()
    return found


def _scopes(connection: Connection) -> list[Scope]:
    pair = (RunRow.workload_id, RunRow.target_id)
    newest = select(*pair, func.max(RunRow.tree)).group_by(*pair).order_by(*pair)
    return [Scope(*row) for row in connection.execute(newest)]


def _trees(connection: Connection, scope: Scope) -> list[Scope]:
    known = select(RunRow.tree).where(of_pair(RunRow, scope)).distinct().order_by(RunRow.tree)
    return [replace(scope, tree=tree) for tree in connection.scalars(known)]


def _newest(connection: Connection, workload_id: int, target_id: int) -> Scope:
    """The tree begun last, the first one if there is none."""
    known = _trees(connection, Scope(workload_id, target_id))
    return known[-1] if known else Scope(workload_id, target_id)


def _target(connection: Connection, scope: Scope, run_id: int | None) -> Target:
    description = select(TargetRow.description).where(TargetRow.id == scope.target_id)
    found = Target.from_json(connection.execute(description).scalar_one())
    if run_id is None:
        return found
    environment = select(RunRow.environment).where(RunRow.id == run_id)
    return found.under(_table(connection.execute(environment).scalar_one()))


def _run(row: Row[Any]) -> Run:
    status = row.status
    if status is RunStatus.RUNNING and process.is_dead(row.process):
        status = RunStatus.INTERRUPTED
    return Run(
        id=row.id,
        scope=Scope(row.workload_id, row.target_id, row.tree),
        seed=row.seed,
        strategy=row.strategy,
        settings=_table(row.settings),
        environment=_table(row.environment),
        host=process.host(row.process),
        status=status,
        started_at=row.started_at,
        finished_at=row.finished_at,
        summary=None if row.summary is None else _table(row.summary),
    )


def _table(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("a run is described by tables")
    return {name: _shown(value) for name, value in data.items()}


def _shown(data: Any) -> Any:
    """With all texts fit to be shown."""
    match data:
        case str():
            return shown(data)
        case list():
            return [_shown(item) for item in data]
        case dict():
            return {shown(name): _shown(value) for name, value in data.items()}
        case _:
            return data


_SPEED = ("speedup", "low", "high", "candidate_ns", "kind")


def _speed(
    candidate: Row[*tuple[Any, ...]],
    timed: Row[*tuple[Any, ...]] | None,
    together: Mapping[int, Estimate],
) -> tuple[Any, ...]:
    """The columns `_SPEED`."""
    if timed is None or candidate.outcome is not Outcome.CORRECT:
        return (None,) * len(_SPEED)
    speedup = Estimate(timed.speedup, timed.low, timed.high)
    if timed.kind not in OF_ITSELF:
        speedup = together.get(candidate.id, Estimate(timed.speedup))
    return (*speedup.to_json().values(), timed.candidate_ns, str(timed.kind))


def _last_step(step: str | None) -> tuple[str, str]:
    """The columns `transform` and `rewrite`."""
    data = json.loads(step) if step else None
    rewrite = Rewrite.from_json(data) if data else None
    return (rewrite.transform, str(rewrite)) if rewrite else ("", "")
