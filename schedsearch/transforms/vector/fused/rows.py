"""Instructions that go along several rows side by side, each with sums of its own.

At the end a register of each sum is added up over its lanes. One register after another takes two
instructions for each halving. Together, the halves of two registers are in one, so that each step
leaves half as many: 16 registers of 16 take 45 instructions, and 128 one by one. Within parts of 16
bytes, then of parts, each shuffle is one instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused.model import COPY, Fused, operand
from schedsearch.transforms.vector.fused.snippets import Snippet, function, total, types
from schedsearch.transforms.vector.fused.values import Values
from schedsearch.transforms.vector.registers import set_name

_PART = 16
"""Bytes."""


def rows_written_out(fused: Fused) -> Fused:
    """The instruction with the statements of every row, one row after the other. What all rows
    write, such as sums over columns, is loaded before the first and stored after the last."""
    kept = {column.buf: column for column in map(partial(_column, fused), fused.body) if column}
    free = fused.copies * (len(fused.operands) + len(fused.body))
    local = {buf: operand(free + number) for number, buf in enumerate(kept)}
    before, after = list[q.Stmt](), list[q.Stmt]()
    for buf, column in kept.items():
        before.append(q.Alloc((), local[buf], column.type, (), "DRAM"))
        before.append(q.Assign((), local[buf], (), column, column.type))
        value = q.Read(local[buf], (), column.type)
        after.append(q.Assign((), buf, column.idx, value, column.type))
    rows = [_of_row(stmt, row, fused, local) for row in range(fused.copies) for stmt in fused.body]
    return replace(fused, copies=1, body=(*before, *rows, *after))


def _column(fused: Fused, stmt: q.Stmt) -> q.Read | None:
    """What a statement writes, if that is the same for all rows."""
    if not isinstance(stmt, q.Assign | q.Reduce) or stmt.buf.uid >= len(fused.operands):
        return None
    of_row = any(COPY in q.expr_vars(index) for index in stmt.idx)
    return None if of_row else q.Read(stmt.buf, stmt.idx, stmt.type)


def _of_row(stmt: q.Stmt, row: int, fused: Fused, kept: Mapping[q.Var, q.Var]) -> q.Stmt:
    """A statement in a row; each row has scalars of its own."""

    def name(buf: q.Var) -> q.Var:
        own = buf.uid >= len(fused.operands)
        named = operand(buf.uid + row * (len(fused.operands) + len(fused.body)))
        return named if own else kept.get(buf, buf)

    def place(buf: q.Var, idx: tuple[q.Affine, ...]) -> tuple[q.Affine, ...]:
        if buf in kept:
            return ()
        steps = [index.coefficient(COPY) for index in idx]
        at = q.as_affine(COPY)
        return tuple(i - at.scaled(n) + row * n for i, n in zip(idx, steps, strict=True))

    def of_row(read: q.Read) -> q.Read:
        return q.Read(name(read.buf), place(read.buf, read.idx), read.type)

    match stmt:
        case q.Assign() | q.Reduce():
            at = place(stmt.buf, stmt.idx)
            value = q.with_reads(stmt.rhs, of_row)
            return replace(stmt, buf=name(stmt.buf), idx=at, rhs=value)
        case q.Alloc():
            return replace(stmt, buf=name(stmt.buf))
        case _:
            raise AssertionError(stmt)


def totals_of_rows(
    c: Values, sums: Mapping[str, tuple[str, str]], joined: Mapping[str, str]
) -> Iterator[str]:
    """C that adds registers up to elements: those of one array at once, where there is a power of
    two of them. `sums` has the type and the element of each, and `joined` its register."""
    groups: dict[str, list[str]] = {}
    for name in sums:
        groups.setdefault(name.split("_at")[0], []).append(name)
    for number, names in enumerate(groups.values()):
        (kind, *_), lanes, rows = sums[names[0]], c.fused.lanes, len(names)
        if fewest_rows(kind, lanes) <= rows <= lanes and rows & (rows - 1) == 0:
            uid = int(names[0].split("_at")[0])
            box = c.fused.operands[uid].box
            adjacent = box == (*(1 for _ in box[1:]), rows)
            if adjacent:  # a row may have several: y[i + 4] and y[i]
                names.sort(key=_last_index)
            helper = c.need(totals(kind, lanes, rows), kind)
            registers = ", ".join(joined[name] for name in names)
            yield f"const {c.need(types(kind, rows))} total{number} = {helper}({registers});"
            if adjacent:
                yield f"*({set_name(kind, rows)}_u *)x{uid} += total{number};"
                continue
            for row, name in enumerate(names):
                yield f"{sums[name][1]} += total{number}[{row}];"
            continue
        for name in names:
            yield f"{sums[name][1]} += {c.need(total(kind, lanes), kind)}({joined[name]});"


def _last_index(name: str) -> int:
    """Of an element that the lanes share, by the name of its register: `2_at0_4`."""
    return int(name.rpartition("_")[2].removeprefix("at")) if "_" in name else 0


def fewest_rows(kind: str, lanes: int) -> int:
    """Registers that are added up at once, at least."""
    return min(_PART * 8 // ELEMENT_TYPES[kind].bits, lanes)


def totals(kind: str, lanes: int, rows: int) -> Snippet:
    """A register of the sums of so many, a power of two from `fewest_rows` to `lanes`."""
    vec, result, part = set_name(kind, lanes), set_name(kind, rows), fewest_rows(kind, lanes)
    names = [f"x{row}" for row in range(rows)]
    params = ", ".join(f"{vec} {name}" for name in names)
    kinds = [types(kind, lanes)[1]]
    body: list[str] = []
    step, parts = 0, lanes // part
    group, unit = part, 1
    while len(names) > 1:
        pairs = list(zip(names[::2], names[1::2], strict=True))
        names = [f"s{step}_{n}" for n in range(len(pairs))]
        for name, (a, b) in zip(names, pairs, strict=True):
            body.append(f"const {vec} {name} = {_both(a, b, lanes, group, unit, part)};")
        step, group = step + 1, group // 2
        if group == 1 and unit == 1:
            group, unit = parts, part
    (name,) = names
    width = lanes
    while width > rows:  # parts of the same rows are left
        low, high = _halves(width // part, group)
        kinds.append(types(kind, width // 2)[1])
        orders = [", ".join(map(str, _elements(half, part))) for half in (low, high)]
        each = [f"__builtin_shufflevector({name}, {name}, {order})" for order in orders]
        body.append(f"const {set_name(kind, width // 2)} s{step} = {' + '.join(each)};")
        name, width, step, group = f"s{step}", width // 2, step + 1, group // 2
    body.append(f"return {name};")
    made = function(f"{vec}_totals_{rows}", result, params, "\n    ".join(body))
    return made[0], "\n".join([*kinds, made[1]])


def _both(a: str, b: str, lanes: int, group: int, unit: int, part: int) -> str:
    """C of a register with the sums of halves of two. Each row has `group` units, of `unit`
    elements, that follow each other: within parts, or parts themselves."""
    each = []
    for half in _halves(part if unit == 1 else lanes // part, group):
        if unit == 1:
            starts = range(0, lanes, part)
            order = [s + base + e for s in starts for base in (0, lanes) for e in half]
        else:
            order = [base + e for base in (0, lanes) for e in _elements(half, part)]
        each.append(f"__builtin_shufflevector({a}, {b}, {', '.join(map(str, order))})")
    return " + ".join(each)


def _halves(units: int, group: int) -> tuple[list[int], list[int]]:
    """The units in the first and in the second half of each group."""
    first = [unit for unit in range(units) if unit % group < group // 2]
    return first, [unit for unit in range(units) if unit % group >= group // 2]


def _elements(parts: Sequence[int], part: int) -> Iterator[int]:
    return (each * part + element for each in parts for element in range(part))
