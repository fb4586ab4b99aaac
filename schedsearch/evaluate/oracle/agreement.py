"""Whether the compiled baseline agrees with the procedure, and how much verification can tell.

The admissible results are evaluated from the query AST (`enclosure.py`), for the baseline as for
every candidate. So a miscompiled baseline is found, and does not affect the verdict on candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from schedsearch.core.errors import DisagreementError
from schedsearch.evaluate.oracle.ladders import LADDERS, SHARP, UNCLEAR, Mode


@dataclass(frozen=True)
class Power:
    """One output in a case. Counts of elements: `written`; `defined` ones of these, for which a
    result is promised; `sharp` ones, for which a wrong one shows; `rough` ones, in which a term of
    a sum drowns in roundings."""

    written: int
    defined: int
    sharp: int
    rough: int = 0

    @property
    def share(self) -> float:
        """The share of sharp elements among those written; 1 if none is written. It is less than
        `SHARP` as long as more than `UNCLEAR` of them is rough or undefined, however sharp the rest
        is: those may be a part of their own."""
        if not self.written:
            return 1.0
        unclear = (self.written - self.defined + self.rough) / self.written
        return max(min(self.sharp / self.written, SHARP + UNCLEAR - unclear), 0.0)


@dataclass(frozen=True)
class Told:
    """The evaluation of a case: how much each output tells, by name; nanoseconds of a call of the
    baseline, None if that took no part; marks of the elements of small outputs (`unclear_parts`).
    """

    powers: Mapping[str, Power]
    call_ns: float | None = None
    unclear: Mapping[str, bytes] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Without the marks, which are stored with the intervals of outputs."""
        powers = {name: asdict(power) for name, power in self.powers.items()}
        return {"powers": powers, "call_ns": self.call_ns}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Told:
        powers = {name: Power(**power) for name, power in data["powers"].items()}
        return Told(powers, data["call_ns"])

    @property
    def share(self) -> float:
        """The least share of sharp elements among its outputs."""
        return min((power.share for power in self.powers.values()), default=1.0)


def next_rung(mode: Mode, rung: int, powers: Iterable[Power]) -> int | None:
    """The distribution to try after one on which too little shows, None if there is none. If
    terms drown in a sum, they do so on all inputs that are as dense; but `steady` ones help where
    results grow, or vanish, from one to the next. All mixed numbers are tried anyway."""
    if mode is Mode.MIXED:
        return None
    ladder = LADDERS[mode]
    drowned = any(power.rough > (1 - SHARP) * power.written for power in powers)
    for number in range(rung + 1, len(ladder)):
        fewer = ladder[number].density < ladder[rung].density
        if mode is not Mode.FLOATS or not drowned or fewer or ladder[number].steady:
            return number
    return None


_DROWNED, _SILENT = 1, 2  # marks of elements (enclose.c)
# Half of the outputs of a `relu` are 0: elements that are 0 in all cases may be chance, unless
# that is less likely than this.
_CHANCE = 0.01


def disagreement(name: str, difference: str) -> DisagreementError:
    """The compiled baseline does not lie within its evaluation."""
    return DisagreementError(
        f"{name} as written, compiled, disagrees with its evaluation: "
        f"{difference}.\nExo's code generator or the C compiler made something else of it. "
        "Nothing can be verified against it: write the procedure differently, or try another "
        "compiler (--cc)."
    )


def weaknesses(powers: Sequence[Mapping[str, Power]]) -> tuple[str, ...]:
    """For every output that is sharp in no case, the reason; `powers` of the cases, by name of the
    output."""
    found = []
    for name in sorted({name for case in powers for name in case}):
        own = [case[name] for case in powers if name in case and case[name].written]
        if own and max(power.share for power in own) < SHARP:
            found.append(f"{name} {_reason(own)}")
    return tuple(found)


def unclear_parts(cases: Sequence[Told]) -> tuple[str, ...]:
    """Outputs of which some elements are rough or undefined in all cases, each of the same size, or
    0 in so many that it is no chance."""
    found = []
    for name in sorted(set[str]().union(*(told.unclear for told in cases))):
        marks = np.bitwise_and.reduce(
            [np.frombuffer(told.unclear[name], np.uint8) for told in cases if name in told.unclear]
        )
        written = max(told.powers[name].written for told in cases)
        drowned, silent = marks & _DROWNED != 0, marks == _SILENT
        if drowned.any():
            found.append(
                f"{name} is known so roughly in {drowned.sum()} of {written} elements that a wrong "
                "or missing term may not show"
            )
        if silent.any() and written * 2.0 ** -len(cases) < _CHANCE:
            found.append(
                f"{name} is 0 in {silent.sum()} of {written} elements on all inputs tried: what is "
                "lost there does not show"
            )
    return tuple(found)


def undefined_sizes(powers: Mapping[str, Sequence[Mapping[str, Power]]]) -> tuple[str, ...]:
    """Outputs about which nothing is promised at some sizes, on none of the inputs; `powers` of the
    cases of each size, by the size's name."""
    found = dict[str, str]()
    for size, cases in powers.items():
        for name in sorted({name for case in cases for name in case}):
            own = [case[name] for case in cases if name in case and case[name].written]
            if own and max(power.defined / power.written for power in own) < SHARP:
                found.setdefault(name, f"{name} is undefined, infinite or NaN with {size}")
    return tuple(found.values())


def _reason(powers: Sequence[Power]) -> str:
    best = max(powers, key=lambda power: power.share)
    seen = f"at best {100 * best.sharp / best.written:.0f} % of its elements"
    if max(power.defined / power.written for power in powers) < 1 - UNCLEAR:
        return f"is undefined, infinite or NaN on the inputs tried ({seen} show a fault)"
    return f"is known so roughly that a wrong or missing term may not show (it shows in {seen})"
