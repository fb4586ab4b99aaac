"""The C function of an instruction over joined rows (`joined`).

A block is as many rows as begin where a register does and end where one ends. Each of its registers
has sums of its own, in each of the `chains`; at the end those of one column are added up. What is
read of columns is brought into registers before the loop. The last rows are masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.transforms.vector.fused import snippets
from schedsearch.transforms.vector.fused.function import Function
from schedsearch.transforms.vector.fused.joined import Walk, registers, walks
from schedsearch.transforms.vector.fused.model import LANE, Fused, fused_name, reduced
from schedsearch.transforms.vector.fused.values import Value, Values, extreme_register


@dataclass
class RowValues(Values):
    """Values of registers that go along joined rows. `chain` counts the registers of all chains;
    `columns` are those that are read of columns, with the place of each."""

    columns: dict[str, tuple[q.Var, tuple[q.Affine, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.walks, self.of_block = walks(self.fused), registers(self.fused.row, self.fused.lanes)

    def read(self, read: q.Read) -> Value:
        walk = self.walks.get(read.buf.uid)
        accumulates = walk in (Walk.COLUMN, Walk.FIXED) and self.written(read.buf)
        if walk is Walk.ROW:
            return self.of_rows(read)
        if walk is Walk.COLUMN and not accumulates:
            return self.column(read.buf, read.idx), read.type, True
        return super().read(read)

    def written(self, buf: q.Var) -> bool:
        return self.fused.operands[buf.uid].written

    def column(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """The register with the elements of a column, or of one after another."""
        name = f"c{self.shared(buf, idx)}"
        self.columns[name] = buf, idx
        return f"{name}_{self.chain % self.of_block}"

    def of_rows(self, read: q.Read) -> Value:
        """The element of its row in each lane."""
        row, lanes = self.fused.row, self.fused.lanes
        before = self.chain * lanes
        first, last = before // row, (before + lanes - 1) // row
        address = f"{super().address(read.buf, read.idx)} + r + {first}"
        if first == last:
            return f"(*({address}))", read.type, False
        count = str(last - first + 1)
        if self.masked:
            count = f"({before % row} + {self.count} - 1) / {row} + 1"
        load = self.need(snippets.partial_load(read.type, lanes), read.type)
        rows = self.need(snippets.rows_of(read.type, lanes, row, before % row), read.type)
        return f"{rows}({load}({address}, {count}))", read.type, True


def joined_function(fused: Fused) -> str:
    """C text of the instruction's function, after the snippets that it uses."""
    blocks = replace(fused, chains=fused.chains * registers(fused.row, fused.lanes))
    return _JoinedFunction(blocks, RowValues(blocks), name=fused_name(fused)).text()


