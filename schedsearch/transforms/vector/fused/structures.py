"""Structures in registers: lanes whose elements lie apart, by a few elements that are together.

The 9 elements of each matrix of `A[n, 3, 3]` are a structure. A register has one member of as many
structures as it has lanes. They are loaded in parts of 16 bytes, and squares of those are
transposed: within parts, each shuffle is one instruction on every CPU. A structure of fewer
elements than a part has is loaded with those after it. Structures are stored the same way back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.arrays import Array
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS, ELEMENT_TYPES
from schedsearch.transforms.vector.fused.model import Fused, Operand
from schedsearch.transforms.vector.fused.snippets import Snippet, function, types
from schedsearch.transforms.vector.registers import set_name

MOST_MEMBERS = 36
"""A matrix of 6 by 6: of more, most are in memory at any time."""

_PART = 16
_REGISTERS = (8, 16, 32, 64)
"""Bytes of what is transposed, at most, and of registers."""

_TOGETHER = {
    2: (((0, 1), (0, 4, 1, 5)), ((0, 1), (2, 6, 3, 7))),
    3: (
        ((0, 1), (0, 2, 4, 6)),
        ((1, 2), (1, 3, 5, 7)),
        ((2, 0), (0, 2, 5, 7)),
        ((3, 5), (0, 2, 4, 6)),
        ((4, 3), (0, 2, 5, 7)),
        ((5, 4), (1, 3, 5, 7)),
    ),
}
_APART = {
    2: (((0, 1), (0, 2, 4, 6)), ((0, 1), (1, 3, 5, 7))),
    3: (
        ((1, 2), (2, 3, 5, 6)),
        ((0, 1), (1, 2, 4, 5)),
        ((0, 3), (0, 3, 4, 6)),
        ((4, 3), (0, 2, 5, 7)),
        ((4, 2), (1, 3, 4, 7)),
    ),
}
"""Shuffles of parts of 4 elements, for structures of fewer: of which two values, given ones and
those made before, and of which of their 8 elements. The last ones made are the result."""

Indices = tuple[q.Affine, ...]


def has_structures(kind: str, lanes: int, members: int) -> bool:
    """Whether there are shuffles for structures of so many members."""
    element = ELEMENT_TYPES[kind]
    fits = lanes * element.bits // 8 in _REGISTERS and 2 <= members <= MOST_MEMBERS
    return element.plain and lanes > 1 and fits


def structure(array: Array, idx: Indices, lane: q.Var) -> Indices | None:
    """Where the structure is that an access has its element in, if neighbouring iterations have
    neighbouring ones: the indices of the first dimensions. The others are those of a member."""
    used = [dim for dim, index in enumerate(idx) if lane in q.expr_vars(index)]
    if len(used) != 1 or len(idx) != len(array.shape) or array.window:
        return None
    (dim,) = used
    inside = array.shape[dim + 1 :]
    plain = lane not in q.expr_vars(idx[dim] - q.as_affine(lane))
    if not (inside and plain and all(extent.is_const for extent in inside)):
        return None
    members = prod(extent.const for extent in inside)
    return idx[: dim + 1] if 2 <= members <= MOST_MEMBERS else None


def members(op: Operand) -> int:
    """How many members the structures of an operand have; 0 if it has none."""
    return prod(op.box[-op.inner :]) if op.inner else 0


def member(op: Operand, idx: Indices) -> int:
    """The number of the member that an access is to."""
    place = 0
    for extent, index in zip(op.box[-op.inner :], idx[-op.inner :], strict=True):
        place = place * extent + index.const
    return place


def loaded(fused: Fused, uid: int) -> bool:
    """Whether structures are loaded before an iteration: it does not assign every member before it
    reads it."""
    op, assigned = fused.operands[uid], set[int]()
    for stmt in fused.body:
        if not isinstance(stmt, q.Assign | q.Reduce):
            continue
        for read in reads(stmt.rhs):
            if read.buf.uid == uid and member(op, read.idx) not in assigned:
                return True
        if stmt.buf.uid == uid:
            if isinstance(stmt, q.Reduce) and member(op, stmt.idx) not in assigned:
                return True
            assigned.add(member(op, stmt.idx))
    return len(assigned) < members(op)


def load(kind: str, lanes: int, count: int) -> Snippet:
    """Registers of the members of structures, from memory."""
    vec, part = set_name(kind, lanes), _part(kind, lanes)
    parts, text = _parts(kind, lanes)
    body: list[str] = []
    if count < part:
        given = [f"{parts}(p + {part * n}, {part * count})" for n in range(count)]
        body += _short(vec, lanes, count, given, _APART[count])
        body += [f"x[{n}] = {name};" for n, name in enumerate(_results(count, _APART[count]))]
    for first in _squares(count, part):
        rows = [f"{parts}(p + {row * count + first}, {part * count})" for row in range(part)]
        body += _square(vec, lanes, part, rows, [f"x[{first + n}]" for n in range(part)])
    made = function(f"{vec}_load_{count}", "void", _params(kind, vec, "const "), _lines(body))
    return made[0], f"{text}\n{made[1]}"


def store(kind: str, lanes: int, count: int) -> Snippet:
    """Registers of the members of structures, to memory."""
    vec, part = set_name(kind, lanes), _part(kind, lanes)
    parts, text = _to_parts(kind, lanes)
    body: list[str] = []
    if count < part:
        body += _short(vec, lanes, count, [f"x[{n}]" for n in range(count)], _TOGETHER[count])
        for n, name in enumerate(_results(count, _TOGETHER[count])):
            body.append(f"{parts}(p + {part * n}, {part * count}, {name});")
    for first in _squares(count, part):
        columns = [f"x[{first + n}]" for n in range(part)]
        rows = [f"r{first}_{row}" for row in range(part)]
        body.append(f"{vec} {', '.join(rows)};")
        body += _square(vec, lanes, part, columns, rows)
        for row, name in enumerate(rows):
            body.append(f"{parts}(p + {row * count + first}, {part * count}, {name});")
    params = _params(kind, f"const {vec}")
    made = function(f"{vec}_store_{count}", "void", params, _lines(body))
    return made[0], f"{text}\n{made[1]}"


def partial_load(kind: str, lanes: int, count: int) -> Snippet:
    """The same of the first `n` structures; 0 for the others."""
    params, whole = _params(kind, set_name(kind, lanes), "const "), load(kind, lanes, count)
    some = f"{ELEMENT_TYPES[kind].c} some[{lanes * count}] = {{0}};"
    copy = f"__builtin_memcpy(some, p, n * {count} * sizeof *p);"
    return _partial(whole, params, [some, copy, f"{whole[0]}(some, x);"])


def partial_store(kind: str, lanes: int, count: int) -> Snippet:
    """The same of the first `n` structures."""
    params, whole = _params(kind, f"const {set_name(kind, lanes)}"), store(kind, lanes, count)
    some = f"{ELEMENT_TYPES[kind].c} some[{lanes * count}];"
    copy = f"__builtin_memcpy(p, some, n * {count} * sizeof *p);"
    return _partial(whole, params, [some, f"{whole[0]}(some, x);", copy])


def _partial(whole: Snippet, params: str, body: Sequence[str]) -> Snippet:
    """By way of `some`, which has the place that whole registers take."""
    name, made = function(f"{whole[0]}_n", "void", f"{params}, long n", _lines(body))
    return name, f"{whole[1]}\n{made}"


def _part(kind: str, lanes: int) -> int:
    """Elements of what is transposed."""
    return min(_PART * 8 // ELEMENT_BITS[kind], lanes)


def _params(kind: str, vec: str, const: str = "") -> str:
    return f"{const}{ELEMENT_TYPES[kind].c} *p, {vec} *x"


def _lines(body: Sequence[str]) -> str:
    return "\n    ".join(body)


def _squares(count: int, part: int) -> Iterator[int]:
    """The first members of squares: the last one ends where the structure does."""
    if count >= part:
        yield from (min(first, count - part) for first in range(0, count, part))


def _square(
    vec: str, lanes: int, part: int, rows: Sequence[str], results: Sequence[str]
) -> Iterator[str]:
    """C that transposes squares of parts, one in each 16 bytes of the registers."""
    yield "{"
    given = [f"a{n}" for n in range(part)]
    yield from (f"const {vec} {name} = {row};" for name, row in zip(given, rows, strict=True))
    if part == 2:
        low, high = (_shuffle(lanes, part, ("a0", "a1"), (n, n + 2)) for n in (0, 1))
        yield from (f"{results[0]} = {low};", f"{results[1]} = {high};")
    else:
        for half, order in enumerate(((0, 4, 1, 5), (2, 6, 3, 7))):
            for pair in (0, 2):
                both = _shuffle(lanes, part, (f"a{pair}", f"a{pair + 1}"), order)
                yield f"const {vec} b{2 * half + pair // 2} = {both};"
        for n, result in enumerate(results):
            order = (2, 3, 6, 7) if n % 2 else (0, 1, 4, 5)
            yield f"{result} = {_shuffle(lanes, part, (f'b{n & 2}', f'b{(n & 2) + 1}'), order)};"
    yield "}"


Shuffles = Sequence[tuple[tuple[int, int], tuple[int, ...]]]


def _short(
    vec: str, lanes: int, count: int, given: Sequence[str], shuffles: Shuffles
) -> Iterator[str]:
    """C of shuffles: values `v0`, `v1` ..., the given ones first."""
    yield from (f"const {vec} v{n} = {value};" for n, value in enumerate(given))
    for n, ((one, other), order) in enumerate(shuffles, count):
        yield f"const {vec} v{n} = {_shuffle(lanes, 4, (f'v{one}', f'v{other}'), order)};"


def _results(count: int, shuffles: Shuffles) -> Iterator[str]:
    yield from (f"v{len(shuffles) + n}" for n in range(count))


def _shuffle(lanes: int, part: int, values: tuple[str, str], order: Sequence[int]) -> str:
    """C of the same shuffle in each part of two registers; `order` is of the elements of a part of
    the one, then of the other."""
    every = [
        start + place if place < part else lanes + start + place - part
        for start in range(0, lanes, part)
        for place in order
    ]
    return f"__builtin_shufflevector({', '.join(values)}, {', '.join(map(str, every))})"


def _widths(kind: str, lanes: int) -> tuple[str, list[int]]:
    """The types of a part, and of registers twice as long and so on; their lanes."""
    part = _part(kind, lanes)
    widths = [part << n for n in range((lanes // part).bit_length())]
    return "\n".join(types(kind, each)[1] for each in widths), widths


def _parts(kind: str, lanes: int) -> Snippet:
    """A register of parts that are in memory, each `by` elements after the one before."""
    text, widths = _widths(kind, lanes)
    vec, short = set_name(kind, lanes), set_name(kind, widths[0])
    parts = lanes // widths[0]
    names = [f"a{n}" for n in range(parts)]
    body = [f"const {short} a{n} = *(const {short}_u *)(p + {n} * by);" for n in range(parts)]
    for level, width in enumerate(widths[1:], 1):
        order = ", ".join(map(str, range(width)))
        pairs = list(zip(names[::2], names[1::2], strict=True))
        names = [f"{'abc'[level]}{n}" for n in range(len(pairs))]
        for name, pair in zip(names, pairs, strict=True):
            joined = f"__builtin_shufflevector({', '.join(pair)}, {order})"
            body.append(f"const {set_name(kind, width)} {name} = {joined};")
    body.append(f"return {names[0]};")
    params = f"const {ELEMENT_TYPES[kind].c} *p, long by"
    name, made = function(f"{vec}_parts", vec, params, _lines(body))
    return name, f"{text}\n{made}"


def _to_parts(kind: str, lanes: int) -> Snippet:
    """The parts of a register to memory, each `by` elements after the one before."""
    text, widths = _widths(kind, lanes)
    vec, short, part = set_name(kind, lanes), set_name(kind, widths[0]), widths[0]
    body = []
    for n in range(lanes // part):
        order = ", ".join(map(str, range(n * part, (n + 1) * part)))
        value = f"__builtin_shufflevector(a, a, {order})" if lanes > part else "a"
        body.append(f"*({short}_u *)(p + {n} * by) = {value};")
    params = f"{ELEMENT_TYPES[kind].c} *p, long by, {vec} a"
    name, made = function(f"{vec}_to_parts", "void", params, _lines(body))
    return name, f"{text}\n{made}"
