"""Rows that are read at several places one beside the other: loaded once, and shifted.

```
y[j] = x[j - 1] + x[j] + x[j + 1]
```

Of three loads of 64 bytes, at least two lie in two cache lines, which take twice as long. Here each
register of `x[j]` is loaded, kept for the next ones, and the others are shifted from two of them:

```
x_1 = load(x + j + 16);
y[j] = shifted_15(x_before, x_0) + x_0 + shifted_1(x_0, x_1);
x_before = x_0; x_0 = x_1;
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.transforms.vector.fused import snippets
from schedsearch.transforms.vector.fused.model import LANE, Fused
from schedsearch.transforms.vector.fused.operands import other_row
from schedsearch.transforms.vector.fused.values import Values

_LINE_BITS = 512
_ELEMENT_BITS = 32, 64
"""Of elements that one instruction shifts, in registers of a line."""


@dataclass(frozen=True)
class Row:
    """Reads of one row. `middle` is the one whose registers are loaded; the others are up to
    `before` elements before it and up to `after` behind it."""

    name: str
    middle: q.Read
    reads: tuple[q.Read, ...]
    before: int
    after: int

    def block(self, number: int) -> str:
        """The variable of a register: of so many after that of the first chain."""
        return f"{self.name}_before" if number < 0 else f"{self.name}_{number}"


def worth_shifting(fused: Fused) -> bool:
    """Whether each register of a row fills a line, so that those beside it lie in two."""
    kinds = [ELEMENT_BITS[row.middle.type] for row in shared_rows(fused)]
    return any(bits in _ELEMENT_BITS and bits * fused.lanes == _LINE_BITS for bits in kinds)


def shared_rows(fused: Fused) -> list[Row]:
    """Rows that are read at more places than one."""
    found: dict[tuple[q.Var, tuple[q.Affine, ...]], list[q.Read]] = {}
    for stmt in fused.body:
        for read in reads(stmt.rhs) if isinstance(stmt, q.Assign | q.Reduce) else ():
            if _moves(fused, read):
                places = found.setdefault((read.buf, read.idx[:-1]), [])
                if read not in places:
                    places.append(read)
    rows: list[Row] = []
    for (buf, _), places in found.items():
        ordered = sorted(places, key=_place)
        first, last = _place(ordered[0]), _place(ordered[-1])
        if len(places) < 2 or last - first > fused.lanes:
            continue
        middle = ordered[(len(ordered) - 1) // 2]
        at = _place(middle)
        name = f"r{buf.uid}_{len(rows)}"
        rows.append(Row(name, middle, tuple(ordered), at - first, last - at))
    return rows


def _moves(fused: Fused, read: q.Read) -> bool:
    """Whether it is of neighbours in memory that the instruction does not write."""
    if read.buf.uid >= len(fused.operands) or not read.idx:
        return False
    op = fused.operands[read.buf.uid]
    plain = op.moves and not (op.registers or op.inner or op.places)
    simple = (stmt for stmt in fused.body if isinstance(stmt, q.Assign | q.Reduce))
    kept = all(s.buf != read.buf or other_row(s.idx, read.idx, LANE) for s in simple)
    return plain and kept and (LANE, 1) in read.idx[-1].terms


def _place(read: q.Read) -> int:
    return read.idx[-1].const


def before_the_loop(row: Row, c: Values) -> Iterator[str]:
    """The registers that the first iteration finds loaded."""
    kind, lanes = row.middle.type, c.fused.lanes
    if row.before:
        load = c.read(row.reads[0])[0]
        turned = c.need(snippets.shifted(kind, lanes, row.before), kind)
        yield f"{c.vec(kind)} {row.block(-1)} = {load};"
        yield f"{row.block(-1)} = {turned}({row.block(-1)}, {row.block(-1)});"
    if row.after:
        yield f"{c.vec(kind)} {row.block(0)} = {c.read(row.middle)[0]};"


def loaded(row: Row, c: Values, chains: int) -> Iterator[str]:
    """The registers of an iteration of `chains` that are not loaded yet."""
    numbers = range(1, chains + 1) if row.after else range(chains)
    for number in numbers:
        load = replace(c, chain=number, past={}).read(row.middle)[0]
        yield f"const {c.vec(row.middle.type)} {row.block(number)} = {load};"


def handed_on(row: Row, chains: int) -> Iterator[str]:
    """What the next iteration finds loaded."""
    if row.before:
        yield f"{row.block(-1)} = {row.block(chains - 1)};"
    if row.after:
        yield f"{row.block(0)} = {row.block(chains)};"


def in_registers(row: Row, c: Values, chain: int) -> Iterator[tuple[q.Read, str]]:
    """C of each read, in a chain."""
    kind, lanes, middle = row.middle.type, c.fused.lanes, _place(row.middle)
    for read in row.reads:
        by = _place(read) - middle
        if by % lanes == 0:
            yield read, row.block(chain + by // lanes)
            continue
        first = chain if by > 0 else chain - 1
        helper = c.need(snippets.shifted(kind, lanes, by % lanes), kind)
        yield read, f"{helper}({row.block(first)}, {row.block(first + 1)})"
