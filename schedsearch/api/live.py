"""What the live page asks for: the state of a search as its store has it now, code of one
candidate, and the two things that can be done with that: pinning and exporting it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from schedsearch.api.codes import Codes
from schedsearch.api.document import page_data, progress_data
from schedsearch.api.exporting import export_schedule
from schedsearch.api.searched import Search, find_run
from schedsearch.core.records import RunStatus
from schedsearch.locks.pin import lock_entry
from schedsearch.locks.place import change_lock, default_lock
from schedsearch.present import format as fmt
from schedsearch.search.engine.progress import Progress
from schedsearch.search.watching import progress_of, running
from schedsearch.store.database import Store
from schedsearch.store.views import Run
from schedsearch.study.schedule import Schedule


@dataclass(frozen=True)
class _Known:
    """What the store said, `at` seconds of this machine's clock."""

    version: str
    data: dict[str, Any]
    going: Progress | None
    at: float

    def going_now(self) -> Progress | None:
        """The clock goes on between what a search writes."""
        if self.going is None:
            return None
        since = time.monotonic() - self.at
        return replace(self.going, elapsed_s=self.going.elapsed_s + since)


@dataclass
class LivePage:
    """Of a store that stays open. `wanted` is a run or a procedure as `find_run` has it; without,
    the search that runs, and the latest if none does. Files are written to `folder`.

    Requests may come from several threads: they take turns. So a page that is open twice costs
    the search beside it no more than one.
    """

    store: Store
    folder: Path
    wanted: str | None = None
    file: Path | None = None
    instructions: Sequence[Path] = ()
    _turn: Lock = field(default_factory=Lock, repr=False)
    _codes: dict[int, Codes] = field(default_factory=dict, repr=False)
    _known: _Known | None = field(default=None, repr=False)

    def state(self, run: int | None, known: str) -> dict[str, Any]:
        """The page's data with their `version`, and the `runs` that it can show; `progress` alone
        if they are still those of the version `known`. `run`: this one, whatever else runs.

        Raises UserError if there is nothing to show yet.
        """
        with self._turn:
            shown = self._run(run)
            version = ".".join(map(str, (shown.id, shown.status, *self.store.version())))
            if self._known is None or self._known.version != version:
                self._known = self._read(shown, version)
            if version == known:
                progress = progress_data(self._known.going_now())
                return {"version": version, "progress": progress}
            return self._known.data

    def candidate(self, id_: int) -> dict[str, Any]:
        """`details` of one, with the Exo Python. Raises UserError if there is none."""
        with self._turn:
            stored = self.store.candidate(id_)
            codes = self._codes.get(stored.run_id)
            if codes is None:
                about = Search(self.store, find_run(self.store, stored.run_id), self.file)
                codes = self._codes.setdefault(stored.run_id, Codes(about))
            return codes.details(stored, whole=True)

    def pin(self, id_: int) -> str:
        """What was done. Raises UserError as `schedsearch pin ID` does."""
        with self._turn:
            path = default_lock(self.folder)
            stored = self.store.candidate(id_)
            entry = lock_entry(self.store, stored, path.resolve().parent, self.file)
            change_lock(path, lambda lock: lock.having([entry]))
            return f"Pinned {entry.name}: {fmt.speedup(entry.speed.ratio)}, in {path}."

    def export(self, id_: int) -> str:
        """What was done. Raises UserError as `schedsearch export ID` does."""
        with self._turn:
            stored = self.store.candidate(id_)
            schedule = Schedule.of(self.store, stored, self.file, self.instructions)
            paths = export_schedule(schedule, self.folder).paths
            return f"Written: {', '.join(map(str, paths))}."

    def _run(self, run: int | None) -> Run:
        if run is None and self.wanted is None:
            return running(self.store) or find_run(self.store, None)
        return find_run(self.store, self.wanted if run is None else run)

    def _read(self, shown: Run, version: str) -> _Known:
        about = Search(self.store, shown, self.file)
        going = None
        if shown.status is RunStatus.RUNNING:
            going = progress_of(self.store, shown, datetime.now(UTC))
        data = page_data(about, frozen=False, going=going)
        own = {"version": version, "runs": self._runs()}
        return _Known(version, data | own, going, time.monotonic())

    def _runs(self) -> list[dict[str, Any]]:
        return [
            {"id": each.id, "name": f"run {each.id}: {self._name(each)}, {each.status.value}"}
            for each in reversed(self.store.runs())
        ]

    def _name(self, run: Run) -> str:
        return fmt.kernel(self.store.workload(run.scope))
