"""`schedsearch.tune`: one search, from a procedure to its schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.api import frames
from schedsearch.api.arguments import read_budget
from schedsearch.api.candidate import Candidate
from schedsearch.api.exporting import export_result
from schedsearch.api.pictures import Plots
from schedsearch.api.report import write_report
from schedsearch.api.searched import search_of_run
from schedsearch.api.source import options_of
from schedsearch.api.watching import watched
from schedsearch.core.given import given_flag, given_path, given_texts
from schedsearch.core.lasting import caveats
from schedsearch.core.records import GeneratedC, Measurement, PeerComparison, Target, Workload
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.deploy import kernel as kernels
from schedsearch.deploy.kernel import Kernel
from schedsearch.deploy.sources import remember
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.peers.against import parse_against
from schedsearch.present import format as fmt
from schedsearch.present import html
from schedsearch.present.against import against_lines
from schedsearch.present.diff import Diff
from schedsearch.present.live import rate
from schedsearch.search import result, session
from schedsearch.search.against import compare_with_peers
from schedsearch.search.engine.ending import margin
from schedsearch.search.setup.budget import Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.strategies.make import AnyStrategy
from schedsearch.store.database import Store
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.replay import Replayer, State

if TYPE_CHECKING:
    import pandas as pd

AS_WRITTEN = Estimate(1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Result:
    """The end of a search. Without a schedule faster than the procedure as written, `trace`
    is empty and the rest is of that procedure.

    `run` is all of it: the target, the baseline, the roofline, counts, why it stopped.
    """

    run: result.Result
    store: Path | str
    against: tuple[PeerComparison, ...] = ()
    """The best beside what `tune` was asked to compare it with."""

    @property
    def trace(self) -> Trace:
        """The rewrites; none if nothing is faster than the procedure as written."""
        return self.run.best.trace if self.run.best else Trace()

    @property
    def workload(self) -> Workload:
        """The procedure and the sizes that it was tuned for."""
        return self.run.setting.subject.workload

    @property
    def target(self) -> Target:
        """The machine, compilers and floating-point contract that it was tuned for."""
        return self.run.setting.subject.target

    @cached_property
    def _state(self) -> State:
        return Replayer(self.run.setting.subject.procedure).state(self.trace)

    @property
    def proc(self) -> Any:
        """The scheduled Exo procedure."""
        return self._state.procedure

    @property
    def c(self) -> str:
        """The C that was measured."""
        return self._code.source

    @property
    def header(self) -> str:
        """The header of `c`."""
        return self._code.header

    @cached_property
    def _code(self) -> GeneratedC:
        return generate_c(self.proc, self._state.build)

    @property
    def python(self) -> str:
        """A module that makes this schedule; needs exo-lang only."""
        subject = self.run.setting.subject
        workload, notes = subject.workload, [str(self).splitlines()[0]]
        return schedule_python(subject.source, workload.proc, self.trace, notes, workload.fixed)

    @property
    def measurement(self) -> Measurement | None:
        """The last measurement of the best; None if nothing is faster."""
        return self.run.best.measurement if self.run.best else None

    @property
    def roof(self) -> Roof:
        """How fast this machine could be at it."""
        return self.run.roof

    @property
    def speedup(self) -> Estimate:
        """How many times faster than the procedure as written, with the interval of the last
        measurement; 1 if nothing is faster. It compares and formats as a number."""
        return self.measurement.speedup if self.measurement else AS_WRITTEN

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped by hand: the best is not confirmed then."""
        return self.run.stop is Stop.INTERRUPTED

    @property
    def best(self) -> Candidate | None:
        """The best with all that the store has of it."""
        if self.run.best is None:
            return None
        store = Store.open(self.store, create=False)
        [found] = store.find(self.run.setting.scope, [self.run.best.key])
        return Candidate.of(store, found)

    @property
    def history(self) -> pd.DataFrame:
        """This run's measurements, the oldest first (`frames.history`)."""
        with Store.open(self.store, create=False) as store:
            return frames.history(store, self.run.setting.scope, self.run.run_id)

    def diff(self) -> Diff:
        """The procedure as written beside the scheduled one."""
        procedure = self.run.setting.subject.procedure
        titles = (f"{procedure.name()} as written", "scheduled")
        return Diff(str(procedure), str(self.proc), titles)

    def export(self, out: str | Path = ".") -> tuple[Path, ...]:
        """Write the schedule as a module (needs exo-lang only), its C and the header into the
        directory `out`, as `schedsearch run` does, and return the paths. Without a faster schedule
        they are of the procedure as written. Raises UserError if `out` cannot be written."""
        return export_result(self.run, given_path("--out", out)).paths

    def kernel(self) -> Kernel:
        """The procedure as a function on arrays that runs this schedule:
        `schedsearch.kernel(PROCEDURE, use=self)`. For sizes and processors that it does not fit,
        and without a faster schedule, others run, as `schedsearch.kernel` says."""
        subject = self.run.setting.subject
        procedure = subject.source.named(subject.workload.proc)
        return kernels.kernel(procedure, use=self if self.measurement else None)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the page of this search, as `schedsearch report` does, and return its path.
        Raises UserError if `path` cannot be written."""
        place = given_path("--out", path)
        with Store.open(self.store, create=False) as store:
            return write_report(search_of_run(store, self.run.run_id), place, self.against)

    @property
    def plot(self) -> Plots:
        """Pictures of this search: `plot()` is its best speed-up over time, `plot.roofline()` and
        others are those of `Search.plot`. Needs the extra `notebook`."""
        return search_of_run(Store.open(self.store, create=False), self.run.run_id).plot

    def __repr__(self) -> str:
        return "\n".join([*self._said(), *(f"  {step}" for step in self.trace.steps)])

    def _repr_html_(self) -> str:
        first, *more = self._said()
        parts = [html.lines([html.strong(first), *more])]
        if self.measurement:
            parts += [html.measurement(self.measurement), html.trace(self.trace)]
            parts.append(html.folded("procedure, before and after", self.diff()))
            parts.append(html.folded("C", html.listing(self.c)))
        return html.block(parts)

    def _said(self) -> list[str]:
        subject, progress, timed = self.run.setting.subject, self.run.progress, self.measurement
        stop = f"{self.run.stop}: {fmt.counted(progress)} in {progress.elapsed_s:.0f} s"
        beside = [line.strip() for line in against_lines(self.against)]
        if timed is None:
            return [fmt.nothing_faster(subject.name), *beside, stop]
        return [
            f"{subject.name}: {fmt.claim(timed)}",
            rate(subject, self.run.roof, timed.candidate_ns),
            fmt.tested(timed, margin(self.run.noise)),
            *fmt.elsewhere(self.run.elsewhere),
            *self.run.setting.baseline.agreement.caveats,
            *caveats(self._code),
            *beside,
            stop,
        ]


def tune(
    proc: Any,
    sizes: Mapping[str, int] | None = None,
    *,
    name: str | None = None,
    budget: float | str = Options.budget.seconds,
    trials: int | None = None,
    target_speedup: float | None = None,
    strategy: AnyStrategy = Options.strategy,
    threads: int = Options.threads,
    store: str | Path = Options.store,
    seed: int = Options.seed,
    specialize: bool = False,
    transforms: str | Sequence[str] | None = None,
    cc: str | None = None,
    target: str | Path | None = None,
    fp: str | None = None,
    instructions: str | Path | Sequence[str | Path] = (),
    cache: str = Options.cache,
    align: int = Options.align,
    warm_start: bool = Options.warm_start,
    fresh: bool = False,
    executor: str = Options.executor,
    workers: int | None = None,
    ray_address: str | None = None,
    define: str | Sequence[str] = (),
    include: str | Path | Sequence[str | Path] = (),
    against: str | Sequence[str] = (),
    progress: bool = True,
) -> Result:
    """Search for a fast schedule of a procedure, as `schedsearch run` does.

    `proc` is an Exo procedure, also one that was defined in a notebook, or the path of a file
    that has it (`name` if it has several). `sizes` are what it is timed with, by argument
    name. `budget` is seconds, or a text such as "30s" or "2m", for all of it, confirming included;
    `trials` limits measured candidates, `target_speedup` ends the search once it is reached.
    `strategy` is a name, or one of your own: a class, a function that makes one, or an object.
    `fp` is the floating-point contract: strict, reassociate or fast.
    `transforms` are names, of the library or of what you registered: a list, or a text with commas.
    `define` (`"N=100"`) and `include` are macros and headers, for C. `against` names what the best
    is then timed beside (`"numpy,cc=gcc"`), in `Result.against`. `progress` False: silent.
    The rest is as `schedsearch run --help` says, the defaults too.

    Kernels of this process (`schedsearch.kernel`) run what was found.

    Ctrl-C, or the interrupt of a notebook, ends the search: what was found by then is
    returned, and kept in `store`; the same call continues. Raises UserError for what can be
    mended: for wrong arguments before anything is loaded or started.
    """
    requests = parse_against(given_texts("--against", against))
    shown = given_flag("progress", progress)
    options = options_of(
        proc,
        name,
        sizes,
        budget=read_budget(budget, trials, target_speedup),
        define=define,
        include=include,
        store=store,
        cc=cc,
        target=target,
        fp=fp,
        instructions=instructions,
        strategy=strategy,
        executor=executor,
        workers=workers,
        seed=seed,
        transforms=transforms,
        threads=threads,
        specialize=specialize,
        warm_start=warm_start,
        fresh=fresh,
        cache=cache,
        align=align,
        ray_address=ray_address,
    )
    with watched(shown) as listener:
        result = Result(session.tune(options, listener), options.store)
    if result.measurement:
        remember(result)
    if not requests or result.interrupted:
        return result
    with watched(shown) as listener:
        beside = compare_with_peers(
            result.run.setting.subject, result._code, requests, listener.phase
        )
    return replace(result, against=tuple(beside))
