"""Confirming the fastest of a space that was recorded before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from benchmarks.spaces.space import Space
from benchmarks.spaces.stand import TOP, confirmed, stand
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.search.setup.subject import Subject
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.replay import Replayer

SAMPLE = 7
"""Schedules that tell how what is measured now compares with what was recorded."""


def confirm(space: Space, subject: Subject) -> Space:
    """`space` with its fastest measured again, on the machine it was recorded on.

    All are measured against one of those that keep their recorded value, and brought to the
    scale of these: by the median over `SAMPLE` of them, from the middle of the upper half.
    Raises UserError if the target is another one, or something does not run any longer.
    """
    if subject.target.key != space.target.key:
        raise UserError(f"{space.name} was recorded on another target")
    generator = CodeGenerator(Replayer(subject.procedure))
    here = stand(subject)
    speedups = {
        key: point.speedup
        for key, point in space.points.items()
        if point.speedup is not None and point.same == key
    }
    sample = _sample(speedups)
    anchor = _code(space, generator, sample[0])

    def ratio(key: str) -> float:
        return here.ratio(_code(space, generator, key), anchor)

    scale = median(speedups[key] / ratio(key) for key in sample[1:])
    settled = confirmed(speedups, lambda key: ratio(key) * scale)
    points = {
        key: replace(point, speedup=settled[point.same]) if point.speedup else point
        for key, point in space.points.items()
    }
    return replace(space, points=points)


def _sample(speedups: Mapping[str, float]) -> Sequence[str]:
    """The anchor, not among the fastest, and those that the scale is taken from."""
    ranked = sorted(speedups, key=lambda key: -speedups[key])
    upper = ranked[min(3 * TOP, len(ranked) // 4) : len(ranked) // 2 + 1]
    step = max(1, len(upper) // SAMPLE)
    return [upper[0], *upper[::step][:SAMPLE]]


def _code(space: Space, generator: CodeGenerator, key: str) -> GeneratedC:
    steps = []
    while (point := space.points[key]).parent is not None:
        assert point.rewrite is not None
        steps.append(point.rewrite)
        key = point.parent
    return generator.generate(Trace(tuple(reversed(steps))))
