"""A reduction nest while it is tiled for registers: its loops, and what is next."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import inf
from typing import Any

from schedsearch.analysis.walkers import fresh, names, next_path
from schedsearch.core import ast as q
from schedsearch.core.element_types import FLOATS
from schedsearch.transforms.blocks.blocking import cuts, register_for, summed_at_once
from schedsearch.transforms.blocks.factors import divides, last_multiple
from schedsearch.transforms.blocks.held_tiles import Columns, HeldTiles, Ways
from schedsearch.transforms.blocks.reductions import ReductionNest
from schedsearch.transforms.blocks.row_blocks import pack_all, rows_in_blocks
from schedsearch.transforms.blocks.row_tiles import RowTiles, Tile
from schedsearch.transforms.blocks.terms import first_dim
from schedsearch.transforms.blocks.windows import (
    along_last,
    divided,
    operand_panel,
    straighten,
)
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import (
    After,
    Args,
    At,
    Memory,
    Op,
    Steps,
)

FEW_STEPS = 8
"""gcc unrolls shorter loops before it orders sums: convolutions of 3 columns 83 and 95 GFLOP/s."""

AT_ONCE = 8
"""Sums that a core adds to at once: two, and four more before the first is done."""


class BlockedNest:
    """A perfect nest around the statement `stmt`, tiled as the arguments of `register_block` say:
    first `cut`, then `divide`, `arrange`, `pack` if they ask for it, and `hold`.

    `ast` is the procedure that `nest` was found in. `partial`: there is less than one register
    along the contiguous loop, which stays whole.
    """

    def __init__(
        self,
        p: Cursors,
        ast: q.Proc,
        stmt: Cursor,
        nest: ReductionNest,
        args: Args,
        partial: bool,
        ways: Ways,
        first: Cursor | None = None,
    ) -> None:
        self.p, self.ast, self.nest, self.args, self.partial = p, ast, nest, args, partial
        self.ways = ways
        self.block_rows: int = args.get("block_rows", 0)
        self.rest: int = args.get("rest", 0)
        rows = next((loop for loop in nest.loops if loop.iter.name == args["rows"]), None)
        self.sliding = nest.sliding(rows) if rows and args.get("slide", False) is True else None
        self.rows_later = (
            args["rows"] if (ways.inside or self.block_rows) and not nest.corner else ""
        )
        self.order = [loop.iter.name for loop in nest.loops]  # outermost first
        path = p.path(stmt)
        ends = range(len(path) - len(nest.loops), len(path))
        self.loops = {name: p.at(path[:end]) for name, end in zip(self.order, ends, strict=True)}
        self.taken = names(ast)
        self.tile: list[str] = []
        self.inner: list[str] = []
        self.steps: list[str] = []  # what an instruction sums at once
        self.panel_name = ""
        self.panel = 0  # how many loops are around a packed panel
        self.first = first  # the statement, later the loops, that give the tile its first values
        self.rests: list[Cursor] = []  # loops over the rows of a block, and over those left

    def _below(self, name: str) -> str:
        return self.order[self.order.index(name) + 1]

    # -- loops ----------------------------------------------------------------------

    def cut(self) -> Steps:
        """Give iterations that the tile does not divide nests of their own, after this one."""
        for loop, factor in cuts(self.nest, self.args, self.partial):
            later = loop.iter.name == self.rows_later
            if not later and not divides(self.ast, factor, loop.hi, loop.path):
                yield from self._cut(loop, factor)

    def _cut(self, loop: q.For, factor: int) -> Steps:
        name = loop.iter.name
        yield from self.p.do("cut_loop", self.loops[name], last_multiple(loop, factor))
        if depth := self.order.index(name):
            yield from self.p.do("fission", After(self.p.path(self.loops[name])), depth)
        if self.first is not None:  # what is left is blocked as a sum alone
            around = len(self.nest.loops) - len(self.nest.reductions)
            rest = next_path(self.p.path(self.loops[self.order[0]]))
            yield from self.p.do("fission", After((*rest, *(0,) * around)), around)

    def divide(self) -> Steps:
        """Into tiles and loops over them, which keep the names of the loops divided."""
        args, along, rows = self.args, self.nest.along.iter.name, self.args["rows"]
        if self.partial or self.rest:
            self.tile = [along]
        else:
            yield from self._split(along, args["lanes"] * args["tile_vectors"], "v")
            vector = self._below(along)
            yield from self._split(vector, args["lanes"], "l")
            self.tile = [vector, self._below(vector)]
        if self.nest.corner:
            self.tile = [rows, *self.tile]
        elif rows and not self.rows_later:
            yield from self._split(rows, args["tile_rows"], "r")
            self.tile = [self._below(rows), *self.tile]
        reductions = [loop.iter.name for loop in self.nest.reductions]
        if args["depth"]:
            yield from self._split(reductions[-1], args["depth"], "c")
            reductions.append(self._below(reductions[-1]))
        self.inner = reductions[len(reductions) - args["inner"] :]
        if self.sliding is not None:
            taps = self.sliding[1].iter.name
            self.inner.remove(taps)
            self.inner.append(taps)
        if (steps := summed_at_once(args)) > 1:
            yield from self._split(reductions[-1], steps, "q")
            self.steps = [self._below(reductions[-1])]

    def _split(self, name: str, factor: int, suffix: str) -> Steps:
        inner = fresh(self.taken, f"{name}{suffix}")
        loop = self.loops[name]
        yield from self.p.do("divide_loop", loop, factor, (name, inner), perfect=True)
        self.loops[inner] = self.p.at(self.p.path(loop, 0))
        self.order.insert(self.order.index(name) + 1, inner)

    def arrange(self) -> Steps:
        """Outside the tile and its innermost reductions: the contiguous loop and the other
        reductions first, if there are any or a panel is packed. Of blocks of rows the reductions
        come first, then the contiguous loop, and the rows last."""
        outside = [
            name for name in self.order if name not in (*self.inner, *self.tile, *self.steps)
        ]
        reductions = [loop.iter.name for loop in self.nest.reductions]
        along = self.nest.along.iter.name
        first = [*reductions, along] if self.block_rows else [along, *reductions]
        first = [name for name in first if name in outside]
        if self.args["pack"]:  # every step of these loops has a panel of its own
            idx = self.nest.operand.idx
            moving = [x.iter.name for x in self.nest.loops if first_dim(idx, x) is not None]
            first = [n for n in outside if n in moving and n not in first] + first
            self.panel = len(first)
        if self.args["pack"] or any(name in outside for name in reductions):
            outside = first + [name for name in outside if name not in first]
        if self.block_rows:
            outside = [name for name in outside if name != self.rows_later] + [self.rows_later]
        if self.first is not None:
            yield from self._reorder([*outside, *self.tile, *self.inner])
            yield from self._part()
        yield from self._reorder([*outside, *self.inner, *self.tile, *self.steps])

    def _part(self) -> Steps:
        """Give the first values of a tile loops of their own, before its sums."""
        p, start = self.p, self.p.path(self.loops[self.tile[0]])
        assert self.first is not None
        yield from p.do("fission", After(p.path(self.first)), len(self.tile))
        self.first = p.at(start)
        for depth, name in enumerate([*self.tile, *self.inner]):
            self.loops[name] = p.at((*next_path(start), *(0,) * depth))

    def _reorder(self, wanted: Sequence[str]) -> Steps:
        for position, name in enumerate(wanted):
            while self.order.index(name) > position:
                before = self.order.index(name) - 1
                yield from self.p.do("reorder_loops", self.loops[self.order[before]])
                self.order[before : before + 2] = [name, self.order[before]]

    # -- memory -----------------------------------------------------------------------

    def pack(self) -> Steps:
        """Copy what the tiles inside read of the operand to where its rows are adjacent."""
        p, operand, loop = self.p, self.nest.operand, self.loops[self.order[self.panel]]
        self.panel_name = name = fresh(self.taken, f"{operand.buf.name}_panel")
        window = operand_panel(self.nest, self.args, self.inner, self.partial or self.rest > 0)
        start = p.path(loop)
        yield from p.do("stage_mem", loop, window, name)
        panel = p.at(start)
        if self.nest.transposed:
            dims = along_last(self.nest, self.args, self.inner)
            yield from p.do("rearrange_dim", panel, dims)
        if divided(operand.idx):
            yield from straighten(p, loop, name)
        if self.steps:
            yield from self._steps_together(panel)
        if self.rest:  # rows of whole registers lie in one cache line each
            whole = self.args["lanes"] * (self.args["tile_vectors"] + 1)
            shape = p.stmt(panel)
            assert isinstance(shape, q.Alloc)
            yield from p.do("resize_dim", panel, len(shape.shape) - 1, whole, 0)
        # Exo's heap is aligned to 16 bytes: most vectors would lie in two cache lines.
        yield from p.do("set_memory", panel, Memory("DRAM_ALIGNED"))

    def spread(self) -> Steps:
        """Pack the panels of all columns first; then take rows in blocks, and all panels for each,
        if the arguments ask for it."""
        if not self.block_rows:
            return
        along = self.loops[self.nest.along.iter.name]
        panels, rows = (yield from pack_all(self.p, along)), self.loops[self.rows_later]
        between = self.order.index(self.rows_later) - self.panel
        self.rests = yield from rows_in_blocks(
            self.p, panels, rows, between, self.block_rows, self.taken
        )

    def _steps_together(self, panel: Cursor) -> Steps:
        """Put what an instruction sums at once of a panel next to each other. Compilers make a copy
        of rows to neighbours vector code if these are written one after the other."""
        p, steps = self.p, summed_at_once(self.args)
        copy = p.at((*next_path(p.path(panel)), *((0,) if self.nest.transposed else ())))
        yield from p.do("divide_dim", panel, 0, steps)
        yield from p.do("rearrange_dim", panel, (0, 2, 1))
        new = (fresh(self.taken, "s"), fresh(self.taken, "sq"))
        yield from p.do("divide_loop", copy, steps, new, perfect=True)
        if not self.nest.transposed:
            yield from p.do("reorder_loops", At(p.path(copy, 0)))

    def hold(self) -> Steps:
        """Stage the result's tile around the innermost reductions, in registers."""
        tiles = [] if self.rows_later else [self._whole_tile()]
        if self.rows_later:
            first, *left = self.rests or [self.loops[self.rows_later]]
            above = self.order.index(self.inner[0]) - self.order.index(self.rows_later)
            rows = RowTiles(
                self.p,
                self.rows_later,
                self.args["tile_rows"],
                above,
                len(self.inner),
                len(self.tile),
                self.first is not None,
                self.taken,
            )
            tiles += yield from rows.of(first)
            for rest in left:
                tiles += yield from rows.of(rest, less_than=self.block_rows)
        held = HeldTiles(
            self.p,
            self.nest,
            self.ways,
            self._steps_in_order(),
            self.taken,
            self.sliding and self.sliding[0].buf,
            len(self.inner),
        )
        staged = []
        for block, tile, tile_rows in tiles:
            for columns in (yield from self._columns(tile)):
                given = self.first is not None
                staged.append((yield from held.stage(block, columns, tile_rows, given)))
        yield from self.p.do("simplify")
        lanes, panel = self.args["lanes"], self.panel_name if self.steps else ""
        for each in staged:
            yield from held.use_instructions(each, lanes, panel)

    def _steps_in_order(self) -> bool:
        """Whether compilers would make a sum of its own of the few steps of the innermost loop,
        which is another addition for each, though the tile has sums enough to do at once."""
        stmt, args = self.nest.stmt, self.args
        if not (self.ways.in_order and isinstance(stmt, q.Reduce) and stmt.type in FLOATS):
            return False
        registers = args["tile_rows"] * (args["tile_vectors"] + bool(self.rest))
        return (self.nest.reductions[-1].extent or inf) <= FEW_STEPS and registers >= AT_ONCE

    def _columns(self, tile: Sequence[Cursor]) -> Generator[Op | None, Any, list[Columns]]:
        """A tile's columns in whole registers, and, beside them, those in the one that is left."""
        lanes = self.args["lanes"]
        if not self.rest:
            return [Columns(tile, lanes, self.partial)]
        p, (*rows, along) = self.p, tile
        yield from p.do("cut_loop", along, lanes * self.args["tile_vectors"])
        rest = p.at(next_path(p.path(along)))
        yield from p.do("shift_loop", rest, 0)
        name = self.nest.along.iter.name
        new = (fresh(self.taken, f"{name}v"), fresh(self.taken, f"{name}l"))
        yield from p.do("divide_loop", along, lanes, new, perfect=True)
        lane = p.at(p.path(along, 0))
        left = Columns([*rows, rest], register_for(self.rest), masked=True)
        return [Columns([*rows, along, lane], lanes, masked=False), left]

    def _whole_tile(self) -> Tile:
        block, *tile = (self.loops[name] for name in (self.inner[0], *self.tile))
        return block, tile, self.args["tile_rows"]
