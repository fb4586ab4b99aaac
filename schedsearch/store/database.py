"""The tuning store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedsearch.core.records import GeneratedC, Outcome, Target, TuningRecord, Workload
from schedsearch.store import merge, runs, tree
from schedsearch.store.backend import explained
from schedsearch.store.merge import Merged
from schedsearch.store.readable import Readable
from schedsearch.store.schema import RunStatus
from schedsearch.store.views import Scope


class Store(Readable):
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
