"""C of linear recurrences over lanes.

In a register each lane adds what is one lane below, `b` times, then two, `b * b` times, and so on:
`log2(lanes)` steps (Hillis and Steele, CACM 1986). Then all of them add the last result before the
register times powers of `b`. One register waits for the one before it with one multiply-add.

Of second order, `1 / (1 - b z - d z^2)` is `(1 + b z - d z^2) / (1 - f z^2 - g z^4)`, with
`f = b * b + 2 d` and `g = -d * d`: each step looks twice as far as the one before, too, and at two
lanes.

Factors that vary, integers, minima and maxima are in `scans.py`.

The powers of a `b` above 1 may be infinite where no result is, and differences of large multiples
of results round more than they do. So the lanes are computed one after the other where the last
power is above `LARGEST_POWER`, if factors are known in the call only or above 1; and where results
of second order grow, be it with the square of their number (`b = 2`, `d = -1`).

The powers of a small `b` may be 0 where no result is: `1e30f * 1e-3f` becomes `1e-18f` within a
register. So are the lanes where the last power is no normal number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.transforms.vector.fused.in_turn import in_turn, taken_in_turn
from schedsearch.transforms.vector.fused.linear import LARGEST_POWER, ONE, ZERO, vanishing
from schedsearch.transforms.vector.fused.model import LANE
from schedsearch.transforms.vector.fused.recurrences import Recurrence
from schedsearch.transforms.vector.fused.scans import Factors, Scan, below, turns
from schedsearch.transforms.vector.fused.snippets import Snippet, after, function
from schedsearch.transforms.vector.fused.states import State
from schedsearch.transforms.vector.fused.values import Value, Values
from schedsearch.transforms.vector.registers import set_name


def first_values(found: Recurrence, values: Values) -> Iterator[str]:
    """The factors `b` and `d`, the result `c` before the first one, and `e` before that."""
    stmt, before, kind = found.stmt, found.before, ELEMENT_TYPES[found.stmt.type].c
    first = before.idx
    if not found.carried:
        first = (*first[:-1], first[-1] - q.as_affine(LANE))
    for letter, factor in scalars_of(found, stmt.type).items():
        yield f"const {kind} {letter} = {values.expr(factor, stmt.type)[0]};"
    yield f"{kind} c = *({values.address(before.buf, first)});"
    if found.second is not None:
        first = (*first[:-1], first[-1] - 1)
        yield f"const {kind} d = {values.expr(found.second, stmt.type)[0]};"
        yield f"{kind} e = *({values.address(before.buf, first)});"


def results(found: Recurrence, values: Values) -> str:
    """Those of all lanes of a register."""
    kind, lanes = found.stmt.type, values.fused.lanes
    zero: Value = (f"({values.vec(kind)}){{0}}", kind, True)
    free = values.spread(values.expr(found.free, kind)) if found.free else zero
    if found.second is None:
        args = ", ".join([free[0], *factor_of(found, kind, values), "&c"])
        return f"{values.need(first_order(found, kind, lanes), kind)}({args})"
    helper = values.need(second_order(kind, lanes, found.known), kind)
    return f"{helper}({free[0]}, b, d, &c, &e)"


def carried_register(found: Recurrence, values: Values, early: Sequence[str]) -> Iterator[str]:
    """A carried scalar as a register. Statements before its own (`early`) get the lanes moved by
    one."""
    kind, register = found.stmt.type, values.read(found.before)[0]
    all_lanes, vec = register, values.vec(kind)
    if not found.shifted:
        yield from early
        yield f"const {vec} {register} = {results(found, values)};"
    else:
        all_lanes, shift = "all", values.need(after(kind, values.fused.lanes), kind)
        yield f"const {ELEMENT_TYPES[kind].c} before = c;"
        yield f"const {vec} all = {results(found, values)};"
        yield f"{vec} {register} = {shift}(all, before);"
        yield from early
        yield f"{register} = all;"
    if values.masked:
        yield f"c = {all_lanes}[{values.count} - 1];"


def first_order(law: Recurrence | State, kind: str, lanes: int) -> Snippet:
    """The function of all lanes of a register of a recurrence of first order."""
    if law.scans:
        more = (law.open is not None, law.beyond, law.limit is not None, law.scale is not None)
        return Scan(kind, lanes, law.extreme, _factors(law, kind), *more).function()
    return linear(kind, lanes, law.known)


def _factors(law: Recurrence | State, kind: str) -> Factors:
    """Which factors the function is given. Sums of floats have one, as they always had."""
    plain = law.factor is None or law.factor == (ZERO if law.extreme else ONE)
    if plain and (law.extreme or kind in INTEGERS):
        return "none"
    return "own" if law.varies else "same"


def scalars_of(law: Recurrence | State, kind: str) -> dict[str, q.Expr]:
    """The factor and the scale, if they are scalars that the function is given, by letters."""
    factor = law.factor if _factors(law, kind) == "same" else None
    return {letter: each for letter, each in (("b", factor), ("k", law.scale)) if each is not None}


def factor_of(law: Recurrence | State, kind: str, values: Values, name: str = "") -> list[str]:
    """The arguments of a function that say what the value before counts: the factor, if any, where
    it counts at all, the limit of it, and its scale. Scalars have a letter and a `name`."""
    given = [f"{letter}{name}" for letter in scalars_of(law, kind)]
    own = law.factor if _factors(law, kind) == "own" else None
    registers = [each for each in (own, law.open, law.limit) if each is not None]
    return given + [values.spread(values.expr(each, kind))[0] for each in registers]


def linear(kind: str, lanes: int, known: bool) -> Snippet:
    """`c = r[l] = a[l] + b * c` in every lane, one after the other. `known`: `b` is 1 at most, and
    its powers are normal numbers, or 0."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    turn = in_turn("recurrence", kind, lanes, "r[l] = c = a[l] + b * c;", "a", "b")
    last = f"p[{lanes - 1}]"
    far = f"!({last} <= {LARGEST_POWER} && {last} >= -{LARGEST_POWER})"
    far += f" || (b != 0 && {vanishing(last, kind)})"
    steps = []
    for by in turns(lanes):
        steps.append(f"a += p[{by - 1}] * {below(vec, lanes, by)};")
    body = [
        f"{vec} p, r;",
        "p[0] = b;",
        f"for (int l = 1; l < {lanes}; l++) p[l] = p[l - 1] * b;",
        *([] if known else taken_in_turn(far, turn, "abc")),
        *steps,
        "r = a + p * *c;",
        f"*c = a[{lanes - 1}] + {last} * *c;",
        "return r;",
    ]
    params = f"{vec} a, {element} b, {element} *c"
    name = f"{vec}_recurrence{'' if known else '_any'}"
    title, text = function(name, vec, params, "\n    ".join(body))
    return title, text if known else f"{turn[1]}\n{text}"


