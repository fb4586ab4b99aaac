"""Children of traces, as they are sent between processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC, Keys, Outcome
from schedsearch.core.trace import Rewrite, Trace


@dataclass(frozen=True)
class Made:
    """What building a child needs."""

    code: GeneratedC
    ast: q.Proc


@dataclass(frozen=True)
class Child:
    """One child of an expansion.

    If the rewrite failed, `outcome` says how and `message` why. `predicted` is the log
    speed-up over the parent by the static cost estimate; None if this process has seen the
    same `ast_key` before. `made` is given where the rewrite took long.
    """

    rewrite: Rewrite
    keys: Keys = field(default_factory=Keys)
    outcome: Outcome | None = None
    message: str = ""
    predicted: float | None = None
    made: Made | None = None


@dataclass(frozen=True)
class Expansion:
    """The children of a trace in the order they were made; `stage_s` maps stages to seconds.
    `left` proposals were not carried out. `faults` are mistakes of transforms, in words."""

    trace: Trace
    children: tuple[Child, ...]
    stage_s: tuple[tuple[str, float], ...]
    left: int = 0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Replay:
    """A trace followed step by step from `start`, a prefix that replayed: what every
    further step made, up to the first that failed; and mistakes of transforms, in words."""

    start: Trace
    steps: tuple[Child, ...]
    stage_s: tuple[tuple[str, float], ...]
    faults: tuple[str, ...] = ()


def merge(parts: Sequence[Expansion]) -> Expansion:
    """The whole expansion from all its parts, in order."""
    children = [
        child for row in zip_longest(*(p.children for p in parts)) for child in row if child
    ]
    seconds: Counter[str] = Counter()
    for part in parts:
        seconds.update(dict(part.stage_s))
    left = sum(part.left for part in parts)
    faults = tuple(fault for part in parts for fault in part.faults)
    return Expansion(parts[0].trace, tuple(children), tuple(seconds.items()), left, faults)
