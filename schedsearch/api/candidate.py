"""One candidate of a store, with everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.api import frames
from schedsearch.api.explaining import Compared, Explained, compared, explained
from schedsearch.api.watching import watched
from schedsearch.core import html
from schedsearch.core.numbers import duration, speedup
from schedsearch.core.records import GeneratedC, Keys, Measurement, Outcome, Target, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.evaluate.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.present.diff import Diff
from schedsearch.search.caveats import caveats
from schedsearch.search.kept import load_kept, replayed
from schedsearch.search.measured import Place, measure_pair, measure_steps
from schedsearch.search.recorded import stored_roof
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.transforms.exo_compat import generate_c

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Candidate:
    """A schedule and what came of it, as the store had it when this was made.

    `proc`, `c` of what was not measured, and `diff` load the user's file, as `schedsearch
    replay` does; `file` says where it is now if it has moved. Everything else is data.
    """

    stored: StoredCandidate
    workload: Workload
    target: Target
    roof: Roof | None
    file: Path | None = None
    _store: Store = field(repr=False, kw_only=True)

    @property
    def id(self) -> int:
        return self.stored.id

    @property
    def trace(self) -> Trace:
        return self.stored.record.trace

    @property
    def outcome(self) -> Outcome | None:
        """None: legal, not measured."""
        return self.stored.record.outcome

    @property
    def message(self) -> str:
        """Why it was rejected, if it was."""
        return self.stored.record.message

    @property
    def keys(self) -> Keys:
        return self.stored.record.keys

    @property
    def measurement(self) -> Measurement | None:
        """The one that ranks it: its latest confirmation, else its latest."""
        return self.stored.record.measurement

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All of them, the oldest first."""
        return self.stored.measurements

    @property
    def speedup(self) -> Estimate | None:
        """Over the unscheduled procedure."""
        return self.measurement.speedup if self.measurement else None

    @property
    def caveats(self) -> tuple[str, ...]:
        """What its user has to keep in mind (`not re-entrant: ...`), if it was measured."""
        code = self._store.code(self.keys.code) if self.keys.code else None
        return caveats(self._store, self.stored.scope, code)

    @property
    def parent(self) -> Candidate | None:
        parent = self.stored.parent_id
        if parent is None:
            return None
        return of_stored(self._store, self._store.candidate(parent), self.file)

    @property
    def children(self) -> pd.DataFrame:
        """One row per child, by id, the rejected ones too: columns of `frames.candidates`."""
        return frames.children(self._store, self.stored)

    @cached_property
    def unscheduled(self) -> Any:
        """The procedure as written, with the sizes that are constants bound."""
        return load_kept(self.workload, self.file)[1]

    @cached_property
    def proc(self) -> Any:
        """The scheduled Exo procedure; every rewrite is checked by Exo again."""
        return replayed(self.unscheduled, self.trace, self.target.fp).procedure

    @property
    def c(self) -> str:
        return self._code.source

    @property
    def header(self) -> str:
        return self._code.header

    @cached_property
    def _code(self) -> GeneratedC:
        known = self._store.code(self.keys.code) if self.keys.code else None
        return known or generate_c(self.proc, self.trace.build)

    def diff(self, before: Candidate | None = None) -> Diff:
        """This procedure beside that of another candidate (default: as written)."""
        title = f"candidate {before.id}" if before else f"{self.workload.proc} as written"
        first = before.proc if before else self.unscheduled
        return Diff(str(first), str(self.proc), (title, f"candidate {self.id}"))

    def explain(self, *, measure: bool = False, progress: bool = True) -> Explained:
        """What each rewrite did, as `schedsearch explain` says it. `measure`: every step is timed
        against the one before, where that is not known, and kept in the store; an interrupt
        ends it, and what was measured is explained. `progress` False: silent.

        Loads the user's file. Raises UserError for what can be mended.
        """
        if measure:
            with watched(progress) as listener:
                measure_steps(self._place, self.id, listener.phase)
        return explained(self._store, self.stored, self.unscheduled)

    def compare(
        self, other: Candidate, *, measure: bool = False, progress: bool = True
    ) -> Compared:
        """Another schedule of the same procedure beside this one, as `schedsearch compare` has
        it: how many times faster it is. `measure`: timed now, interleaved, and kept."""
        now = None
        if measure:
            with watched(progress) as listener:
                now = measure_pair(self._place, self.id, other.id, listener.phase)
        return compared(self._store, (self.stored, other.stored), self.unscheduled, now)

    @property
    def _place(self) -> Place:
        return Place(self._store.location, self.file)

    def __repr__(self) -> str:
        return "\n".join(_plain(self))

    def _repr_html_(self) -> str:
        parts = [html.lines([html.strong(next(_plain(self))), html.dim(fmt.target(self.target))])]
        if self.message:
            parts.append(html.code(self.message))
        if self.measurement:
            parts.append(html.measurement(self.measurement))
        if self.roof is not None and self.measurement:
            parts.append(html.lines([_reached(self.roof, self.measurement)]))
        parts.append(html.trace(self.trace))
        return html.block(parts)


def of_stored(store: Store, stored: StoredCandidate, file: Path | None = None) -> Candidate:
    workload, target = store.workload(stored.scope), store.target_of(stored)
    roof = stored_roof(store, stored.scope)
    return Candidate(stored, workload, target, roof, file, _store=store)


def _plain(shown: Candidate) -> Iterator[str]:
    record = shown.stored.record
    said = f", {speedup(record.measurement.speedup)}" if record.measurement else ""
    name = fmt.kernel(shown.workload)
    yield f"candidate {shown.id} of {name}: {fmt.state(record)}{said}"
    yield from shown.caveats
    if record.message:
        yield record.message
    if shown.measurement:
        yield f"{duration(shown.measurement.candidate_ns * 1e-9)} a call"
        if shown.roof is not None:
            yield _reached(shown.roof, shown.measurement)
    for number, step in enumerate(record.trace.steps, 1):
        yield f"  {number}. {step}"


def _reached(roof: Roof, measurement: Measurement) -> str:
    return fmt.of_roof(roof, measurement.candidate_ns * 1e-9)
