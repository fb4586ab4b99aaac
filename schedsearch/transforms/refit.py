"""A trace fitted to a procedure, step by step: as it stands where that is legal, else where it
fits best, else without the step. For traces that lost steps, and for sources that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.adapt import similar
from schedsearch.transforms.registry import apply, registry
from schedsearch.transforms.replay import Replayer, State


class Fate(StrEnum):
    APPLIED = "applied"
    MOVED = "applied elsewhere"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Step:
    """What became of one step. `found` is what was applied, None if nothing was; `why`, what
    is wrong with the step as it stands (empty if it was applied so)."""

    wanted: Rewrite
    fate: Fate
    found: Rewrite | None
    why: str = ""


def refit(replayer: Replayer, target: Target, trace: Trace) -> Iterator[Step]:
    """The fate of each step of `trace` on the replayer's procedure, in order."""
    done = Trace()
    for wanted in trace.steps:
        step = _fit(replayer.state(done), target, wanted)
        if step.found is not None:
            done = done.then(step.found)
        yield step


def fitted(steps: Iterable[Step]) -> Trace:
    """What was applied."""
    return Trace(tuple(step.found for step in steps if step.found is not None))


def _fit(state: State, target: Target, wanted: Rewrite) -> Step:
    if (why := _refusal(state, wanted, target.fp)) is None:
        return Step(wanted, Fate.APPLIED, wanted)
    transform = registry().get(wanted.transform)
    here = replace(target, build=state.build)
    proposals = list(transform.rewrites(state.ast, here)) if transform else []
    for other in similar(wanted, proposals):
        if other != wanted and _refusal(state, other, target.fp) is None:
            if (other.path, other.args) == (wanted.path, wanted.args):
                return Step(wanted, Fate.APPLIED, other)  # a loop of another length, say
            return Step(wanted, Fate.MOVED, other, why)
    return Step(wanted, Fate.DROPPED, None, why)


def _refusal(state: State, rewrite: Rewrite, fp: FloatingPoint) -> str | None:
    """Why a rewrite is not legal; None if it is."""
    try:
        apply(state.procedure, state.ast, rewrite, fp)
    except RewriteError as error:
        return str(error)
    return None
