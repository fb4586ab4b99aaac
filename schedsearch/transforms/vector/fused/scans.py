"""C of recurrences of first order whose factors vary, of integers, and of minima and maxima.

An iteration makes `a + p * y` of a result `y`, two in a row the same with another `a` and `p`:
`(a2 + p2 * a1) + (p2 * p1) * y`. So each lane joins its pair with that of one lane below, then with
that of two below, and so on (Blelloch, "Prefix sums and their applications", 1990). Of minima and
maxima it is `max(a, y + p)`, and `max(max(a2, a1 + p2), y + (p2 + p1))`. With limits it is
`min(max(y + p, a), h)`, and the limit of two is `min(max(h1 + p2, a2), h2)`.

Registers in which a product of factors is above `LARGEST_POWER` are computed lane by lane, as in
`recurring.py`: products may be infinite, or of numbers whose differences are small, where no result
is. So are those in which a product that no factor makes 0 is too small for a normal number, and
integers that may overflow. Sums and products of integers are computed modulo `2^32`, so
that they are right wherever the results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.transforms.vector.fused.extremes import larger, smaller
from schedsearch.transforms.vector.fused.in_turn import in_turn, taken_in_turn
from schedsearch.transforms.vector.fused.linear import (
    LARGEST_POWER,
    SMALLEST_POWER,
    smallest,
    vanishing,
)
from schedsearch.transforms.vector.fused.masks import some_lane
from schedsearch.transforms.vector.fused.running_extremes import Extreme
from schedsearch.transforms.vector.fused.snippets import INTEGER_OF, Snippet, bits, function
from schedsearch.transforms.vector.registers import set_name

Factors = Literal["none", "same", "own"]
"""No factor (1, or 0 of an extreme), one for all lanes, or one for each."""

LARGEST_WHOLE = 1 << 22
"""Whole numbers of which as many as there are lanes are added without overflow."""

OTHER: dict[Extreme, Extreme] = {"min": "max", "max": "min"}


@dataclass(frozen=True)
class Scan:
    """`c = r[l] = a[l] + b[l] * c`, or `max(a[l], c + b[l])`, in every lane, one after the other.
    If it `opens`, it is `a[l]` alone of an extreme, where `o[l]` is 0. Where `c + b` may be
    `beyond` whole numbers, the last one is taken instead: it is not the extreme. If it is
    `limited`, it is the other extreme of that and `h[l]`. If it is `scaled`, it is `k * c` for `c`.
    """

    kind: str
    lanes: int
    extreme: Extreme
    factors: Factors
    opens: bool = False
    beyond: bool = False
    limited: bool = False
    scaled: bool = False

    @property
    def vec(self) -> str:
        return set_name(self.kind, self.lanes)

    @property
    def name(self) -> str:
        name = f"{self.extreme or 'sum'}_scan_{self.factors}"
        name += "_open" * self.opens + "_beyond" * self.beyond + "_limited" * self.limited
        return name + "_scaled" * self.scaled

    @property
    def registers(self) -> str:
        return "a" + "b" * (self.factors == "own") + "o" * self.opens + "h" * self.limited

    @property
    def scalars(self) -> str:
        return "b" * (self.factors == "same") + "k" * self.scaled

    def call(self, extreme: Extreme) -> str:
        """The function of two registers."""
        return either(extreme)(self.kind, self.lanes)[0]

    def function(self) -> Snippet:
        element, shape = ELEMENT_TYPES[self.kind].c, (self.kind, self.lanes)
        needed = [some_lane(*shape)]
        if self.extreme:
            needed.append(either(self.extreme)(*shape))
            needed += [either(OTHER[self.extreme])(*shape)] if self.limited else []
            turn = _extremes_in_turn(self)
            body = [bits(*shape), *_powers(self)]
            body += [*_guard_of_sums(self, turn), *_extremes(self), *_ended(self)]
        else:
            turn = in_turn(self.name, *shape, "r[l] = c = a[l] + b[l] * c;", "ab")
            body = [*_sums(self, turn)]
        if self.guarded:
            needed.append(turn)
            needed += [] if self.extreme else [_vanished(self)]
        first, *more = (f"{self.vec} {each}" for each in self.registers)
        params = [first, *(f"{element} {each}" for each in self.scalars), *more, f"{element} *c"]
        name = f"{self.vec}_{self.name}"
        title, text = function(name, self.vec, ", ".join(params), "\n    ".join(body))
        return title, "\n".join([*(helper for _, helper in needed), text])

    @property
    def guarded(self) -> bool:
        """Whether there is a test for lanes that are to be computed in turn."""
        if self.extreme:
            return self.scaled or (self.factors != "none" and self.kind in INTEGERS)
        return self.factors == "own" and self.kind not in INTEGERS


def below(vec: str, lanes: int, by: int, of: str = "a", fill: str = "") -> str:
    """What is so many lanes below each; 0 where none is, or what `fill` has there."""
    first = 0 if fill else lanes - by
    order = [lane + (first if lane < by else lanes - by) for lane in range(lanes)]
    return f"__builtin_shufflevector({fill or f'({vec}){{0}}'}, {of}, {', '.join(map(str, order))})"


def turns(lanes: int) -> list[int]:
    return [1 << turn for turn in range(lanes.bit_length() - 1)]


def _sums(scan: Scan, turn: Snippet) -> Iterator[str]:
    """Of integers modulo a power of 2."""
    vec, lanes, element, own = scan.vec, scan.lanes, ELEMENT_TYPES[scan.kind], scan.factors == "own"
    number = "unsigned" if scan.kind in INTEGERS else element.c
    yield f"typedef {number} number __attribute__((vector_size({lanes * element.bits // 8})));"
    yield "number s = (number)a;"
    yield f"const {number} before = ({number})*c;"
    if own:
        yield f"number p = (number)b, one = (number){{0}} + ({number})1;"
    elif scan.factors == "same":
        yield "number p;"
        yield f"p[0] = ({number})b;"
        yield f"for (int l = 1; l < {lanes}; l++) p[l] = p[l - 1] * ({number})b;"
    if scan.guarded:
        yield bits(scan.kind, lanes)
        far = f"(bits)(p * p > {LARGEST_POWER**2}.0{'f' if scan.kind == 'f32' else ''})"
        yield f"bits far = {far};"
    for by in turns(lanes):
        lower = below("number", lanes, by, "s")
        if scan.factors == "none":
            yield f"s += {lower};"
        elif scan.factors == "same":
            yield f"s += p[{by - 1}] * {lower};"
        else:
            yield f"s += p * {lower};"
            yield f"p *= {below('number', lanes, by, 'p', 'one')};"
            if scan.guarded and 2 * by < lanes:
                yield f"far |= {far};"
    if scan.guarded:
        some = some_lane(scan.kind, lanes)[0]
        yield from _outside(scan)
        lost = f"{some}(({vec})(far | {far})) || {some}({_vanished(scan)[0]}(b))"
        yield from taken_in_turn(f"{some}(({vec})out) && ({lost})", turn, "abc")
    last = lanes - 1
    product = "before" if scan.factors == "none" else f"p[{last}] * before"
    yield f"*c = ({element.c})(s[{last}] + {product});"
    yield f"return ({vec})(s + {'before' if scan.factors == 'none' else 'p * before'});"


_STEPS = 12
"""A product that is no normal number is smaller than `2^_STEPS` times these in the end: in each of
four steps at most it becomes `LARGEST_POWER` times as large."""

_DIGITS = {"f32": 23, "f64": 52}
"""Bits below the exponent."""


def _outside(scan: Scan) -> Iterator[str]:
    """`out`: lanes with a product that is large, or small in the end, by its exponent."""
    natural = f"unsigned {INTEGER_OF[ELEMENT_TYPES[scan.kind].bits // 8]}"
    size = scan.lanes * ELEMENT_TYPES[scan.kind].bits // 8
    one = f"(({natural})1 << {_DIGITS[scan.kind] + 1})"  # there is no sign
    least = 1 + _STEPS
    span = LARGEST_POWER.bit_length() - 1 - SMALLEST_POWER[scan.kind] - _STEPS
    yield f"typedef {natural} naturals __attribute__((vector_size({size})));"
    yield "const naturals magnitude = (naturals)p << 1;"
    yield f"const bits out = far | (bits)(magnitude - {least} * {one} > {span} * {one});"


def _vanished(scan: Scan) -> Snippet:
    """Lanes in which a product of a sum of floats is no normal number, though no factor is 0. None
    if all factors are 0, or so large that as many as there are lanes make one."""
    vec, lanes, least = scan.vec, scan.lanes, smallest(scan.kind)
    most = -SMALLEST_POWER[scan.kind]
    root = smallest(scan.kind, most - most // lanes)
    vanished = f"(bits)(p < {least}) & (bits)(p > -{least}) & ~zero"
    body = [
        bits(scan.kind, lanes),
        f"bits zero = (bits)(b == 0), small = (bits)(b < {root}) & (bits)(b > -{root}) & ~zero;",
        f"if (!{some_lane(scan.kind, lanes)[0]}(({vec})small)) return ({vec})small;",
        f"{vec} p = b, one = ({vec}){{0}} + 1;",
        f"bits vanished = {vanished};",
    ]
    for by in turns(lanes):
        body.append(f"p *= {below(vec, lanes, by, 'p', 'one')};")
        body.append(f"zero |= {below('bits', lanes, by, 'zero')};")
        body.append(f"vanished |= {vanished};")
    body.append(f"return ({vec})vanished;")
    return function(f"{vec}_vanished", vec, f"{vec} b", "\n    ".join(body))


def either(extreme: Extreme) -> Callable[[str, int], Snippet]:
    return smaller if extreme == "min" else larger


def _powers(scan: Scan) -> Iterator[str]:
    """Those of the scale, and what factors add up to."""
    vec, lanes = scan.vec, scan.lanes
    if scan.scaled:
        yield f"{vec} w;"
        yield "w[0] = k;"
        yield f"for (int l = 1; l < {lanes}; l++) w[l] = w[l - 1] * k;"
    if scan.factors == "own":
        yield f"{vec} p = b;"
    elif scan.factors == "same" and scan.scaled:
        yield f"{vec} p;"
        yield "p[0] = b;"
        yield f"for (int l = 1; l < {lanes}; l++) p[l] = p[l - 1] * k + b;"
    elif scan.factors == "same":
        yield f"const {vec} p = ({vec}){{{', '.join(str(lane + 1) for lane in range(lanes))}}} * b;"


def _extremes(scan: Scan) -> Iterator[str]:
    vec, lanes, own = scan.vec, scan.lanes, scan.factors == "own"
    element = ELEMENT_TYPES[scan.kind].c
    if scan.opens:
        yield "bits open = (bits)(o != 0), all = ~(bits){0};"
    for by in turns(lanes):
        more = ""
        if scan.scaled:
            order = [lane if lane < by else lanes + by - 1 for lane in range(lanes)]
            ones = f"({vec}){{0}} + ({element})1"
            more = f" * __builtin_shufflevector({ones}, w, {', '.join(map(str, order))})"
        if scan.factors != "none":  # lanes without one so far below join with themselves, plus 0
            which = [lane if own else by - 1 for lane in range(lanes)]
            order = [lane if lane < by else lanes + which[lane] for lane in range(lanes)]
            more += f" + __builtin_shufflevector(({vec}){{0}}, p, {', '.join(map(str, order))})"
        if scan.limited:
            upper = f"{below(vec, lanes, by, 'h', 'h')}{more}"
            yield f"h = {_limited(scan, f'{scan.call(scan.extreme)}(a, {upper})')};"
        yield f"a = {_joined(scan, below(vec, lanes, by, 'a', 'a') + more)};"
        if own:
            yield f"p += {f'w[{by - 1}] * ' * scan.scaled}{below(vec, lanes, by, 'p')};"
        if scan.opens:
            yield f"open &= {below('bits', lanes, by, 'open', 'all')};"


def _limited(scan: Scan, value: str) -> str:
    return f"{scan.call(OTHER[scan.extreme])}(h, {value})"


def _joined(scan: Scan, other: str) -> str:
    """The extreme of `a` and another register, in lanes that are open."""
    value = f"{scan.call(scan.extreme)}(a, {other})"
    if not scan.opens:
        return value
    return f"({scan.vec})(((bits){value} & open) | ((bits)a & ~open))"


def _ended(scan: Scan) -> Iterator[str]:
    """The result in all lanes, and in the last one."""
    last, none = scan.lanes - 1, scan.factors == "none"
    before, end = "*c", "*c"
    if scan.scaled:
        before, end = "w * *c", f"w[{last}] * *c"
    elif none:
        before = f"({scan.vec}){{0}} + *c"
    if not none:
        before, end = f"p + {before}", f"p[{last}] + {end}"
    result = _joined(scan, before)
    yield f"const {scan.vec} r = {_limited(scan, result) if scan.limited else result};"
    yield f"{ELEMENT_TYPES[scan.kind].c} t = {end};"
    yield f"t = {_one(scan.extreme, f'a[{last}]', f'open[{last}]' if scan.opens else '')};"
    yield f"*c = {_one(OTHER[scan.extreme], f'h[{last}]') if scan.limited else 't'};"
    yield "return r;"


def _one(extreme: Extreme, a: str, open_: str = "") -> str:
    """The extreme of two scalars, `t` the other one."""
    value = f"{a} {'<' if extreme == 'min' else '>'} t ? {a} : t"
    return f"{open_} ? ({value}) : {a}" if open_ else value


def _guard_of_sums(scan: Scan, turn: Snippet) -> Iterator[str]:
    if not scan.guarded:
        return
    if scan.scaled:
        last = f"w[{scan.lanes - 1}]"
        far = f"!(k >= 0 && {last} <= {LARGEST_POWER})"
        far += "" if scan.kind in INTEGERS else f" || (k != 0 && {vanishing(last, scan.kind)})"
        yield from taken_in_turn(far, turn, f"{scan.registers}{scan.scalars}c")
        return
    own, some = scan.factors == "own", some_lane(scan.kind, scan.lanes)[0]
    sides = [may_overflow(f"(bits){each}", "|") for each in scan.registers.replace("o", "")]
    scalars = [may_overflow(each, "||") for each in ("*c", "b")[: 2 - own]]
    yield f"const bits far = {' | '.join(sides)};"
    condition = " || ".join([*scalars, f"{some}(({scan.vec})far)"])
    yield from taken_in_turn(condition, turn, f"{scan.registers}{scan.scalars}c")


def _extremes_in_turn(scan: Scan) -> Snippet:
    extreme, factor = scan.extreme, {"own": "b[l]", "same": "b", "none": "0"}[scan.factors]
    if scan.opens:
        factor += " * (o[l] != 0)"
    total = f"{ELEMENT_TYPES[scan.kind].c} t = {'k * ' * scan.scaled}c + {factor};"
    if scan.beyond:
        end, side = ("-2147483647 - 1", "<") if extreme == "max" else ("2147483647", ">")
        total = f"const long long u = (long long)c + {factor};"
        total += f" int t = u {side} {end} ? {end} : (int)u;"
    one = f"{total} t = {_one(extreme, 'a[l]', 'o[l]' if scan.opens else '')};"
    one += f" r[l] = c = {_one(OTHER[extreme], 'h[l]') if scan.limited else 't'};"
    return in_turn(scan.name, scan.kind, scan.lanes, one, scan.registers, scan.scalars)


def may_overflow(name: str, either: str) -> str:
    """Whether sums with it may overflow."""
    return f"{name} > {LARGEST_WHOLE} {either} {name} < -{LARGEST_WHOLE}"
