"""The shortest schedule that is as fast: rewrites that make no difference are left out.

This is delta debugging over the trace: Zeller and Hildebrandt, "Simplifying and isolating
failure-inducing input", IEEE Transactions on Software Engineering 28(2), 2002. A shorter trace is
fitted again (`transforms/fit.py`): steps that build on a missing one may find another place, or
go too. The first pass leaves out what does not change the C, and times nothing. The second leaves
out what does not change the speed by more than noise: each attempt is verified and interleaved
with the original, so that small losses do not add up. The result is confirmed on fresh rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from schedsearch.core.decision import TOLERANCE, Decision
from schedsearch.core.errors import CodegenError
from schedsearch.core.records import Artifact, GeneratedC, Measurement, Target, TimingKind
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine.plans import FEW
from schedsearch.search.workers.building import build, reacher_of
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.fit import fitted, refit
from schedsearch.transforms.replay import Replayer

COMPARE = TimingPlan(
    TimingKind.MINIMAL,
    min_rounds=6,
    max_rounds=14,
    samples=FEW,
    give_up_below=0.95,
    decide=True,
    fresh=True,
)
"""A kernel is some percent faster or slower in each process: every round is of another one."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Shortened:
    """A schedule that is as fast as a longer one; `minimal` if none of its rewrites can go."""

    trace: Trace
    code: GeneratedC
    ast_key: str
    minimal: bool


Shorten = Callable[[Trace, float, Callable[[], bool], float], Shortened | None]
"""Of a trace, in so many seconds, as long as it may go on; a round of a timing takes the last."""


def as_it_is(trace: Trace, seconds: float, go_on: Callable[[], bool], round_s: float) -> None:
    """Leaves a schedule as it is, where nothing is timed."""


def shorten_with(bench: Bench, replayer: Replayer, target: Target, builder: Builder) -> Shorten:
    """By timing on a bench. None if the original cannot be built any more."""

    def shorten(
        trace: Trace, seconds: float, go_on: Callable[[], bool], round_s: float
    ) -> Shortened | None:
        shortener = Shortener(trace, replayer, target, go_on, lambda _: None, seconds)
        shortener.same_code()
        shortener.end -= COMPARE.min_rounds * round_s  # nothing begins that cannot end
        generated = shortener.generator.generate(trace)
        original = build(builder, generated, replayer.state(trace).ast, reacher_of(bench))
        if not isinstance(original, Artifact):
            return None
        shortener.as_fast(original, bench, builder)
        short = shortener.trace
        state, code = replayer.state(short), shortener.generator.generate(short)
        return Shortened(short, code, ast_key(state.ast, state.build), shortener.minimal)

    return shorten


class Shortener:
    """Shortens one trace; `trace` is the shortest so far. It stops when it may not `go_on`, or
    after `budget_s` seconds; `minimal` says whether it came to an end before."""

    def __init__(
        self,
        trace: Trace,
        replayer: Replayer,
        target: Target,
        go_on: Callable[[], bool],
        tell: Tell,
        budget_s: float,
    ) -> None:
        self.trace, self.whole = trace, len(trace)
        self.replayer, self.target = replayer, target
        self.generator = CodeGenerator(replayer)
        self.go_on, self.tell = go_on, tell
        self.end = monotonic() + budget_s
        self.minimal = True

    def same_code(self) -> None:
        """Leave out what leaves the C as it is."""
        key = self.generator.generate(self.trace).key
        self._shorten(lambda code, _: code.key == key, "give the same C")

    def as_fast(self, original: Artifact, bench: Bench, builder: Builder) -> None:
        """Leave out what does not make it slower than `original`."""
        anchor = Anchor(original, original.code_key)
        known = {original.binary_key: True}

        reacher = reacher_of(bench)

        def does(code: GeneratedC, trace: Trace) -> bool:
            built = build(builder, code, self.replayer.state(trace).ast, reacher)
            if not isinstance(built, Artifact):
                return False
            if built.binary_key not in known:
                with measuring_slot(self.tell):
                    found = bench.evaluate(built, COMPARE, anchor).result
                known[built.binary_key] = isinstance(found, Measurement) and no_slower(found)
            return known[built.binary_key]

        self._shorten(does, "are as fast")

    def _shorten(self, does: Callable[[GeneratedC, Trace], bool], what: str) -> None:
        """`does` is asked once for each C."""
        known: dict[str, bool] = {}

        def suffices(trace: Trace) -> bool:
            try:
                code = self.generator.generate(trace)
            except CodegenError:
                return False
            if code.key not in known:
                known[code.key] = does(code, trace)
            return known[code.key]

        def reduced(rest: tuple[Rewrite, ...]) -> tuple[Rewrite, ...] | None:
            if monotonic() > self.end or not self.go_on():
                self.minimal = False
                return None
            shorter = fitted(refit(self.replayer, self.target, Trace(rest)))
            return shorter.steps if shorter.steps and suffices(shorter) else None

        for steps in ddmin(self.trace.steps, reduced):
            self.trace = Trace(steps)
            self.tell(f"{len(steps)} of {self.whole} rewrites {what}")


def no_slower(against: Measurement) -> bool:
    """Of a timing against the original: not shown to be slower, and not seen to be by 2 %."""
    slower = against.decision() is Decision.SLOWER
    return not slower and against.ratio.value >= 1.0 - TOLERANCE


Item = TypeVar("Item")
Items = tuple[Item, ...]


def ddmin(
    items: Items[Item], reduced: Callable[[Items[Item]], Items[Item] | None]
) -> Iterator[Items[Item]]:
    """Yield ever shorter lists, by leaving out ever smaller parts; the last cannot do without any
    single item.

    `reduced(rest)` is what is left to go on with if `rest` does (itself, or less), None if it
    does not. At least one item is kept.
    """
    parts = 2
    while len(items) > 1:
        size = -(-len(items) // parts)
        for start in range(0, len(items), size):
            rest = reduced((*items[:start], *items[start + size :]))
            if rest is not None:
                items, parts = rest, max(parts - 1, 2)
                yield items
                break
        else:
            if parts >= len(items):
                return
            parts = min(2 * parts, len(items))