def second_order(kind: str, lanes: int, known: bool) -> Snippet:
    """`r[l] = a[l] + b * c + d * e` in every lane, one after the other, `c` being the result before
    it and `e` the one before that. `known`: their influence neither grows, nor
    vanishes within a register."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    one = f"const {element} t = a[l] + d * e + b * c; e = c, r[l] = c = t;"
    turn = in_turn("second_order", kind, lanes, one, "a", "bd", "ce")
    grows = "!(d >= -1 && b <= 1 - d && b >= d - 1 && (d > -1 || b * b < 4))"
    lost = [vanishing(f"{each}[{lane}]", kind) for each in "qp" for lane in (lanes - 1, lanes - 2)]
    apart = f"b != 0 && b * b < 0x1p-20f * (d < 0 ? -d : d) && {lost[0]}"  # lags of odd numbers
    vanishes = f"d != 0 ? ({lost[0]} && {lost[1]}) || ({apart}) : b != 0 && {lost[2]}"
    last = [f"(a[{lane}] + q[{lane}] * *e) + p[{lane}] * *c" for lane in (lanes - 1, lanes - 2)]
    body = [
        f"{vec} p, q, r;",
        "p[0] = b, p[1] = b * b + d, q[0] = d, q[1] = b * d;",
        f"for (int l = 2; l < {lanes}; l++)",
        "    p[l] = b * p[l - 1] + d * p[l - 2], q[l] = b * q[l - 1] + d * q[l - 2];",
        *([] if known else taken_in_turn(f"{grows} || ({vanishes})", turn, "abdce")),
        f"{element} f = b, g = d, f2;",
        *_doubling(vec, lanes),
        "r = a + q * *e + p * *c;",
        f"const {element} t = {last[0]};",
        f"*e = {last[1]};",
        "*c = t;",
        "return r;",
    ]
    params = f"{vec} a, {element} b, {element} d, {element} *c, {element} *e"
    name = f"{vec}_second_order{'' if known else '_any'}"
    title, text = function(name, vec, params, "\n    ".join(body))
    return title, text if known else f"{turn[1]}\n{text}"


def _doubling(vec: str, lanes: int) -> Iterator[str]:
    for by in turns(lanes):
        further = f" - g * {below(vec, lanes, 2 * by)}" if 2 * by < lanes else ""
        yield f"a += f * {below(vec, lanes, by)}{further};"
        if 2 * by < lanes:
            yield "f2 = f * f + 2 * g, g = -g * g, f = f2;"
