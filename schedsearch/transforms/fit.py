"""Fits a trace to a procedure, step by step: as it stands where that is legal, else where it fits
best, else without the step. For traces that lost steps, for sources that changed, and for schedules
of similar procedures.

The same transform is looked for at the place most like the one it had: path and label (without its
numbers, which are sizes). Arguments stay where proposals there differ in them; those that all
proposals agree on (the lanes of a vector, say) come from the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log2

from schedsearch.core.ast import Path
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue, Rewrite, Trace
from schedsearch.transforms.registry import apply, registry
from schedsearch.transforms.replay import Replayer, State

TRIES = 3
"""Rewrites tried for one step; a step for which none is legal is left out."""

OTHER_LABEL = 1.5
"""A statement that reads differently counts like so many differing parts of its path."""
OTHER_VALUE = 2.0
"""An argument that is no number differs by so much, numbers by the logarithm of their ratio."""


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


def similar(wanted: Rewrite, proposals: Sequence[Rewrite]) -> list[Rewrite]:
    """At most `TRIES` rewrites to try instead of `wanted`, the most similar first.

    `proposals` are those of its transform; the first of the answer may be none of them.
    """
    nearest = sorted(proposals, key=lambda proposal: distance(wanted, proposal))
    if not nearest:
        return []
    there = [other for other in proposals if other.path == nearest[0].path]
    kept = replace(nearest[0], args=_keep(wanted, nearest[0], there))
    return list(dict.fromkeys([kept, *nearest]))[:TRIES]


def distance(wanted: Rewrite, proposal: Rewrite) -> float:
    """How much a proposal differs from what is wanted in place and arguments."""
    label = 0.0 if _wording(wanted.label) == _wording(proposal.label) else OTHER_LABEL
    given, offered = dict(wanted.args), dict(proposal.args)
    arguments = sum(_apart(given.get(name), offered.get(name)) for name in given | offered)
    return _steps_apart(wanted.path, proposal.path) + label + arguments


def _keep(
    wanted: Rewrite, proposal: Rewrite, there: Sequence[Rewrite]
) -> tuple[tuple[str, ArgValue], ...]:
    given = dict(wanted.args)
    offered = [dict(other.args) for other in there]
    free = {name for name in given if len({args.get(name) for args in offered}) > 1}
    return tuple((name, given[name] if name in free else value) for name, value in proposal.args)


def _wording(label: str) -> str:
    return re.sub(r"\d+", "#", label)


def _steps_apart(one: Path, other: Path) -> int:
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    return max(len(one), len(other)) - common


def _apart(one: ArgValue | None, other: ArgValue | None) -> float:
    if one == other:
        return 0.0
    numbers = [v for v in (one, other) if isinstance(v, int) and not isinstance(v, bool) and v > 0]
    return abs(log2(numbers[0] / numbers[1])) if len(numbers) == 2 else OTHER_VALUE
