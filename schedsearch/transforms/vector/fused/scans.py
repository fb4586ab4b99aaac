"""C of recurrences of first order whose factors vary, of integers, and of minima and maxima.

An iteration makes `a + p * y` of a result `y`, two in a row the same with another `a` and `p`:
`(a2 + p2 * a1) + (p2 * p1) * y`. So each lane joins its pair with that of one lane below, then with
that of two below, and so on (Blelloch, "Prefix sums and their applications", 1990). Of minima and
maxima it is `max(a, y + p)`, and `max(max(a2, a1 + p2), y + (p2 + p1))`.

Registers with a factor above 1 are computed lane by lane, as in `recurring.py`: products may be
infinite, or of numbers whose differences are small, where no result is. So are integers that may
overflow. Sums and products of integers are computed modulo `2^32`, so that they are right wherever
the results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.transforms.vector.fused.extremes import larger, smaller
from schedsearch.transforms.vector.fused.masks import some_lane
from schedsearch.transforms.vector.fused.running_extremes import Extreme
from schedsearch.transforms.vector.fused.snippets import Snippet, function
from schedsearch.transforms.vector.registers import set_name

Factors = Literal["none", "same", "own"]
"""No factor (1, or 0 of an extreme), one for all lanes, or one for each."""

LARGEST_WHOLE = 1 << 22
"""Whole numbers of which as many as there are lanes are added without overflow."""


def scan(
    kind: str,
    lanes: int,
    extreme: Extreme,
    factors: Factors,
    opens: bool = False,
    beyond: bool = False,
) -> Snippet:
    """`c = r[l] = a[l] + b[l] * c`, or `max(a[l], c + b[l])`, in every lane, one after the other.
    If it `opens`, it is `a[l]` alone of an extreme, where `o[l]` is 0. Where `c + b` may be
    `beyond` whole numbers, the last one is taken instead: it is not the extreme.
    """
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    params = {"none": [], "same": [f"{element} b"], "own": [f"{vec} b"]}[factors]
    params += [f"{vec} o"] if opens else []
    needed = [some_lane(kind, lanes)]
    if extreme:
        needed.append(_either(extreme)(kind, lanes))
        body = [
            *_bits(kind, lanes),
            *_guard_of_sums(kind, lanes, extreme, factors, opens, beyond),
            *_extremes(kind, lanes, extreme, factors, opens),
            *_ended(kind, lanes, extreme, factors, opens),
        ]
    else:
        body = [*_guard_of_products(kind, lanes, factors), *_sums(kind, lanes, factors)]
    name = f"{vec}_{extreme or 'sum'}_scan_{factors}{'_open' * opens}{'_beyond' * beyond}"
    arguments = ", ".join([f"{vec} a", *params, f"{element} *c"])
    title, text = function(name, vec, arguments, "\n    ".join(body))
    return title, "\n".join([*(helper for _, helper in needed), text])


def below(vec: str, lanes: int, by: int, of: str = "a", fill: str = "") -> str:
    """What is so many lanes below each; 0 where none is, or what `fill` has there."""
    first = 0 if fill else lanes - by
    order = [lane + (first if lane < by else lanes - by) for lane in range(lanes)]
    return f"__builtin_shufflevector({fill or f'({vec}){{0}}'}, {of}, {', '.join(map(str, order))})"


def turns(lanes: int) -> list[int]:
    return [1 << turn for turn in range(lanes.bit_length() - 1)]


def _sums(kind: str, lanes: int, factors: Factors) -> Iterator[str]:
    """Of integers modulo a power of 2."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind]
    number = "unsigned" if kind in INTEGERS else element.c
    yield f"typedef {number} number __attribute__((vector_size({lanes * element.bits // 8})));"
    yield "number s = (number)a;"
    yield f"const {number} before = ({number})*c;"
    if factors == "own":
        yield f"number p = (number)b, one = (number){{0}} + ({number})1;"
    elif factors == "same":
        yield "number p;"
        yield f"p[0] = ({number})b;"
        yield f"for (int l = 1; l < {lanes}; l++) p[l] = p[l - 1] * ({number})b;"
    for by in turns(lanes):
        lower = below("number", lanes, by, "s")
        if factors == "none":
            yield f"s += {lower};"
        elif factors == "same":
            yield f"s += p[{by - 1}] * {lower};"
        else:
            yield f"s += p * {lower};"
            yield f"p *= {below('number', lanes, by, 'p', 'one')};"
    last = lanes - 1
    product = "before" if factors == "none" else f"p[{last}] * before"
    yield f"*c = ({element.c})(s[{last}] + {product});"
    yield f"return ({vec})(s + {'before' if factors == 'none' else 'p * before'});"


def _either(extreme: Extreme) -> Callable[[str, int], Snippet]:
    return smaller if extreme == "min" else larger


