"""Inputs of a verification case, and how much they tell.

The evaluation gives each element of each output an interval (`enclosure.py`): one number where
nothing rounds. Inputs decide how much that tells. So each mode has a ladder of distributions, and a
case takes the first on which enough of its outputs are *sharp*: not zero, and known so well that a
term more or less of the sum would show.

*Integers*: small ones, of which sums are exact. Where sums are so long that they are not, most
inputs are zero, except near the ends of each dimension, where tails are.

*Floats*: of both signs, else away from zero, larger ones (so that conversions to integers do not
always give 0), or with a diagonal that outweighs the rest of its row (solves stay stable).

*Small* and *large* floats: where the scale of inputs matters, as it does to a sigmoid, to a
constant that is added, and to a conversion to integers. Of both signs, else positive, as logarithms
and roots need them.

*Positive* floats: products of many stay near 1, and nothing cancels.

*Wide* numbers: integers, and floats that may become integers, of so large a range that they wrap
and are truncated, as far as no conversion and no sum of i32 overflows. C as written leaves that
undefined; kernels are built to wrap (`core/build.py`).

*One array* of wide numbers, the others -1, 0 and 1: of arrays that are all as wide, products
overflow long before their factors have more than 16 bits. Once most of the others are 0, so that
they have more than the 24 of an f32.

*Beyond* constants: floats of up to twice the largest number that some are compared with.

*Bytes*: integers of the whole range of eight bits, beside floats that are small enough for results
of both.

*Mixed* numbers: each array has a distribution of its own, so that terms show that drown in large
terms, or in the roundings of other arrays; integers with a small rest cancel except for that rest.

*Specials*: floats of which some are NaN, infinite, denormal, or a zero of either sign: where the
floating-point contract covers those.

*NaN*: floats of which some are NaN, there, too. Which of its terms a minimum or maximum takes
beside a NaN does not show where one of them is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from schedsearch.analysis.accesses import read_buffers, writes_all, written_buffers
from schedsearch.analysis.inline import inline_calls
from schedsearch.analysis.reduction import reduction
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.evaluate.oracle.enclosure import expression_kind

SHARP = 0.4
"""Share of the elements of an output that have to be sharp; many are zero by right (`relu`)."""

UNCLEAR = 0.1
"""Share of the elements of an output in which a missing term may drown, or nothing is promised."""


class Mode(StrEnum):
    INTEGERS = "integers"
    FLOATS = "floats"
    SMALL = "small floats"
    LARGE = "large floats"
    POSITIVE = "positive floats"
    WIDE = "wide numbers"
    ONE_ARRAY = "one array of wide numbers"
    BEYOND = "floats beyond constants"
    BYTES = "whole bytes"
    MIXED = "mixed numbers"
    SPECIALS = "special floats"
    NAN = "floats and NaN"
    RISING = "rising floats"
    FALLING = "falling floats"


class Fill(StrEnum):
    POISON = "poison"
    INTEGERS = "integers"
    FLOATS = "floats"
    DOMINANT = "dominant"
    NEAR = "near integers"
    SPECIALS = "specials"
    NAN = "NaN"
    RISING = "rising"


@dataclass(frozen=True)
class Rung:
    """A distribution of floats, uniform in `[lo, hi]`; `density` is the share of elements that
    are not 0 (of specials: that are special)."""

    fill: Fill
    lo: float
    hi: float
    density: float = 1.0

    def times(self, scale: float) -> Rung:
        return replace(self, lo=self.lo * scale, hi=self.hi * scale)

    @property
    def steady(self) -> bool:
        """Whether products of many, and solves, neither grow nor vanish."""
        return self.fill is Fill.DOMINANT or (self.lo, self.hi) == (0.5, 1.5)

    def __str__(self) -> str:
        sparse = self.density < 1 and self.fill not in (Fill.SPECIALS, Fill.NAN)
        share = f", {1 / self.density:.0f} times as many zeros" if sparse else ""
        return f"{self.fill.value} from {self.lo:g} to {self.hi:g}{share}"


def _integers(lo: float, hi: float, density: float = 1.0) -> Rung:
    return Rung(Fill.INTEGERS, lo, hi, density)


LADDERS = {
    Mode.INTEGERS: (
        *(_integers(-r, r) for r in (8, 4, 2, 1)),
        _integers(1, 8),
        *(_integers(-1, 1, 2.0**-p) for p in (3, 6, 9, 12)),
        _integers(20, 60),
    ),
    Mode.FLOATS: (
        Rung(Fill.FLOATS, -1.0, 1.0),
        Rung(Fill.FLOATS, -8.0, 8.0),
        Rung(Fill.FLOATS, 0.5, 1.5),
        Rung(Fill.DOMINANT, -1.0, 1.0),
        Rung(Fill.FLOATS, -100.0, 100.0),
        Rung(Fill.FLOATS, 16.0, 64.0),
        Rung(Fill.FLOATS, -64.0, -16.0),
        *(Rung(Fill.FLOATS, -1.0, 1.0, 2.0**-p) for p in (4, 8, 12, 13)),
    ),
    Mode.SMALL: (Rung(Fill.FLOATS, -1e-3, 1e-3), Rung(Fill.FLOATS, 1e-4, 1e-3)),
    Mode.LARGE: (Rung(Fill.FLOATS, -100.0, 100.0), Rung(Fill.FLOATS, 2.0, 100.0)),
    Mode.POSITIVE: (Rung(Fill.FLOATS, 0.5, 1.5),),
    Mode.WIDE: tuple(Rung(Fill.FLOATS, -(2.0**p), 2.0**p) for p in (30, 23, 17, 14, 10, 7)),
    Mode.ONE_ARRAY: (
        *(Rung(Fill.FLOATS, -(2.0**p), 2.0**p, 2.0**-13) for p in (30, 28, 26, 25)),
        *(Rung(Fill.FLOATS, -(2.0**p), 2.0**p) for p in (30, 27, 25, 22, 19, 16, 12)),
    ),
    Mode.BEYOND: (Rung(Fill.FLOATS, -1.0, 1.0), Rung(Fill.FLOATS, 0.25, 1.0)),
    Mode.BYTES: tuple(Rung(Fill.FLOATS, -(2.0**-p), 2.0**-p) for p in (0, 4, 8, 12)),
    Mode.MIXED: (
        _integers(-2, 2),
        Rung(Fill.FLOATS, -(2.0**-4), 2.0**-4),
        _integers(-4, 4),
        Rung(Fill.NEAR, -4.0, 4.0),
        Rung(Fill.FLOATS, -8.0, 8.0),
        Rung(Fill.FLOATS, 0.5, 1.5),
    ),
    Mode.SPECIALS: (Rung(Fill.SPECIALS, -8.0, 8.0, 1 / 32),),
    Mode.RISING: (Rung(Fill.RISING, -1.0, 1.0),),
    Mode.FALLING: (Rung(Fill.RISING, 1.0, -1.0),),
    Mode.NAN: tuple(Rung(Fill.NAN, -8.0, 8.0, 2.0**-p) for p in (5, 10, 15)),
}
_STEP = 2  # between arrays, on the ladder of mixed numbers
FIRST_DENSE = 4  # of the ladder of one array of wide numbers


@dataclass(frozen=True)
class Data:
    """One buffer of a case: how it is filled, and whether it is written, and certainly `whole`."""

    rung: Rung
    written: bool
    whole: bool = False


@dataclass(frozen=True)
class Oracle:
    """The inputs of one case; `data` by argument name."""

    mode: Mode
    rung: Rung
    data: tuple[tuple[str, Data], ...]

    def __str__(self) -> str:
        usual = self.rung == LADDERS[self.mode][0]
        more = {Mode.MIXED: f"{self.mode.value}, first ", Mode.ONE_ARRAY: f"{self.mode.value}: "}
        return self.mode.value if usual else f"{more.get(self.mode, '')}{self.rung}"


def oracle(proc: q.Proc, mode: Mode, rung: Rung, array: int = 0) -> Oracle:
    """Inputs of `proc` (not inlined) of one distribution; `array`: which one is wide, if one is."""
    proc = inline_calls(proc)
    reads, written = read_buffers(proc.body), written_buffers(proc.body)
    arrays = [arg for arg in proc.args if arg.type not in q.CONTROL_TYPES]
    data = []
    for position, arg in enumerate(arrays):
        own = of_type(arg.type, mode, _of_array(position, mode, rung, array), has_floats(proc))
        if arg.var not in reads and arg.var in written:
            own = Rung(Fill.POISON, 0.0, 0.0)
        whole = own.fill is Fill.POISON and arg.type not in INTEGERS and writes_all(proc, arg)
        data.append((arg.var.name, Data(own, arg.var in written, whole)))
    return Oracle(mode, rung, tuple(data))


def _of_array(position: int, mode: Mode, rung: Rung, array: int) -> Rung:
    if mode is Mode.ONE_ARRAY:
        return replace(rung, density=1.0) if position == array else _integers(-1, 1, rung.density)
    if mode is not Mode.MIXED:
        return rung
    ladder = LADDERS[mode]
    return ladder[(ladder.index(rung) + _STEP * position) % len(ladder)]


_WIDE = (Mode.WIDE, Mode.ONE_ARRAY)


def of_type(kind: str, mode: Mode, rung: Rung, converts: bool) -> Rung:
    """Integers wrap, so those of a procedure without floats have their whole range in the
    modes of floats; i32 does not, because its overflow is undefined in C as written."""
    if kind not in INTEGERS:
        return rung
    least, most = INTEGERS[kind]
    if mode is Mode.BYTES:
        return Rung(Fill.INTEGERS, max(-256, least), min(255, most))
    if mode not in (Mode.INTEGERS, *_WIDE) and kind != "i32" and not converts:
        return Rung(Fill.INTEGERS, least, most)
    own = mode in _WIDE or rung.fill in (Fill.INTEGERS, Fill.NEAR)
    lo, hi = (rung.lo, rung.hi) if own else (-8.0, 8.0)
    return Rung(Fill.INTEGERS, max(lo, least), min(hi, most), rung.density)


def has_floats(proc: q.Proc) -> bool:
    """Whether floats take part: what overflows when converted to an integer is undefined."""
    kinds = {stmt.type for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)}
    kinds |= {arg.type for arg in proc.args} - set(q.CONTROL_TYPES)
    return not kinds <= INTEGERS.keys()


def has_extremes(proc: q.Proc) -> bool:
    """Whether `proc` (inlined) takes minima or maxima of floats over loops."""
    found = ((stmt, reduction(stmt)) for stmt in q.walk(proc.body))
    return any(
        extreme.operator != "+" and expression_kind(extreme.term, stmt.type) not in INTEGERS
        for stmt, extreme in found
        if extreme and isinstance(stmt, q.Assign | q.Reduce)
    )


def has_integers(proc: q.Proc) -> bool:
    """Whether integers take part, which may wrap, or numbers are converted to some."""
    kinds = {stmt.type for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)}
    kinds |= {arg.type for arg in proc.args}
    return not kinds.isdisjoint(INTEGERS)


def has_unsigned(proc: q.Proc) -> bool:
    """Whether floats of `proc` (inlined) become unsigned integers, as negative ones may not."""
    return any(
        isinstance(stmt, q.Assign | q.Reduce)
        and INTEGERS.get(stmt.type, (-1, 0))[0] == 0
        and expression_kind(stmt.rhs, stmt.type) not in INTEGERS
        for stmt in q.walk(proc.body)
    )


def wide_arrays(proc: q.Proc) -> list[int]:
    """The arrays of integers of more than a byte that `proc` (inlined) reads, by their position
    among all arrays, if it reads others."""
    read = read_buffers(proc.body)
    arrays = [arg for arg in proc.args if arg.type not in q.CONTROL_TYPES]
    if sum(arg.var in read for arg in arrays) < 2:
        return []
    wide = {kind for kind, (_, most) in INTEGERS.items() if most > 255}
    return [at for at, arg in enumerate(arrays) if arg.var in read and arg.type in wide]


_FAR = 50.0
"""Constants that large floats are well beyond."""


_LARGEST = {"f16": 2.0**15, "f32": 2.0**127, "f64": 2.0**1022}
"""Inputs are finite: what `-ffast-math` makes of infinities is not defined."""


def far_beyond(proc: q.Proc) -> float:
    """Twice the largest number that floats of `proc` (inlined) may have to be compared with a
    constant, `x < 300.0` or `0.01 * x < 3.0`; 0 if large floats are beyond all."""
    most = 0.0
    for stmt in q.walk(proc.body):
        for node in q.stmt_parts(stmt):
            known = FUNCTIONS.get(node.name) if isinstance(node, q.Extern) else None
            if known and (known.chooses or known.extreme) and isinstance(node, q.Extern):
                most = max(most, _constants_beyond(node))
    kinds = {arg.type for arg in proc.args} & _LARGEST.keys()
    largest = min((_LARGEST[kind] for kind in kinds), default=0.0)
    return min(2 * most, largest) if _FAR < most < largest else 0.0


def _constants_beyond(node: q.Extern) -> float:
    parts = [part for arg in node.args[:2] for part in q.walk_expr(arg)]
    if any(isinstance(part, q.Read) and part.type in INTEGERS for part in parts):
        return 0.0
    numbers = [abs(float(p.value)) for p in parts if isinstance(p, q.Const) and p.value]
    return max(numbers) / min(1.0, *numbers) if numbers else 0.0


def scale_matters(proc: q.Proc) -> bool:
    """Whether `proc` (inlined) has a scale of its own: other inputs then show other faults."""
    return any(
        _has_scale(stmt) for stmt in q.walk(proc.body) if isinstance(stmt, q.Assign | q.Reduce)
    )


def _has_scale(stmt: q.Assign | q.Reduce) -> bool:
    kind = expression_kind(stmt.rhs, stmt.type)
    if kind in INTEGERS:
        return False
    addends: list[object] = [stmt.rhs]
    for node in q.walk_expr(stmt.rhs):
        if isinstance(node, q.Extern):
            if node.name in FUNCTIONS and FUNCTIONS[node.name].scale:
                return True
            addends += node.args
        elif isinstance(node, q.BinOp) and node.op in "+-":
            addends += (node.lhs, node.rhs)
    constant = any(isinstance(each, q.Const) and each.value != 0 for each in addends)
    return constant or stmt.type in INTEGERS
