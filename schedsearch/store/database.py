"""The tuning store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, NoResultFound

from schedsearch.core.closeable import Closeable
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC, Outcome, Target, TuningRecord, Workload
from schedsearch.store import merge, queries, runs, tables, tree
from schedsearch.store.backend import Backend, explained, writing
from schedsearch.store.location import locate
from schedsearch.store.merge import Merged
from schedsearch.store.schema import CandidateRow, RunStatus
from schedsearch.store.views import Run, Sample, Scope, StoredCandidate, Table, Timed

UNREADABLE = (
    *(UserError, NoResultFound),
    *(ValueError, TypeError, LookupError, AttributeError, RecursionError),
)
"""What comes of reading rows that only a foreign or a damaged store has."""


class Store(Closeable):
    """Everything known of every candidate, durable and shared between processes.

    The contract, which the tests check of every backend:

    - A method that writes is one transaction: when it returns, a killed process
      loses nothing of it; until then, nothing of it is visible.
    - A scope is a search tree; `best` alone looks at all trees of a workload and target.
    - A candidate is named by its scope and trace key; its id never changes, is
      unique over scopes, and is larger than its parent's.
    - Children appear by `add_expansion`, all of them together with their parent's
      mark, so an expanded parent always has all its children; and, without the
      mark, by `add_replay`.
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

    @staticmethod
    def open(where: Path | str, *, create: bool = True) -> Store:
        """Open the store in the file `where`, or in the database of a `postgresql://` URL;
        migrate it to the newest revision if it is older.

        Raises UserError, having changed nothing, if the file is damaged, not a
        store, written by a newer schedsearch or not writable; also if it does
        not exist and `create` is false. The same of a database that cannot be
        reached, and of other programs' tables in it. A file that cannot be written is
        opened all the same if `create` is false, and refuses what writes.
        """
        backend = locate(where)
        with explained(backend):
            return Store(backend, backend.open(create))

    @staticmethod
    @contextmanager
    def frozen(where: Path | str) -> Iterator[Store]:
        """The store as it is now, to be read only; nothing there is changed, nor migrated.

        Raises UserError as `open` does, and for a database of an older revision.
        """
        backend = locate(where)
        with ExitStack() as opened:
            with explained(backend):
                engine = opened.enter_context(backend.frozen())
            yield Store(backend, engine)

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

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._backend), self._readers.begin() as connection:
            try:
                yield connection
            except (*UNREADABLE, DBAPIError) as error:
                if isinstance(error, DBAPIError) and self._explains(error):
                    raise
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                raise UserError(
                    f"tuning store {self.name} holds what schedsearch did not write there "
                    f"({kind}{error}); choose another store"
                ) from error

    def _explains(self, error: DBAPIError) -> bool:
        """Whether the backend knows what a user can do about it."""
        return isinstance(error.orig, Exception) and self._backend.advice(error.orig) is not None

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with explained(self._backend), self._writers.begin() as connection:
            yield connection

    # -- writing -------------------------------------------------------------

    def register(self, workload: Workload, target: Target, source_text: str) -> Scope:
        """The scope of `workload` on `target`, added if new: its search tree begun last.

        What is not part of their identity (source path and text, compiler path)
        is kept as registered last.
        """
        with self._write() as connection:
            return runs.register(connection, workload, target, source_text)

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
            return runs.start_run(connection, scope, seed, strategy, settings, environment)

    def finish_run(self, run_id: int, status: RunStatus | str, summary: Mapping[str, Any]) -> None:
        """Close a run as `finished`, `interrupted` or `failed`, with a JSON-able summary."""
        with self._write() as connection:
            runs.finish_run(connection, run_id, RunStatus(status), summary)

    def add_root(self, scope: Scope, run_id: int, record: TuningRecord) -> bool:
        """Add the unscheduled procedure (the empty trace); False if it is there already.

        Raises ValueError for any other trace.
        """
        with self._write() as connection:
            return tree.add_root(connection, scope, run_id, record)

    def add_expansion(
        self,
        scope: Scope,
        run_id: int,
        parent_key: str,
        children: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
    ) -> bool:
        """Add all children of a candidate, but those that a replay added, and mark it expanded.

        False, and nothing is changed, if it is expanded already. A child's
        `duplicate_of` is the trace key of a stored candidate or of another
        child. `stage_s` is seconds per stage spent on the expansion as a whole;
        the children's own are added to it. Raises ValueError if a trace does not
        extend the parent's by one rewrite.
        """
        with self._write() as connection:
            return tree.add_expansion(connection, scope, run_id, parent_key, children, stage_s)

    def add_replay(
        self,
        scope: Scope,
        run_id: int,
        steps: Sequence[TuningRecord],
        stage_s: Mapping[str, float],
    ) -> None:
        """Add candidates whose parents are not expanded, each a child of one before it or
        of a stored one. What is stored stays as it is.

        `stage_s` is seconds per stage spent on the replay as a whole.
        """
        with self._write() as connection:
            tree.add_replay(connection, scope, run_id, steps, stage_s)

    def record(self, scope: Scope, run_id: int, record: TuningRecord) -> Outcome | None:
        """Add what was found out about a stored candidate; returns the outcome it has now.

        That is the recorded one unless the contract forbids it: then the
        candidate's message says what was found later. Keys that are None leave
        the known ones; a measurement is added to the others.
        """
        with self._write() as connection:
            return tree.record(connection, scope, run_id, record)

    def add_code(self, codes: Iterable[GeneratedC]) -> None:
        """Keep generated C under its key; what is known already stays as it is."""
        with self._write() as connection:
            runs.add_code(connection, codes)

    def add_features(self, scope: Scope, vectors: Mapping[str, bytes], version: int) -> None:
        """Keep the features of candidates, by trace key; `version` says what they mean.

        They replace earlier ones.
        """
        with self._write() as connection:
            tree.add_features(connection, scope, vectors, version)

    def merge(self, other: Store) -> Merged:
        """Add everything `other` has: merged again, it adds nothing, and it does not matter
        which of the two is merged into the other.

        Both may know a candidate: measurements of both are kept, `incorrect` and `correct`
        win as in one store, whatever is expanded in one is expanded.
        """
        with other._read() as source, self._write() as into:
            return merge.merge(source, into)

    def drop_code(self, keep: int, *, dry_run: bool = False) -> int:
        """Forget generated C but that of the `keep` best of each workload and target, and of
        unscheduled procedures; returns how many. It can be generated again from the traces.

        With `dry_run` they are only counted.
        """
        with self._write() as connection:
            return runs.drop_code(connection, keep, dry_run)

    def compact(self) -> int:
        """Give back what deleted rows took to the file system, in bytes."""
        with explained(self._backend):
            return self._backend.compact(self._readers)

    # -- reading -------------------------------------------------------------

    def walk(self, scope: Scope) -> Iterator[StoredCandidate]:
        """The whole tree, by id: parents come before their children.

        One candidate at a time, so that a million of them need not be in memory; what is
        written meanwhile is not seen.
        """
        with self._read() as connection:
            yield from queries.walk(connection, scope)

    def load(self, scope: Scope) -> list[StoredCandidate]:
        """All of `walk`."""
        return list(self.walk(scope))

    def counts(self, scope: Scope) -> tuple[int, int]:
        """How many candidates there are, and how many of them have been measured."""
        with self._read() as connection:
            return queries.counts(connection, scope)

    def known(self, scope: Scope, trace_keys: Sequence[str]) -> set[str]:
        """Those of `trace_keys` that are stored, whatever their outcome."""
        with self._read() as connection:
            return queries.known(connection, scope, trace_keys)

    def find(self, scope: Scope, trace_keys: Sequence[str]) -> list[StoredCandidate]:
        """Those of `trace_keys` that are stored, by id."""
        with self._read() as connection:
            return queries.find(connection, scope, trace_keys)

    def best(self, scope: Scope, limit: int = 10) -> list[StoredCandidate]:
        """Correct and measured candidates of all trees of the scope's workload and target,
        the fastest first. Of a schedule in several trees, what the last one found out counts.

        Ranked by the speed-up of the latest `confirm` measurement, else of the
        latest one; equal ones by id.
        """
        with self._read() as connection:
            return queries.best(connection, scope, limit)

    def candidate(self, candidate_id: int) -> StoredCandidate:
        """Raises UserError if there is none with this id."""
        with self._read() as connection:
            found = queries.select_candidates(connection, CandidateRow.id == candidate_id)
        if not found:
            raise UserError(
                f"no candidate {candidate_id} in tuning store {self.name}; list them to find its id"
            )
        return found[0]

    def children(self, candidate_id: int) -> list[StoredCandidate]:
        """Children of a candidate by id, the rejected ones too; empty if not expanded."""
        with self._read() as connection:
            return queries.select_candidates(connection, CandidateRow.parent_id == candidate_id)

    def samples(self, scope: Scope, version: int) -> list[Sample]:
        """Correct and measured candidates of every workload on this scope's target that have
        features of this version, in the order of their first measurements. Of the scope's
        own workload only those of its tree."""
        with self._read() as connection:
            return queries.samples(connection, scope, version)

    def code(self, code_key: str) -> GeneratedC | None:
        """Generated C, None if not stored."""
        with self._read() as connection:
            return queries.code(connection, code_key)

    def scopes(self) -> list[Scope]:
        """Every workload and target that was ever run together: the trees begun last."""
        with self._read() as connection:
            return queries.scopes(connection)

    def trees(self, scope: Scope) -> list[Scope]:
        """All trees of the scope's workload and target, the one begun last at the end."""
        with self._read() as connection:
            return queries.trees(connection, scope)

    def afresh(self, scope: Scope) -> Scope:
        """A scope without candidates for the same workload and target: a new tree, which is
        there for others as soon as a run is started in it."""
        trees = self.trees(scope)
        return replace(scope, tree=trees[-1].tree + 1) if trees else scope

    def find_scope(self, workload: Workload, target: Target) -> Scope | None:
        """The scope of a workload on a target, the tree begun last; None if it was never
        registered."""
        with self._read() as connection:
            return queries.find_scope(connection, workload.key, target.key)

    def runs(self, scope: Scope | None = None) -> list[Run]:
        """Runs of one scope or of all, the oldest first."""
        with self._read() as connection:
            return queries.runs(connection, scope)

    def expanded(self, run_id: int) -> int:
        """How many candidates a run found children of."""
        with self._read() as connection:
            return queries.expanded(connection, run_id)

    def timeline(self, scope: Scope) -> list[Timed]:
        """Every measurement of a verified candidate, the oldest first."""
        with self._read() as connection:
            return queries.timeline(connection, scope)

    def outcomes(self, scope: Scope) -> dict[Outcome | None, int]:
        """Number of candidates per outcome; None: not measured."""
        with self._read() as connection:
            return queries.outcomes(connection, scope)

    def duplicates(self, scope: Scope) -> dict[str, int]:
        """Number of duplicates per level (`ast`, `code`, `binary`)."""
        with self._read() as connection:
            return queries.duplicates(connection, scope)

    def stage_seconds(self, scope: Scope) -> dict[str, float]:
        """Seconds per stage, over all runs."""
        with self._read() as connection:
            return queries.stage_seconds(connection, scope)

    def candidate_table(self, scope: Scope, parent_id: int | None = None) -> Table:
        """Every candidate, or every child of one, without its trace and samples, parents first
        (see `tables.py`)."""
        with self._read() as connection:
            return tables.candidates(connection, scope, parent_id)

    def measurement_table(self, scope: Scope) -> Table:
        """Every timing without its samples, the oldest first."""
        with self._read() as connection:
            return tables.measurements(connection, scope)

    def stage_table(self, scope: Scope) -> Table:
        """Seconds by run and stage."""
        with self._read() as connection:
            return tables.stages(connection, scope)

    def workload(self, scope: Scope) -> Workload:
        with self._read() as connection:
            return queries.workload(connection, scope)

    def target(self, scope: Scope) -> Target:
        with self._read() as connection:
            return queries.target(connection, scope)

    def source(self, scope: Scope) -> str:
        """Text of the workload's source file: data, never executed from here."""
        with self._read() as connection:
            return queries.source(connection, scope)
