"""The loops of a kernel's machine code that take most of its time, by an estimate.

How often an instruction runs follows from the trip counts of the C loops that its line is in. The
estimate of a loop's time is that count times the least cycles of an iteration (`counted.py`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schedsearch.evaluate.code.c_lines import Line
from schedsearch.evaluate.code.counted import Counts, counted, is_framed
from schedsearch.evaluate.code.listing import Instruction, innermost_loops

_UNKNOWN = Line(0, "")


@dataclass(frozen=True)
class HotLoop:
    """An innermost loop of machine code. `iterations` of one call and the `share` of the time of
    all innermost loops are estimates; `lines` are those of C that its instructions name.
    `uncounted`: loops that compute beside it, of no known number of iterations, as those inside of
    instructions."""

    function: str
    instructions: tuple[Instruction, ...]
    counts: Counts
    lines: tuple[Line, ...]
    iterations: float
    share: float
    uncounted: int = 0

    @property
    def cycles(self) -> float:
        """Least cycles of an iteration, by counting."""
        return max(self.counts.bounds.values())

    @property
    def binds(self) -> str:
        """The limit of `Counts.bounds` that gives `cycles`."""
        bounds = self.counts.bounds
        return max(bounds, key=bounds.__getitem__)


def hottest(
    functions: Mapping[str, Sequence[Instruction]], lines: Mapping[int, Line]
) -> tuple[HotLoop, ...]:
    """All innermost loops, the one with most of the time first."""
    found: list[HotLoop] = []
    for name, function in functions.items():
        own = [
            HotLoop(name, loop, counted(loop, is_framed(function)), _lines(loop, lines), 0.0, 0.0)
            for loop in innermost_loops(tuple(function))
        ]
        found += own
    timed = _iterations(found)
    times = [loop.cycles * count for loop, count in zip(found, timed, strict=True)]
    total = sum(times) or 1.0
    uncounted = sum(not each.lines and each.counts.arithmetic > 0 for each in found)
    ranked = [
        replace(each, iterations=count, share=time / total, uncounted=uncounted)
        for each, count, time in zip(found, timed, times, strict=True)
    ]
    return tuple(sorted(ranked, key=lambda each: -each.share))


def instructions_of_call(loops: Sequence[HotLoop]) -> float:
    """Instructions of a call in its innermost loops, by the estimate."""
    return sum(each.iterations * each.counts.instructions for each in loops)


def _lines(loop: Sequence[Instruction], lines: Mapping[int, Line]) -> tuple[Line, ...]:
    numbers = dict.fromkeys(each.line for each in loop)
    return tuple(lines[number] for number in sorted(numbers) if number in lines)


def _iterations(loops: Sequence[HotLoop]) -> list[float]:
    """A compiler makes several loops of one in C: one of vectors, and others for what is left over
    or for arrays that overlap. The widest does nearly all, the others at most a remainder."""
    steps = [_step(loop) for loop in loops]
    groups = defaultdict[tuple[int, ...], list[int]](list)
    for number, (line, _) in enumerate(steps):
        groups[line.inside].append(number)
    counts = [0.0] * len(loops)
    for numbers in groups.values():
        widest = max(numbers, key=lambda n: (loops[n].counts.width > 64, steps[n][1]))
        line, step = steps[widest]
        counts[widest] = line.runs / step
        for number in numbers:
            if number != widest:
                counts[number] = _left_over(line, step) / steps[number][1]
    return counts


def _left_over(line: Line, step: float) -> float:
    """Runs that a loop of so many at a time does not do, at most; trip counts divide mostly."""
    whole = line.runs / step
    return line.runs - step * int(whole)


def _step(loop: HotLoop) -> tuple[Line, float]:
    """The line of C that does most in the loop, and how many runs of it an iteration is: a run that
    stores does so once. Where nothing is stored it is as many as do all its arithmetic, but no
    less than an instruction computes: compilers share parts of it, and move it between lines."""
    by_number = {line.number: line for line in loop.lines}
    weights, moves = Counter[int](), Counter[int]()
    least: dict[int, int] = {}
    for each in loop.instructions:
        line = by_number.get(each.line)
        if line is None:
            continue
        one = counted([each], framed=True)
        lanes = max(one.width // line.bits, 1) if line.bits and one.width > 64 else 1
        weights[each.line] += lanes * bool(one.arithmetic)
        if one.arithmetic:
            least[each.line] = max(lanes, least.get(each.line, 0))
        moves[each.line] += lanes * (one.stores > one.spills)
    for kind in (moves, weights):
        busy = {number: count for number, count in kind.items() if count}
        if busy:
            number = max(busy, key=lambda each: (by_number[each].runs, busy[each]))
            line, done = by_number[number], float(busy[number])
            if kind is weights and line.bits:
                done = least[number] * max(done // (least[number] * _arithmetic(line.text)), 1)
            return line, done
    deepest = max(loop.lines, key=lambda line: (len(line.inside), line.runs), default=_UNKNOWN)
    return deepest, 1.0


def _arithmetic(text: str) -> int:
    """Instructions that a run of a statement in C takes: of operators and functions outside of
    indices, a product and the sum that it is a term of being one."""
    while text != (text := re.sub(r"\[[^\[\]]*\]", "", text)):
        pass
    products, others = text.count("*"), len(re.findall(r"[+/]|(?<=[\w)] )-|-=|\b[a-z]\w*\(", text))
    return max(products, others, 1)
