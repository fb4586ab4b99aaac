"""Alignments with affine gaps (Gotoh 1982), along a row:

```
E[j] = max(E[j - 1] - extend, H[j - 1] - begin)
H[j] = max(a[j], E[j])
```

Two states need each other, and yet it is one recurrence: as `H[j - 1]` is the larger one of
`a[j - 1]` and `E[j - 1]`, `E[j]` is `max(E[j - 1] - extend, max(a[j - 1], E[j - 1]) - begin)`. That
holds the state before twice, with two costs, of which the lower one decides. Loops may also be
written so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.reduction import smaller_or_larger
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES, INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused.in_turn import in_turn, taken_in_turn
from schedsearch.transforms.vector.fused.iterations import with_values
from schedsearch.transforms.vector.fused.masks import some_lane
from schedsearch.transforms.vector.fused.running_extremes import (
    Chosen,
    Extreme,
    by_extreme,
    in_place_of,
)
from schedsearch.transforms.vector.fused.scans import below, either, may_overflow, turns
from schedsearch.transforms.vector.fused.snippets import Snippet, after, bits, function
from schedsearch.transforms.vector.registers import set_name

_MADE = -4
"""The variable of what an iteration makes of a state; what it was before is another value."""


@dataclass(frozen=True)
class Gap:
    """An iteration makes the `extreme` of `read + extend` and `extreme(free, read) + begin` of a
    state. None is 0. If there is an `other` one, that is the extreme of `free` and what the state
    becomes, and the state becomes `extreme(read + extend, other + begin)`."""

    read: q.Read
    extreme: Extreme
    extend: q.Expr | None
    begin: q.Expr | None
    free: q.Expr
    other: q.Read | None = None

    @property
    def places(self) -> tuple[q.Read, ...]:
        return (self.read, self.other) if self.other else (self.read,)

    @property
    def costs(self) -> tuple[q.Expr, ...]:
        return tuple(each for each in (self.extend, self.begin) if each)


def gap(read: q.Read, value: q.Expr) -> Gap | None:
    """What an iteration makes of a state; None if it is something else."""
    for extreme, one, around in _sides(value, read.type):
        straight, extend = _added(one, read)
        inner, begin = _added(around, read)
        for same, free, part in _sides(inner, read.type):
            if straight == part == read and same == extreme and read not in reads(free):
                return Gap(read, extreme, extend, begin, free)
    return None


def gap_of_two(read: q.Read, value: q.Expr, other: q.Read, whole: q.Expr) -> Gap | None:
    """What an iteration makes of two states."""
    if not isinstance(whole, q.Extern):
        return None
    made = q.Read(q.Var("made", _MADE), (), read.type)
    whole = in_place_of(whole, value, made)
    chosen = by_extreme(whole, made, read.type)
    if chosen is None or {read, other} & {*reads(whole)} or chosen.factor or _more(chosen):
        return None
    assert chosen.free is not None
    last = q.Extern(f"{chosen.extreme}_", (chosen.free, read), read.type)
    found = gap(read, with_values(value, {(other.buf, other.idx): last}))
    return found and replace(found, other=other)


def _more(chosen: Chosen) -> bool:
    return any(each is not None for each in (chosen.open, chosen.limit, chosen.scale))


def _sides(expr: q.Expr, kind: str) -> Iterator[tuple[Extreme, q.Expr, q.Expr]]:
    """The two values of an extreme, in both orders."""
    pair = smaller_or_larger(expr) if isinstance(expr, q.Extern) else None
    if pair and isinstance(expr, q.Extern) and FUNCTIONS[expr.name].precision in ("", kind):
        extreme, one, other = pair
        yield extreme, one, other
        yield extreme, other, one


def _added(expr: q.Expr, read: q.Read) -> tuple[q.Expr, q.Expr | None]:
    """A part that reads the state, and what is added to it."""
    total: q.Expr | None = None
    while isinstance(expr, q.BinOp) and expr.op in "+-":
        first = read in reads(expr.lhs)
        part, other = (expr.lhs, expr.rhs) if first else (expr.rhs, expr.lhs)
        if read in reads(other) or (expr.op == "-" and not first):
            break
        if total is not None:
            total = q.BinOp(expr.op, total, other, expr.type)
        else:
            total = other if expr.op == "+" else q.USub(other, expr.type)
        expr = part
    return expr, total


def gaps(kind: str, lanes: int, extreme: Extreme) -> Snippet:
    """`r[l] = c`, and then `c = max(c + b, max(a[l], c) + d)`, in every lane, one after the other.
    Of integers that may overflow each is computed as it is written."""
    vec, element = set_name(kind, lanes), ELEMENT_TYPES[kind].c
    call, either_text = either(extreme)(kind, lanes)
    shift, shift_text = after(kind, lanes)
    sign = ">" if extreme == "max" else "<"
    numbers = ", ".join(map(str, range(lanes)))
    body = [bits(kind, lanes)]
    helpers = [either_text, shift_text]
    if kind in INTEGERS:
        one = f"r[l] = c; const int u = c + b, t = (a[l] {sign} c ? a[l] : c) + d;"
        one += f" c = u {sign} t ? u : t;"
        turn = in_turn(f"{extreme}_gaps", kind, lanes, one, "a", "bd")
        some, some_text = some_lane(kind, lanes)
        far = [may_overflow(each, "||") for each in ("*c", "b", "d")]
        far.append(f"{some}(({vec})({may_overflow('(bits)a', '|')}))")
        body += taken_in_turn(" || ".join(far), turn, "abdc")
        helpers += [some_text, turn[1]]
    body += [
        f"if (d {sign} b) b = d;",
        f"const {vec} p = ({vec}){{{numbers}}} * b;",
        "a += d;",
    ]
    for by in turns(lanes):  # lanes without one so far below join with themselves, plus 0
        order = [lane if lane < by else lanes + by for lane in range(lanes)]
        more = f"__builtin_shufflevector(({vec}){{0}}, p, {', '.join(map(str, order))})"
        body.append(f"a = {call}(a, {below(vec, lanes, by, 'a', 'a')} + {more});")
    body += [
        f"const {element} before = *c, t = before + {lanes} * b;",
        f"*c = a[{lanes - 1}] {sign} t ? a[{lanes - 1}] : t;",
        f"return {call}({shift}(a, before), p + before);",
    ]
    params = f"{vec} a, {element} b, {element} d, {element} *c"
    name, text = function(f"{vec}_{extreme}_gaps", vec, params, "\n    ".join(body))
    return name, "\n".join([*helpers, text])
