"""`schedsearch.explore`: a schedule step by step, by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from schedsearch.api.arguments import read_arguments, read_budget
from schedsearch.api.candidate import Candidate
from schedsearch.api.source import options_of
from schedsearch.api.tuning import Result
from schedsearch.api.watching import watched
from schedsearch.core.closeable import Closeable
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_flag
from schedsearch.core.numbers import count, speedup
from schedsearch.core.records import Measurement, Outcome
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.present import format as fmt
from schedsearch.present import html
from schedsearch.present.diff import Diff
from schedsearch.present.extras import pandas
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.search.strategies.make import AnyStrategy
from schedsearch.store.views import StoredCandidate
from schedsearch.study.stepping import Stepper
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.registry import select

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Choice:
    """One rewrite of a schedule: legal, or rejected with a reason.

    `gain` is how many times faster than before the rewrite the cost model estimates it to be,
    None where it says nothing; a measurement, if there is one, is over the procedure as written.
    """

    number: int
    stored: StoredCandidate

    @property
    def rewrite(self) -> Rewrite:
        """The transform, its place and its arguments."""
        return self.stored.record.trace.steps[-1]

    @property
    def legal(self) -> bool:
        """Whether Exo accepts it here, and nothing of ours refuses it."""
        return self.stored.record.outcome is not Outcome.ILLEGAL

    @property
    def gain(self) -> float | None:
        """The factor that the cost model estimates; None where it says nothing."""
        predicted = self.stored.record.predicted
        return None if predicted is None else exp(predicted)

    @property
    def measurement(self) -> Measurement | None:
        """Of the schedule after it; None if that was not measured."""
        return self.stored.record.measurement

    @property
    def why(self) -> str:
        """Its speed-up or its state, or the reason why it was rejected."""
        record = self.stored.record
        if record.measurement is not None:
            return speedup(record.measurement.speedup)
        if record.duplicate_level is not None:
            return "the same as another schedule"
        return record.message or fmt.state(record)

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", estimated {self.gain:.3g}x of the one before"
        return f"{self.number}: {self.rewrite}{gain}; {self.why}"


class Rewrites(tuple[Choice, ...]):
    """The rewrites of a schedule, numbered as `Explored.apply` takes them: the legal ones first,
    those that promise most at the top."""

    __slots__ = ()

    @property
    def legal(self) -> Rewrites:
        """Those that can be applied."""
        return Rewrites(each for each in self if each.legal)

    @property
    def rejected(self) -> Rewrites:
        """Those that were tried in vain; `why` says why."""
        return Rewrites(each for each in self if not each.legal)

    def of(self, transform: str) -> Rewrites:
        """Those of one transform. Raises UserError for an unknown name."""
        select([transform])
        return Rewrites(each for each in self if each.rewrite.transform == transform)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per rewrite, by number: transform, where (`at`, the statement's header),
        arguments, legal, `gain`, speed-up if it was measured, and why."""
        rows = [
            (
                each.number,
                each.rewrite.transform,
                each.rewrite.label,
                dict(each.rewrite.args),
                each.legal,
                each.gain,
                each.measurement.speedup.value if each.measurement else None,
                each.why,
            )
            for each in self
        ]
        names = ("number", "transform", "at", "arguments", "legal", "gain", "speedup", "why")
        return pandas().DataFrame(rows, columns=list(names)).set_index("number")

    def __repr__(self) -> str:
        return "\n".join([count(len(self), "rewrite"), *map(repr, self)])

    def _repr_html_(self) -> str:
        rows = [
            (
                each.number,
                html.strong(each.rewrite.transform, "inherit" if each.legal else html.GREY),
                html.code(", ".join(f"{name}={value}" for name, value in each.rewrite.args)),
                html.code(each.rewrite.label),
                "" if each.gain is None else f"{each.gain:.3g}x",
                each.why if each.legal else html.dim(each.why),
            )
            for each in self
        ]
        return html.table(("", "rewrite", "arguments", "at", "estimate", ""), rows)


def _rank(stored: StoredCandidate) -> tuple[bool, float, int]:
    """Legal ones first, then by what they promise, then as proposed."""
    record = stored.record
    return record.outcome is Outcome.ILLEGAL, -(record.predicted or 0.0), stored.id