@dataclass
class _JoinedFunction(Function):
    c: RowValues

    def text(self) -> str:
        extremes = [stmt for stmt in reduced(self.fused) if isinstance(stmt, q.Assign)]
        loops = [*self.blocks()]
        begun = [*self.begun(extremes)]
        lines = [f"static inline __attribute__((always_inline)) void {self.name}("]
        lines += [f"    {', '.join(self.params())})", "{"]
        for line in (*self.of_columns(), *begun, *loops, *self.ended()):
            lines.append(f"    {line}")
        lines.append("}")
        function = snippets.guarded(self.name, "\n".join(lines))
        return "\n".join([*self.c.needed.values(), function])

    def blocks(self) -> Iterator[str]:
        """The loops over blocks of rows: in all chains, then in one, then what is left."""
        row, lanes, each = self.fused.row, self.fused.lanes, self.c.of_block
        rows = each * lanes // row
        yield "long r = 0;"
        for count in sorted({self.fused.chains, each}, reverse=True):
            taken = rows * (count // each)
            yield f"for (; n - r >= {taken}; r += {taken}) {{"
            yield f"    const long l = r * {row};"
            for self.c.chain in range(count):
                yield from ("    {", *(f"        {x}" for x in self.body()), "    }")
            yield "}"
        self.c.masked = True
        yield "if (r < n) {"
        yield f"    const long l = r * {row}, left = (n - r) * {row};"
        for self.c.chain in range(each):
            before = self.c.chain * lanes
            yield f"    if (left > {before}) {{"
            yield f"        const long m = left < {before + lanes} ? left - {before} : {lanes};"
            yield from (*(f"        {x}" for x in self.body()), "    }")
        yield "}"
        self.c.masked, self.c.chain = False, 0

    def begun(self, extremes: list[q.Assign]) -> Iterator[str]:
        """Sums begin with 0, and an extreme with the element itself."""
        for name, (kind, _) in self.sums.items():
            for each in self.sum_registers(name):
                yield f"{self.c.vec(kind)} {each} = {{0}};"
        for stmt in extremes:
            name = self.c.shared(stmt.buf, stmt.idx)
            for chain in range(self.fused.chains):
                self.c.chain = chain
                if self.c.walks[stmt.buf.uid] is Walk.COLUMN:
                    start = self.c.column(stmt.buf, stmt.idx)
                else:
                    start = self.c.spread((self.c.element(stmt.buf, stmt.idx), stmt.type, False))[0]
                register = extreme_register(name, chain)
                yield f"{self.c.vec(stmt.type)} {register} = {start};"
        self.c.chain = 0

    def of_columns(self) -> Iterator[str]:
        """Registers with what is read of columns."""
        row, lanes, each = self.fused.row, self.fused.lanes, self.c.of_block
        for name, (buf, idx) in self.c.columns.items():
            kind = self.fused.operands[buf.uid].type
            element = f"x{buf.uid}[{self.place(buf, idx)}j]"
            yield f"{ELEMENT_TYPES[kind].c} {name}[{each * lanes}];"
            yield f"for (long r = 0; r < {each * lanes // row}; r++)"
            yield f"    for (long j = 0; j < {row}; j++) {name}[r * {row} + j] = {element};"
            vec = self.c.vec(kind)
            for register in range(each):
                load = f"*(const {vec}_u *)({name} + {register * lanes})"
                yield f"const {vec} {name}_{register} = {load};"

    def place(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """The offset of the first element of a column."""
        first = (*idx[:-1], idx[-1] - q.as_affine(LANE))
        _, *parts = self.c.address(buf, first).split(" + ")
        return "".join(f"{part} + " for part in parts)

    def ended(self) -> Iterator[str]:
        """All that belongs to one column is joined."""
        row, lanes, chains = self.fused.row, self.fused.lanes, self.fused.chains
        rows = chains * lanes // row
        for stmt in reduced(self.fused):
            name = self.c.shared(stmt.buf, stmt.idx)
            if isinstance(stmt, q.Assign) and self.c.walks[stmt.buf.uid] is Walk.FIXED:
                yield from self.joined(stmt)
                continue
            kind = stmt.type if isinstance(stmt, q.Assign) else self.sums[name][0]
            kept = (
                [extreme_register(name, chain) for chain in range(chains)]
                if isinstance(stmt, q.Assign)
                else self.sum_registers(name)
            )
            if self.c.walks[stmt.buf.uid] is Walk.FIXED:
                total = self.c.need(snippets.total(kind, lanes), kind)
                yield f"{self.sums[name][1]} += {total}({' + '.join(kept)});"
                continue
            vec, element = self.c.vec(kind), f"x{stmt.buf.uid}[{self.place(stmt.buf, stmt.idx)}j]"
            yield "{"
            yield f"    {ELEMENT_TYPES[kind].c} t[{(chains + 1) * lanes}] = {{0}};"
            for chain, register in enumerate(kept):
                yield f"    *({vec}_u *)(t + {chain * lanes}) = {register};"
            if isinstance(stmt, q.Reduce):
                yield f"    for (long r = 0; r < {rows}; r++)"
                yield f"        for (long j = 0; j < {row}; j++) {element} += t[r * {row} + j];"
            else:
                store = self.c.need(snippets.partial_store(kind, lanes), kind)
                part = f"*(const {vec}_u *)(t + r * {row} + q)"
                yield f"    for (long q = 0; q < {row}; q += {lanes}) {{"
                yield f"        {kept[0]} = *(const {vec}_u *)(t + q);"
                yield f"        for (long r = 1; r < {rows}; r++)"
                yield from (f"            {line}" for line in self.joins(stmt, [part]))
                count = f"{row} - q < {lanes} ? {row} - q : {lanes}"
                yield f"        {store}(&{element.replace('j]', 'q]')}, {kept[0]}, {count});"
                yield "    }"
            yield "}"