def _extremes(
    kind: str, lanes: int, extreme: Extreme, factors: Factors, opens: bool
) -> Iterator[str]:
    vec, (call, _) = set_name(kind, lanes), _either(extreme)(kind, lanes)
    if opens:
        yield "bits open = (bits)(o != 0), all = ~(bits){0};"
    if factors == "own":
        yield f"{vec} p = b;"
    elif factors == "same":
        yield f"const {vec} p = ({vec}){{{', '.join(str(lane + 1) for lane in range(lanes))}}} * b;"
    for by in turns(lanes):
        lower = below(vec, lanes, by, "a", "a")
        if factors == "none":
            yield f"a = {_joined(call, vec, lower, opens)};"
        else:  # lanes without one so far below join with themselves, plus 0
            which = [lane if factors == "own" else by - 1 for lane in range(lanes)]
            order = [lane if lane < by else lanes + which[lane] for lane in range(lanes)]
            more = f"__builtin_shufflevector(({vec}){{0}}, p, {', '.join(map(str, order))})"
            yield f"a = {_joined(call, vec, f'{lower} + {more}', opens)};"
        if factors == "own":
            yield f"p += {below(vec, lanes, by, 'p')};"
        if opens:
            yield f"open &= {below('bits', lanes, by, 'open', 'all')};"


def _joined(call: str, vec: str, other: str, opens: bool) -> str:
    """The extreme of `a` and another register, in lanes that are open."""
    if not opens:
        return f"{call}(a, {other})"
    return f"({vec})(((bits){call}(a, {other}) & open) | ((bits)a & ~open))"


def _ended(kind: str, lanes: int, extreme: Extreme, factors: Factors, opens: bool) -> Iterator[str]:
    """The result in all lanes, and in the last one."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    call, last = _either(extreme)(kind, lanes)[0], lanes - 1
    given = f"({vec}){{0}} + *c" if factors == "none" else "p + *c"
    yield f"const {vec} r = {_joined(call, vec, given, opens)};"
    yield f"const {element} t = {'' if factors == 'none' else f'p[{last}] + '}*c;"
    yield f"*c = {_one(extreme, f'a[{last}]', f'open[{last}]' if opens else '')};"
    yield "return r;"


def _one(extreme: Extreme, a: str, open_: str) -> str:
    """The extreme of two scalars, `t` the other one."""
    value = f"{a} {'<' if extreme == 'min' else '>'} t ? {a} : t"
    return f"{open_} ? ({value}) : {a}" if open_ else value


def _guard_of_products(kind: str, lanes: int, factors: Factors) -> Iterator[str]:
    if factors != "own" or kind in INTEGERS:
        return
    one = "1.0f" if kind == "f32" else "1.0"
    yield from _bits(kind, lanes)
    in_turn = "r[l] = *c = a[l] + b[l] * *c;"
    yield from _in_turn(kind, lanes, f"(bits)(b > {one}) | (bits)(b < -{one})", in_turn)


def _guard_of_sums(
    kind: str, lanes: int, extreme: Extreme, factors: Factors, opens: bool, beyond: bool
) -> Iterator[str]:
    if factors == "none" or kind not in INTEGERS:
        return
    own = factors == "own"
    far = " | ".join(_far(each, "(bits)({})") for each in ("a", "b")[: 1 + own])
    scalars = " || ".join(_far(each, "{}").replace("|", "||") for each in ("*c", "b")[: 2 - own])
    factor = "b[l]" if own else "b"
    if opens:
        factor += " * (o[l] != 0)"
    one = _one(extreme, "a[l]", "o[l]" if opens else "")
    total = f"const int t = *c + {factor};"
    if beyond:
        end, side = ("-2147483647 - 1", "<") if extreme == "max" else ("2147483647", ">")
        total = f"const long long u = (long long)*c + {factor};"
        total += f" const int t = u {side} {end} ? {end} : (int)u;"
    in_turn = f"{total} r[l] = *c = {one};"
    yield from _in_turn(kind, lanes, far, in_turn, f"{scalars} || ")


def _far(name: str, test: str) -> str:
    """Whether sums with it may overflow."""
    sides = (f"{name} > {LARGEST_WHOLE}", f"{name} < -{LARGEST_WHOLE}")
    return " | ".join(map(test.format, sides))


def _bits(kind: str, lanes: int) -> Iterator[str]:
    integer = "int" if ELEMENT_TYPES[kind].bits == 32 else "long long"
    size = lanes * ELEMENT_TYPES[kind].bits // 8
    yield f"typedef {integer} bits __attribute__((vector_size({size})));"


def _in_turn(kind: str, lanes: int, far: str, one: str, scalars: str = "") -> Iterator[str]:
    vec, some = set_name(kind, lanes), some_lane(kind, lanes)[0]
    yield f"const bits far = {far};"
    yield f"if ({scalars}{some}(({vec})far)) {{"
    yield f"    {vec} r;"
    yield f"    for (int l = 0; l < {lanes}; l++) {{ {one} }}"
    yield "    return r;"
    yield "}"
