"""Tiles of a result in vector registers: staged there, then their loops made instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schedsearch.analysis.accesses import reads
from schedsearch.analysis.walkers import fresh, next_path, shifted
from schedsearch.core import ast as q
from schedsearch.transforms.blocks.byte_nests import tile_instruction
from schedsearch.transforms.blocks.reductions import ReductionNest
from schedsearch.transforms.blocks.vectors import use_instruction
from schedsearch.transforms.blocks.windows import box_of_tile, divided, straighten
from schedsearch.transforms.operators.cursors import Cursor, Cursors
from schedsearch.transforms.operators.ops import At, Op, Pair, Steps, Vector
from schedsearch.transforms.vector.registers import memory_name, set_name


@dataclass(frozen=True)
class Ways:
    """How nests are blocked; older traces have none of these.

    `inside`: rows that the tile does not divide have smaller tiles beside it, which use the same
    panel, instead of a nest of their own. `whole`: masked registers are loaded whole where arrays
    have the elements. `spare`: their lanes beyond the columns may have any value. `in_order`: what
    compilers unroll is added up as it is written. `once`: masked registers are one each, without a
    loop over more. `held`: operands that tiles use again stay in registers.
    """

    inside: bool = False
    whole: bool = False
    spare: bool = False
    in_order: bool = False
    once: bool = False
    held: bool = False


AS_BEFORE = Ways()


@dataclass(frozen=True)
class Columns:
    """The loops of a tile over columns that registers of `width` elements hold: whole ones, or one
    that is `masked`."""

    tile: Sequence[Cursor]
    width: int
    masked: bool


@dataclass(frozen=True)
class HeldTile:
    """Loops to become instructions: they load a tile, give it its `first` values (if any do),
    compute, and store it. `block` are the reductions around the tile's loops. `operands`: what
    loads those that stay in registers, `taps`: the loop that slides along one of them."""

    columns: Columns
    load: Cursor
    first: Cursor | None
    block: Cursor
    store: Cursor
    operands: tuple[Cursor, ...] = ()
    taps: Cursor | None = None


@dataclass(frozen=True)
class HeldTiles:
    """What tiles of a nest have in common. `in_order`: their steps are added up as written.
    `sliding`: the array along which the innermost of the `inner` reductions around a tile slides,
    if one does."""

    p: Cursors
    nest: ReductionNest
    ways: Ways
    in_order: bool
    taken: frozenset[str]
    sliding: q.Var | None
    inner: int

    def stage(
        self, block: Cursor, columns: Columns, tile_rows: int, given: bool
    ) -> Generator[Op | None, Any, HeldTile]:
        """Stage the tile of the reductions at `block` in registers. `given`: the statement before
        them gives it its first values."""
        p, nest, width, tile = self.p, self.nest, columns.width, columns.tile
        name = fresh(self.taken, f"{nest.stmt.buf.name}_tile")
        loops = [p.stmt(loop) for loop in tile]
        *_, stored = q.walk((loops[-1],))  # what comes before it reads its operands
        assert isinstance(stored, q.Assign | q.Reduce)
        tiled = [loop for loop in loops if isinstance(loop, q.For)]
        window = box_of_tile(stored, tiled, columns.masked)
        start = shifted(p.path(block), -1) if given else p.path(block)
        staged = Pair(start) if given else At(start)
        yield from p.do("stage_mem", staged, window, name)
        if divided(stored.idx):
            yield from straighten(p, block, name)
        alloc = p.at(start)
        rows = (0,) if tile_rows > 1 else ()
        load, store = (p.at((*next_path(at), *rows)) for at in (start, p.path(block)))
        first = p.at((*shifted(p.path(block), -1), *rows, 0)) if given else None
        kind = nest.stmt.type
        if columns.masked:
            yield from p.do("resize_dim", alloc, len(rows), width, 0)
        else:
            yield from p.do("divide_dim", alloc, len(rows), width)
        yield from p.do("set_memory", alloc, Vector(kind, width, memory_name(kind, width)))
        for loop in () if columns.masked else (load, store):
            new = (fresh(self.taken, "v"), fresh(self.taken, "l"))
            yield from p.do("divide_loop", loop, width, new, perfect=True)
        held = HeldTile(columns, load, first, block, store)
        if columns.masked:
            return held
        if self.sliding is not None:
            taps = p.at(p.path(block, *(0,) * (self.inner - 1)))
            loaded = yield from self._hold([taps, *tile], width, [self.sliding])
            return replace(held, operands=loaded, taps=taps)
        if self.ways.held and tile_rows > 1:
            row, lane = loops[0], loops[-1]
            assert isinstance(row, q.For)
            assert isinstance(lane, q.For)
            of_all_rows = [
                each.buf
                for each, times in Counter(reads(stored.rhs)).items()
                if times == 1 and each.idx and lane.iter in q.expr_vars(each.idx[-1])
                if row.iter not in q.expr_vars(each)
            ]
            alone = [buf for buf, times in Counter(of_all_rows).items() if times == 1]
            return replace(held, operands=(yield from self._hold(tile, width, alone)))
        return held

    def _hold(
        self, around: Sequence[Cursor], width: int, arrays: Sequence[q.Var]
    ) -> Generator[Op | None, Any, tuple[Cursor, ...]]:
        """Stage what loops read of arrays in registers, around the outermost. Returns the loops
        that load them."""
        p, kind, found = self.p, self.nest.stmt.type, list[Cursor]()
        for buf in arrays:
            start, loops = p.path(around[0]), [p.stmt(loop) for loop in around]
            *_, stmt = q.walk((loops[-1],))
            assert isinstance(stmt, q.Assign | q.Reduce)
            read = next(each for each in reads(stmt.rhs) if each.buf == buf)
            moving = [loop for loop in loops if isinstance(loop, q.For)]
            window = box_of_tile(read, moving, partial=False)
            name = fresh(self.taken, f"{buf.name}_held")
            yield from p.do("stage_mem", around[0], window, name)
            yield from straighten(p, around[0], name)
            alloc = p.at(start)
            shape = p.stmt(alloc)
            assert isinstance(shape, q.Alloc)
            rows = len(shape.shape) - 1
            load = p.at((*next_path(start), *(0,) * rows))
            yield from p.do("divide_dim", alloc, rows, width)
            yield from p.do("set_memory", alloc, Vector(kind, width, memory_name(kind, width)))
            new = (fresh(self.taken, "v"), fresh(self.taken, "l"))
            yield from p.do("divide_loop", load, width, new, perfect=True)
            found.append(load)
        return tuple(found)

    def use_instructions(self, held: HeldTile, lanes: int, panel: str) -> Steps:
        """`panel`: the packed operand of which an instruction sums several steps, if one does."""
        if held.first is not None:
            yield from use_instruction(self.p, self.p.path(held.first), lanes, counted=False)
        yield from self._masked(held, panel) if held.columns.masked else self._whole(held, panel)

    def _masked(self, held: HeldTile, panel: str) -> Steps:
        p, width, body = self.p, held.columns.width, held.columns.tile[-1]
        loops = [held.load, held.store] if panel else [held.load, body, held.store]
        spare = self.ways.spare and _as_long(p, loops)
        for loop in loops:
            path, whole = p.path(loop), self.ways.whole
            in_order = spare and loop is body and self.in_order
            yield from use_instruction(
                p, path, width, True, whole, spare=spare, in_order=in_order, once=self.ways.once
            )
        if panel:
            yield from self._dots(held, panel)

    def _whole(self, held: HeldTile, panel: str) -> Steps:
        p, nest, width, body = self.p, self.nest, held.columns.width, held.columns.tile[-1]
        kind, prefix = nest.stmt.type, set_name(nest.stmt.type, width)
        for loop, does in ((held.load, "load"), (held.store, "store")):
            instruction = Vector(kind, width, f"{prefix}_{does}")
            yield from p.do("replace", At(p.path(loop, 0)), instruction)
        if held.operands:
            for load in held.operands:  # kept: else gcc reads memory again for every row or tap
                path = p.path(load, 0)
                yield from use_instruction(p, path, width, counted=False, in_order=True)
            path = p.path(body)
            yield from use_instruction(p, path, width, counted=False, in_order=self.in_order)
            if held.taps is not None:
                yield from p.do("unroll_loop", held.taps)
        elif panel:
            yield from self._dots(held, panel)
        elif nest.converted or not nest.instruction or self.in_order:
            path = p.path(body)
            yield from use_instruction(p, path, width, counted=False, in_order=self.in_order)
        else:
            yield from p.do("replace", body, Vector(kind, width, f"{prefix}_{nest.instruction}"))

    def _dots(self, held: HeldTile, panel: str) -> Steps:
        loop = self.p.stmt(held.block)
        assert isinstance(loop, q.For)
        dots = tile_instruction(self.p.ast, loop, panel, held.columns.masked)
        yield from self.p.do("replace", held.block, dots)


def write_out(p: Cursors) -> Steps:
    """Unroll loops over rows of tiles that use registers of another array: gcc unrolls up to 200
    instructions, those of indices too. Last of all, as Exo simplifies every call by itself."""
    registers = {
        each.buf
        for each in q.walk(p.ast.body)
        if isinstance(each, q.Alloc) and each.mem.startswith("VEC_")
    }
    rows = [
        each.path
        for each in q.walk(p.ast.body)
        if isinstance(each, q.For) and _uses_again(each, registers)
    ]
    for loop in reversed(rows):
        yield from p.do("unroll_loop", At(loop))


def _uses_again(loop: q.For, registers: set[q.Var]) -> bool:
    """Whether a loop of known length has nothing but instructions that write other registers in
    each iteration, and read the same ones, and scalars. Rows with vectors of their own, as filters
    have, wait for loads anyway, and gcc 12 spills what it carries from one tap to the next."""
    inside = [each for each in q.walk(loop.body) if not isinstance(each, q.For)]
    calls = [each for each in inside if isinstance(each, q.Call)]
    if not calls or len(calls) < len(inside) or loop.extent is None:
        return False
    used = {buf for call in calls for buf in q.used_vars((call,)) & registers}
    moving = [arg for call in calls for arg in call.args if loop.iter in q.expr_vars(arg)]
    vectors = {arg.buf for arg in moving if isinstance(arg, q.Window) and _is_longer(arg)}
    return len(vectors) == 1 and vectors < used


def _is_longer(window: q.Window) -> bool:
    """Than one element."""
    return any(isinstance(x, q.Interval) and x.hi - x.lo != q.Affine(1) for x in window.idx)


def _as_long(p: Cursors, loops: Sequence[Cursor]) -> bool:
    """Whether all loops over columns of a tile have the same, which none of its rows changes: no
    element of its registers beyond them is stored."""
    ends = {_by_quotients(x.hi) for x in map(p.stmt, loops) if isinstance(x, q.For)}
    return len(ends) == 1


def _by_quotients(end: q.Affine) -> q.Affine:
    """`n % 8` as `n - 8 * (n / 8)`: loads and stores of a tile end there, its sums at `n % 8`."""
    total = q.Affine(end.const)
    for atom, times in end.terms:
        value = q.as_affine(atom)
        if isinstance(atom, q.Mod):
            value = atom.num - q.floor_div(atom.num, atom.den).scaled(atom.den)
        total += value.scaled(times)
    return total