@dataclass(frozen=True)
class Explored:
    """A schedule that was reached by hand. `previous` is where it was reached from."""

    trace: Trace
    previous: Explored | None = field(repr=False)
    _stepper: Stepper = field(repr=False, kw_only=True)

    @property
    def proc(self) -> Any:
        """The Exo procedure here."""
        return self._stepper.state(self.trace).procedure

    @property
    def c(self) -> str:
        """Its C. Raises CodegenError where Exo has none."""
        state = self._stepper.state(self.trace)
        return generate_c(state.procedure, state.build).source

    @property
    def candidate(self) -> Candidate:
        """Its candidate as the store has it now."""
        return Candidate.of(self._stepper.session.store, self._stepper.stored(self.trace))

    @property
    def parent(self) -> Explored | None:
        """One rewrite before, in the tree; `previous` unless this was reached in another way
        before."""
        above = self.trace.parent
        if above is None:
            return None
        if self.previous is not None and self.previous.trace == above:
            return self.previous
        return replace(self, trace=above, previous=None)

    def rewrites(self) -> Rewrites:
        """The rewrites that are legal here, and those that were tried in vain. The first call takes
        a second or more."""
        found = sorted(self._stepper.rewrites(self.trace), key=_rank)
        return Rewrites(Choice(number, each) for number, each in enumerate(found))

    def apply(self, rewrite: int | Choice | Rewrite) -> Explored:
        """The schedule after a rewrite: its number in `rewrites()`, one of those, or another
        one, say with other arguments. If that procedure was reached in another way before, its
        trace is that way. Raises UserError with the reason if it is illegal."""
        if isinstance(rewrite, int):
            rewrite = self.rewrites()[rewrite]
        if isinstance(rewrite, Choice):
            rewrite = rewrite.rewrite
        found = self._stepper.follow(self.trace, rewrite)
        if found.record.outcome is Outcome.ILLEGAL:
            raise UserError(
                f"{rewrite} is illegal here: {found.record.message}; "
                "`.rewrites()` has what is legal"
            )
        return replace(self, trace=self._stepper.original(found).record.trace, previous=self)

    def undo(self) -> Explored:
        """The schedule that this one was reached from; the procedure as written returns itself."""
        return self.previous or self

    def measure(self) -> Measurement:
        """Verify it, and time it against the procedure as written, as a search confirms its
        best; once more if it was measured before. Waits while others measure on this machine.
        Raises UserError if it cannot be built, or computes something else."""
        return self._stepper.measure(self.trace)

    def diff(self, before: Explored | None = None) -> Diff:
        """The procedure of `before` (default: where it was reached from) beside this one."""
        before = before or self.previous or self
        titles = (count(len(before.trace), "rewrite"), count(len(self.trace), "rewrite"))
        return Diff(str(before.proc), str(self.proc), titles)

    def search(
        self,
        budget: float | str = 60.0,
        *,
        trials: int | None = None,
        strategy: AnyStrategy = Options.strategy,
        seed: int = Options.seed,
        executor: str = Options.executor,
        workers: int | None = None,
        progress: bool = True,
    ) -> Result:
        """Let a strategy go on from here, for `budget` seconds, or for a text such as "2m": only
        what follows this schedule is looked at. The result's best is that of all that the store
        knows of the procedure. `strategy` is as in `tune`; the root that it is told of is this
        schedule. Raises UserError as `tune` does."""
        shown = given_flag("progress", progress)
        given = {"strategy": strategy, "seed": seed, "executor": executor, "workers": workers}
        options = replace(
            self._stepper.options,
            budget=read_budget(budget, trials),
            **read_arguments(given),
        )
        options.check()
        with watched(shown) as listener:
            run = self._stepper.search(self.trace, options, listener)
        return Result(run, options.store)

    def __repr__(self) -> str:
        return f"{self.candidate!r}\n\n{self.proc}"

    def _repr_html_(self) -> str:
        known = Markup(self.candidate._repr_html_())
        shown = Markup(self.diff()._repr_html_()) if self.previous else html.listing(self.proc)
        return html.block([known, shown])


class Exploration(Closeable):
    """A run by hand. It ends with `close` or with `with`; its store keeps all results."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    @property
    def root(self) -> Explored:
        """The procedure as written."""
        return Explored(Trace(), None, _stepper=self._stepper)

    def at(self, trace: Trace) -> Explored:
        """A schedule that was found before: the trace of a candidate or of a result. Raises
        UserError where it does not apply."""
        here = self.root
        for step in trace.steps:
            here = here.apply(step)
        return here

    def close(self) -> None:
        """End the run. What it found stays in the store."""
        self._stepper.close()

    def __repr__(self) -> str:
        subject, store = self._stepper.session.setting.subject, self._stepper.options.store
        return f"{subject.name} by hand, on {fmt.target(subject.target)}; kept in {store}"


def explore(
    proc: Any,
    sizes: Mapping[str, int] | None = None,
    *,
    name: str | None = None,
    threads: int = Options.threads,
    store: str | Path = Options.store,
    specialize: bool = False,
    transforms: str | Sequence[str] | None = None,
    cc: str | None = None,
    target: str | Path | None = None,
    fp: str | None = None,
    instructions: str | Path | Sequence[str | Path] = (),
    cache: str = Options.cache,
    align: int = Options.align,
    fresh: bool = False,
    progress: bool = True,
) -> Exploration:
    """Begin a search by hand, in this process: the arguments are those of `tune`.

    The procedure as written is measured first. Raises UserError for what can be mended.
    """
    shown = given_flag("progress", progress)
    options = options_of(
        proc,
        name,
        sizes,
        budget=Budget(0.0),
        store=store,
        cc=cc,
        target=target,
        fp=fp,
        instructions=instructions,
        transforms=transforms,
        threads=threads,
        specialize=specialize,
        warm_start=False,
        fresh=fresh,
        cache=cache,
        align=align,
    )
    with watched(shown) as listener:
        return Exploration(Stepper(options, listener))
