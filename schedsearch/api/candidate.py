"""One candidate of a store, with everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.api import frames
from schedsearch.api.exporting import export_schedule
from schedsearch.api.pictures import Plots
from schedsearch.api.report import write_report
from schedsearch.api.searched import Search, search_of_run
from schedsearch.api.watching import watched
from schedsearch.core.given import given_path
from schedsearch.core.numbers import duration, speedup
from schedsearch.core.records import Keys, Measurement, Outcome
from schedsearch.core.stats import Estimate
from schedsearch.deploy import kernel as kernels
from schedsearch.deploy.kernel import Kernel
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.present import html
from schedsearch.present.compared import Compared, compared
from schedsearch.present.diff import Diff
from schedsearch.present.explained import Explained, explained
from schedsearch.present.files import DEFAULT_FORMATS, parse_formats
from schedsearch.study.measure import measure_pair, measure_steps
from schedsearch.study.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd


class Candidate(Schedule):
    """A schedule and what came of it, as the store had it when this was made.

    `proc`, `c` of what was not measured, and `diff` load the user's file, as `schedsearch
    replay` does; `file` says where it is now if it has moved. Everything else is data.
    """

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
        """What identifies it: its trace, its procedure, its C and its machine code."""
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
        """Over the procedure as written."""
        return self.measurement.speedup if self.measurement else None

    @property
    def parent(self) -> Candidate | None:
        """The schedule with one rewrite less; None for the procedure as written."""
        parent = self.stored.parent_id
        if parent is None:
            return None
        return Candidate.of(self.store, self.store.candidate(parent), self.file)

    @property
    def children(self) -> pd.DataFrame:
        """One row per child, by id, the rejected ones too: columns of `frames.candidates`."""
        return frames.children(self.store, self.stored)

    @property
    def proc(self) -> Any:
        """The scheduled Exo procedure; every rewrite is checked by Exo again."""
        return self.state.procedure

    @property
    def c(self) -> str:
        """Its C. Raises UserError where the store has none and it does not replay."""
        return self.code.source

    @property
    def header(self) -> str:
        """The header of its C."""
        return self.code.header

    def diff(self, before: Candidate | None = None) -> Diff:
        """This procedure beside that of another candidate (default: as written)."""
        title = f"candidate {before.id}" if before else f"{self.workload.proc} as written"
        first = before.proc if before else self.unscheduled
        return Diff(str(first), str(self.proc), (title, f"candidate {self.id}"))

    def explain(self, *, measure: bool = False, progress: bool = True) -> Explained:
        """Explain each rewrite, as `schedsearch explain` does. `measure`: every step is timed
        against the one before, where that is not known, and kept in the store; an interrupt
        ends it, and what was measured is explained. `progress` False: silent.

        Loads the user's file. Raises UserError for what can be mended.
        """
        if measure:
            with watched(progress) as listener:
                measure_steps(self, listener.phase)
        return explained(self)

    def compare(
        self, other: Candidate, *, measure: bool = False, progress: bool = True
    ) -> Compared:
        """Compare another schedule of the same procedure with this one, as `schedsearch compare`
        does: how many times faster it is. `measure`: timed now, interleaved, and kept."""
        now = None
        if measure:
            with watched(progress) as listener:
                now = measure_pair(self, other, listener.phase)
        return compared(self, other, now)

    def export(
        self, out: str | Path = ".", formats: str | Sequence[str] = DEFAULT_FORMATS
    ) -> tuple[Path, ...]:
        """Write it into the directory `out`, as `schedsearch export` does, and return the paths.
        `formats`: `py` (a module that needs exo-lang only), `c` (with its header), `json`.

        Loads the user's file. Raises UserError if it is not verified, or `out` cannot be written.
        """
        wanted = parse_formats(formats)
        return export_schedule(self, given_path("--out", out), wanted).paths

    def kernel(self) -> Kernel:
        """The procedure as a function on arrays that runs this schedule:
        `schedsearch.kernel(PROCEDURE, use=self)`. For sizes and processors that it does not fit,
        others run, as `schedsearch.kernel` says.

        Loads the user's file. Raises UserError if it is not verified.
        """
        return kernels.kernel(self.source.named(self.workload.proc), use=self)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the page of the search that found it, as `schedsearch report` does, and return its
        path. Raises UserError if `path` cannot be written."""
        return write_report(self._search, given_path("--out", path))

    @property
    def plot(self) -> Plots:
        """Pictures of the search that found it: `plot()` is its best speed-up over time,
        `plot.roofline()` and others are those of `Search.plot`. Needs the extra `notebook`."""
        return self._search.plot

    @property
    def _search(self) -> Search:
        return search_of_run(self.store, self.stored.run_id, self.file)

    def __repr__(self) -> str:
        return "\n".join(_plain(self))

    def _repr_html_(self) -> str:
        parts = [html.lines([html.strong(next(_plain(self))), html.dim(fmt.target(self.target))])]
        if self.message:
            parts.append(html.listing(self.message))
        if self.measurement:
            parts.append(html.measurement(self.measurement))
        if self.roof is not None and self.measurement:
            parts.append(html.lines([_reached(self.roof, self.measurement)]))
        parts.append(html.trace(self.trace))
        return html.block(parts)


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
