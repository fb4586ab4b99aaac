"""What a register tile costs, so that short and odd loops get the tiles that suit them: a model of
a core's ports, of the rows and columns that tiles leave, and of what compilers unroll."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from schedsearch.analysis.arrays import declared
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.reductions import ReductionNest, longest_extent, step_length

UNROLLED = 16
"""Rows of a tile at most: gcc unrolls no longer loop, and leaves its registers in memory (f32 500 x
23 x 500: 25 rows 48 GFLOP/s, unrolled 89)."""

UNROLLED_CODE = 24
"""Instructions of a step at most, of which a masked register takes two: gcc unrolls no loop that
becomes longer than that (of convolutions; 14 rows of 12 + 16 columns 43 GFLOP/s, 8 rows 94)."""

APART = 1.25
"""How much longer columns in a nest of their own take: it reads the rows again. f32 [29, 53] x [53,
47 x 41]: 12 rows of 32, then of 9 columns 74 GFLOP/s, 6 rows of 41 columns 95."""

FEW_ROWS = 1.5
"""Rows for each register of columns, at least, for which gcc keeps these and not the rows' elements
in registers: 4 rows of 56 columns of a convolution 66 GFLOP/s, 12 rows of 32 and of 24 102."""

FAR, FAR_APART = 4.0, 256
"""What a step takes longer, in multiply-adds, if its operand lies so many elements from the last:
f32 3 x 1000 x 1000, 3 rows of 16 columns 31 GFLOP/s, of 96 columns 65."""

MOST_VECTORS = 6

LATENCY = 8.0
"""Multiply-adds in the time of one, of cores that begin two at once: a step of a tile takes so long
at least, because each of its own waits for the one before."""

BEGINNING = 8.0
"""What a tile takes that does not grow with its steps, in multiply-adds."""


@dataclass(frozen=True)
class Tile:
    """So many rows of `vectors` whole registers, and of one of `rest` elements more."""

    rows: int
    vectors: int
    rest: int = 0

    @property
    def registers(self) -> int:
        return self.vectors + bool(self.rest)


def possible_tiles(
    proc: q.Proc, nest: ReductionNest, rows: q.For | None, width: int, registers: int
) -> list[Tile]:
    """Tiles of whole registers, and those that have all of a contiguous loop of known length."""
    columns, most = nest.along.extent, UNROLLED if rows else 1
    if rows is not None:
        most = int(min(most, longest_extent(proc, rows)))
    shapes = [(n, 0) for n in range(1, MOST_VECTORS + 1) if n * width <= (columns or inf)]
    if columns is not None and columns <= width:
        shapes = [(0, columns)]
    elif columns is not None and columns % width and columns < MOST_VECTORS * width:
        shapes.append((columns // width, columns % width))
    tiles = [Tile(n, *shape) for shape in shapes for n in range(1, most + 1)]
    return [tile for tile in tiles if _fits(tile, registers) and (tile.rows > 1) == bool(rows)]


def _fits(tile: Tile, registers: int) -> bool:
    """Whether registers hold a tile with its operands, and compilers unroll it."""
    code = tile.rows * (tile.vectors + 2 * bool(tile.rest))
    return tile.registers * (tile.rows + 1) < registers and code <= UNROLLED_CODE


@dataclass(frozen=True)
class Costs:
    """Costs of the tiles of a nest over `rows`, if there are any, in registers of `width`, whose
    `inner` innermost reductions are in the tile."""

    proc: q.Proc
    nest: ReductionNest
    rows: q.For | None
    width: int
    registers: int
    inner: int

    def per_element(self, tile: Tile) -> float:
        """Multiply-adds of registers for each step of an element, with those of the tiles for what
        this one leaves."""
        columns = self.nest.along.extent
        if columns is None:
            return self._of_row(tile) / (tile.vectors * self.width)
        return self._of_columns(tile, columns) / columns

    def _of_columns(self, tile: Tile, columns: int) -> float:
        if tile.rest:
            return self._of_row(tile)
        size = tile.vectors * self.width
        left = columns % size
        cost = columns // size * self._of_row(tile)
        return cost + (APART * self._of_rest(left) if left else 0)

    def _of_rest(self, columns: int) -> float:
        """What the columns that tiles leave take: fewer than `MOST_VECTORS` registers."""
        shape = divmod(columns, self.width)
        registers = shape[0] + bool(shape[1])
        most = min(UNROLLED, (self.registers - 1) // registers - 1)
        return self._of_row(Tile(max(most, 1) if self.rows else 1, *shape))

    def _of_row(self, tile: Tile) -> float:
        """A step of all of a tile's columns in one of its rows."""
        number = self.rows.extent if self.rows is not None else None
        if number is None:
            return self._of_step(tile) / tile.rows
        whole, left = divmod(number, tile.rows)
        cost = whole * self._of_step(tile)
        if left:
            cost += self._of_step(Tile(left, tile.vectors, tile.rest))
        return cost / number

    def _of_step(self, tile: Tile) -> float:
        narrow = tile.rest and 2 * tile.rest <= self.width
        products = tile.rows * (tile.registers - (0.5 if narrow else 0.0))
        steps = prod(x.extent or inf for x in self.nest.reductions[-self.inner :])
        far = FAR if step_length(self.proc, self.nest) >= FAR_APART else 0.0
        return max(products, self._loads(tile), LATENCY) + far + BEGINNING / steps

    def _loads(self, tile: Tile) -> float:
        nest = self.nest

        def times(read: q.Read) -> int:
            return tile.rows if self.rows and self.rows.iter in q.expr_vars(read) else 1

        again = tile.rows if self.rows and tile.rows < FEW_ROWS * tile.registers else 1
        again = max(again, times(nest.operand))  # gcc 12 keeps what is used by more rows
        vectors = (2 if self._crosses() else 1) * again * tile.registers
        others = (read for read in nest.operands if read != nest.operand)
        return vectors + sum(map(times, others))

    def _crosses(self) -> bool:
        """Whether most registers of the operand lie in two cache lines. A packed panel's do not."""
        nest = self.nest
        shape = declared(self.proc)[nest.operand.buf].shape
        alone = nest.operand.idx[-1] == q.as_affine(nest.along.iter)
        whole = shape and q.modulo(shape[-1], self.width) == q.Affine(0)
        return not (nest.transposed or (alone and whole))
