"""Whether the compiled unscheduled procedure computes what the procedure says, and how much
verification can tell.

What a kernel may compute is evaluated from the query AST (`enclosure.py`), for the procedure as
written as for every candidate: a miscompile of it is found, and says nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedsearch.evaluate.oracle import LADDERS, SHARP, Mode


@dataclass(frozen=True)
class Power:
    """Of an output in a case: elements `written`, of these `defined` ones, for which a result
    is promised, `sharp` ones, for which a wrong one shows, and `rough` ones, in which a term of
    a sum drowns in roundings."""

    written: int
    defined: int
    sharp: int
    rough: int = 0

    @property
    def share(self) -> float:
        """Of what is written, what is sharp; nothing written needs nothing."""
        return self.sharp / self.written if self.written else 1.0


@dataclass(frozen=True)
class Agreement:
    """`cases` in which the compiled procedure agrees with its evaluation, those that were
    not compared, with the reason, and what no case can tell (`weak`)."""

    cases: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    weak: tuple[str, ...] = ()

    def __str__(self) -> str:
        total = len(self.cases) + len(self.skipped)
        text = f"agrees with its evaluation in {len(self.cases)} of {total} cases"
        reasons = dict.fromkeys(reason for _, reason in self.skipped)
        return f"{text} ({'; '.join(reasons)})" if reasons else text

    @property
    def verdict(self) -> str:
        """What verification on data amounts to, for all that is verified like this."""
        if not self.weak:
            return "verified on data"
        return f"weakly verified: {'; '.join(self.weak)}"


def next_rung(mode: Mode, rung: int, powers: Iterable[Power]) -> int | None:
    """The distribution to try after one on which too little shows, None if there is none. If
    terms drown in a sum, they do so on all inputs that are as dense."""
    ladder = LADDERS[mode]
    drowned = any(power.rough > (1 - SHARP) * power.written for power in powers)
    for number in range(rung + 1, len(ladder)):
        if mode is not Mode.FLOATS or not drowned or ladder[number].density < ladder[rung].density:
            return number
    return None


NOT_COMPARED = Agreement(())


def weaknesses(powers: Sequence[Mapping[str, Power]]) -> tuple[str, ...]:
    """Of every output that is sharp in no case, what is wrong with it; `powers` of the cases,
    by name of the output."""
    found = []
    for name in sorted({name for case in powers for name in case}):
        own = [case[name] for case in powers if name in case and case[name].written]
        if own and max(power.share for power in own) < SHARP:
            found.append(f"{name} {_reason(own)}")
    return tuple(found)


def undefined_sizes(powers: Mapping[str, Sequence[Mapping[str, Power]]]) -> tuple[str, ...]:
    """Outputs of which nothing is promised at some sizes, on none of the inputs; `powers` of
    the cases of each size, by what it is called."""
    found = dict[str, str]()
    for size, cases in powers.items():
        for name in sorted({name for case in cases for name in case}):
            own = [case[name] for case in cases if name in case and case[name].written]
            if own and max(power.defined / power.written for power in own) < SHARP:
                found.setdefault(name, f"{name} is undefined, infinite or NaN with {size}")
    return tuple(found.values())


def _reason(powers: Sequence[Power]) -> str:
    best = max(powers, key=lambda power: power.share)
    seen = f"at best {100 * best.share:.0f} % of its elements"
    if max(power.defined / power.written for power in powers) < SHARP:
        return f"is undefined, infinite or NaN on the inputs tried ({seen} show a fault)"
    return f"is known so roughly that a wrong or missing term may not show (it shows in {seen})"
