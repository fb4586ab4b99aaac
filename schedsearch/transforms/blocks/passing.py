"""In which order of the loops around register tiles does less pass the second-level cache?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.reductions import ReductionNest
from schedsearch.transforms.blocks.terms import first_dim
from schedsearch.transforms.operators.ops import Args

LESS = 0.75
"""So much of it passes at most where it is worth another order."""


def rows_outside(nest: ReductionNest, args: Args, cache_bytes: int) -> dict[str, ArgValue]:
    """What the arguments of a block become if rows are to be outside of all panels, and all
    reductions in the tile; empty if not.

    A panel at a time reads all rows again for each panel, and for each step of the reductions
    outside of the tile stores the result. Rows outside read themselves once, if the cache holds all
    panels for them.
    """
    found = _Passing.of(nest, args)
    special = args.get("rest", 0) or args.get("slide", False) or args["depth"] or nest.corner
    if special or found is None or found.panels < 2:
        return {}
    if found.of_panel() <= cache_bytes // 2 or found.for_a_tile() > cache_bytes:
        return {}
    if found.rows_outside() > LESS * found.panel_at_a_time():
        return {}
    size: dict[str, ArgValue] = {"inner": len(nest.reductions)}
    if not args["pack"]:
        return size if args["inner"] < len(nest.reductions) else {}
    rows = next(loop for loop in nest.row_loops() if loop.iter.name == args["rows"])
    if not nest.packable(rows, len(nest.reductions)):
        return {}
    return size | {"block_rows": args["tile_rows"]}


@dataclass(frozen=True)
class _Passing:
    """Loops of known length around the tiles of a nest: `again` use the same panel, `outside` are
    the reductions outside of a tile, `inside` those in it. A tile has so many `rows` and
    `columns`."""

    nest: ReductionNest
    again: tuple[q.For, ...]
    outside: tuple[q.For, ...]
    inside: tuple[q.For, ...]
    rows: tuple[q.Var, int]
    columns: int

    @classmethod
    def of(cls, nest: ReductionNest, args: Args) -> _Passing | None:
        """None if a loop's length is not known, or there are no rows."""
        rows = next((x.iter for x in nest.loops if x.iter.name == args["rows"]), None)
        if rows is None or any(loop.extent is None for loop in nest.loops):
            return None
        first = len(nest.reductions) - args["inner"]
        kept = [loop for loop in nest.loops if loop not in nest.reductions]
        return cls(
            nest,
            tuple(loop for loop in kept if first_dim(nest.operand.idx, loop) is None),
            nest.reductions[:first],
            nest.reductions[first:],
            (rows, args["tile_rows"]),
            args["lanes"] * args["tile_vectors"],
        )

    @property
    def panels(self) -> int:
        return -(-(self.nest.along.extent or 0) // self.columns)

    def of_panel(self) -> float:
        """Bytes that pass by while all rows use one panel."""
        again = 2 if self.outside else 1
        lengths = _lengths([*self.again, *self.inside]) | {self.nest.along.iter: self.columns}
        return self._others(lengths) + again * self._bytes(self.nest.stmt.idx, lengths)

    def panel_at_a_time(self) -> float:
        return self.panels * prod(x.extent or 0 for x in self.outside) * self.of_panel()

    def for_a_tile(self) -> float:
        """Bytes that the cache has to hold for rows outside."""
        reductions = _lengths(self.nest.reductions)
        rows = dict([self.rows]) | {self.nest.along.iter: self.columns}
        return self._of_all_panels() + self._others(reductions | rows)

    def rows_outside(self) -> float:
        lengths = _lengths([*self.again, *self.nest.reductions, self.nest.along])
        result = self._bytes(self.nest.stmt.idx, lengths)
        return self._of_all_panels() + self._others(lengths) + result

    def _of_all_panels(self) -> float:
        lengths = _lengths([*self.nest.reductions, self.nest.along])
        return self._bytes(self.nest.operand.idx, lengths)

    def _others(self, lengths: Mapping[q.Var, int]) -> float:
        others = (read for read in self.nest.operands if read != self.nest.operand)
        return sum(self._bytes(read.idx, lengths) for read in others)

    def _bytes(self, idx: tuple[q.Affine, ...], lengths: Mapping[q.Var, int]) -> float:
        """Of the elements at these indices, as loops of these lengths go on."""
        size = ELEMENT_BITS[self.nest.stmt.type] // 8
        return size * prod(_elements(index, lengths) for index in idx)


def _lengths(loops: Iterable[q.For]) -> dict[q.Var, int]:
    return {loop.iter: loop.extent or 0 for loop in loops}


def _elements(index: q.Affine, lengths: Mapping[q.Var, int]) -> int:
    """How many values an index has at most."""
    moving = q.expr_vars(index) & lengths.keys()
    each = prod(lengths[var] for var in moving)
    reach = sum(abs(index.coefficient(var)) * (lengths[var] - 1) for var in moving)
    plain = all(index.coefficient(var) for var in moving)
    return min(each, 1 + reach) if plain else each
