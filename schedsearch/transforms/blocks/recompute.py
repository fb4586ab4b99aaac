"""The steps of overlapped tiling (`library/composites/overlapped_tile.py`).

With tiles of S rows, h rows of border, n tiles, the block goes through these states; each
line is a loop nest, `t` is the producer's buffer, `u` another like it, `w` the tiles' own:

    t = f; o = g(t)
    t = f; w[:S] = t; w[S:] = t; o = g(w)              stage, fission
    t = f; u = t; w[S:] = u; w[:S] = t; o = g(w)       stage again
    u = f; w[S:] = u; t = f; w[:S] = t; o = g(w)       the value for its copy
    w[S:] = f; w[:S] = f; o = g(w)                     likewise, `u` and `t` are gone
    for each tile: w = f; o = g(w)                     fuse, join, sink
"""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.analysis.walkers import fresh, names, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.overlap import Overlap
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import After, At, Op, Pair, Span, Steps
from schedsearch.transforms.operators.outward import rearrange


def recompute(ast: q.Proc, overlap: Overlap, tile: int) -> Steps:
    """Operators that give each `tile` iterations of the consumer a producer of their own."""
    yield from _Tiling(ast, overlap, tile).steps()


class _Rows:
    """Consecutive statements of one block, by names of their own. Each is a nest, whose loops are
    reordered: a cursor would follow one of the loops. The steps say what is inserted, removed or
    cut (`replace`)."""

    def __init__(self, first: q.Path, names: Sequence[str]) -> None:
        self._first = first
        self._names = list(names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def path(self, name: str, *inside: int) -> q.Path:
        return (*shifted(self._first, self._names.index(name)), *inside)

    def at(self, name: str, *inside: int) -> At:
        return At(self.path(name, *inside))

    def replace(self, name: str, *names: str) -> None:
        """The statement is now several, or none."""
        position = self._names.index(name)
        self._names[position : position + 1] = names

    def move(self, name: str, before: str) -> Steps:
        """Move one statement to the place before another, by swaps."""
        position, goal = self._names.index(name), self._names.index(before)
        down = position < goal
        for _ in range(goal - position - 1 if down else position - goal):
            first = position if down else position - 1
            yield Op("reorder_stmts", (Pair(shifted(self._first, first)),))
            self._names[first : first + 2] = reversed(self._names[first : first + 2])
            position += 1 if down else -1


class _Tiling:
    """One application: what does not change in it, and where its statements are (`rows`)."""

    def __init__(self, ast: q.Proc, overlap: Overlap, tile: int) -> None:
        taken = names(ast)
        self.overlap = overlap
        self.tile = tile
        self.size = overlap.step * tile
        self.border = overlap.border
        self.dims = len(overlap.order)
        self.loops = [overlap.dim, *(d for d in overlap.order if d != overlap.dim)]
        whole = divides(ast, tile, overlap.rows, overlap.loop.path)
        self.tail = not whole
        self.count = q.floor_div(overlap.rows, tile)
        self.covered = overlap.rows if whole else self.count.scaled(tile)
        self.buffer = overlap.alloc.buf.name
        self.own = fresh(taken, f"{self.buffer}_t")
        self.second = fresh(taken, f"{self.buffer}_b")
        self.outer = overlap.loop.iter.name
        if tile > 1:
            self.outer = fresh(taken, f"{self.outer}o")
        self.inner = fresh(taken, f"{overlap.loop.iter.name}i")
        between = [str(number) for number in range(overlap.between)]
        self.rows = _Rows(overlap.producer.path, ["t", *between, "o"])

    def steps(self) -> Steps:
        yield from self.rows.move("t", "o")
        yield from self._producer()
        yield from self._consumer()
        yield from self._stage()
        if self.border:
            yield from self._border()
        yield from self._main()
        yield from self._join()

    def _producer(self) -> Steps:
        """Loops from 0 on, the tiled one outermost."""
        path = self.rows.path("t")
        stmt: q.Stmt = self.overlap.producer
        for depth in range(self.dims):
            assert isinstance(stmt, q.For)
            if stmt.lo != q.Affine(0):
                yield Op("shift_loop", (At((*path, *(0,) * depth)), 0))
            stmt = stmt.body[0]
        yield from rearrange(path, self.overlap.order, self.loops)

    def _consumer(self) -> Steps:
        """The loop over tiles outermost, what is left after it."""
        rows, depth = self.rows, self.overlap.depth
        for level in reversed(range(depth)):
            yield Op("reorder_loops", (rows.at("o", *(0,) * level),))
        if self.overlap.loop.lo != q.Affine(0):
            yield Op("shift_loop", (rows.at("o"), 0))
        if self.tail:
            yield Op("cut_loop", (rows.at("o"), _number(self.covered)))
            rows.replace("o", "o", "tail")
            for level in range(depth):
                yield Op("reorder_loops", (rows.at("tail", *(0,) * level),))
        if self.tile > 1:
            new = (self.outer, self.inner)
            yield Op("divide_loop", (rows.at("o"), self.tile, new), (("perfect", True),))
            for level in range(depth):
                yield Op("reorder_loops", (rows.at("o", *(0,) * (level + 1)),))

    def _stage(self) -> Steps:
        """What a tile reads goes through a buffer of its own; copies are loops of their own."""
        rows = self.rows
        # A tile's iterations are one statement, and so is what a loop was moved around.
        alone = self.tile > 1 or self.overlap.depth > 0
        reader, count = (0, 1) if alone else self.overlap.readers
        window = []
        for dim, (offset, extent) in enumerate(
            zip(self.overlap.offsets, self.overlap.extents, strict=True)
        ):
            if dim == self.overlap.dim:
                first = f"{self.size} * {self.outer} + {offset + self.overlap.first}"
                window.append(f"{first} : {first} + {self.size + self.border}")
            else:
                window.append(f"{offset} : {show_affine(extent + offset)}")
        readers = Span(rows.path("o", reader), count)
        yield Op("stage_mem", (readers, f"{self.buffer}[{', '.join(window)}]", self.own))
        after = mirror((yield Op("simplify")))
        copy = rows.path("o", reader + 1)
        _check_copy(after.by_path[copy], self.dims)
        yield from rearrange(copy, range(self.dims), self.loops)
        copies = [copy]
        if self.border:
            yield Op("cut_loop", (At(copy), self.size))
            yield Op("shift_loop", (At(shifted(copy, 1)), 0))
            copies.append(shifted(copy, 1))
        alloc = rows.at("o", reader)
        yield Op("expand_dim", (alloc, _number(self.count), self.outer))
        yield Op("lift_alloc", (alloc,))
        rows.replace("o", "w", "o")
        for number, _ in enumerate(copies):
            for position in reversed(range(number, number + reader)):
                yield Op("reorder_stmts", (Pair(rows.path("o", position)),))
        for name in ("main", "edge")[: len(copies)]:
            yield Op("fission", (After(rows.path("o", 0)),))
            rows.replace("o", name, "o")

    def _border(self) -> Steps:
        """The border's copy becomes a computation, by way of a second buffer."""
        rows, overlap = self.rows, self.overlap
        box = [
            f"{offset} : {show_affine(extent + offset)}"
            for offset, extent in zip(overlap.offsets, overlap.extents, strict=True)
        ]
        window = f"{self.buffer}[{', '.join(box)}]"
        yield Op("stage_mem", (rows.at("edge"), window, self.second))
        rows.replace("edge", "u", "copy", "edge")
        yield from rearrange(rows.path("copy"), range(self.dims), self.loops)
        yield from rows.move("main", "o")
        yield from rows.move("t", "copy")
        yield from _fuse_nests(rows.path("t"), self.dims)
        rows.replace("copy")
        store = rows.path("t", *(0,) * self.dims)
        # The value is stored twice, so that one store can be given away.
        yield Op("add_loop", (At(store), "again", 2))
        yield Op("unroll_loop", (At(store),))
        yield from _inline_copy(shifted(store, 1))
        yield Op("fission", (After(store), self.dims))
        rows.replace("t", "t", "border")
        yield from rows.move("t", "main")
        yield from self._cut("border", overlap.first + self.border)
        yield Op("cut_loop", (rows.at("border", 0), self.size - self.border))
        yield Op("shift_loop", (rows.at("border", 1), 0))
        yield Op("fission", (After(rows.path("border", 0)),))
        rows.replace("border", "between", "border")
        yield from self._match("border", "edge")
        yield from self._forget("before", "between", "after")
        yield Op("delete_buffer", (rows.at("u"),))
        rows.replace("u")

    def _main(self) -> Steps:
        """The main part's copy becomes a computation; the rest of the producer is for the tail."""
        rows = self.rows
        yield from rows.move("t", "main")
        yield from self._cut("t", self.overlap.first)
        yield from self._match("t", "main")
        yield from self._forget("before", *(() if self.tail else ("after",)))

    def _cut(self, name: str, first: int) -> Steps:
        """Tiles of the producer's rows from `first` on; what is before and after them apart."""
        rows = self.rows
        if first:
            yield Op("cut_loop", (rows.at(name), first))
            rows.replace(name, "before", name)
            yield Op("shift_loop", (rows.at(name), 0))
        if self._rest(first) != q.Affine(0):
            yield Op("cut_loop", (rows.at(name), _number(self.covered.scaled(self.overlap.step))))
            rows.replace(name, name, "after")
        new = (self.outer, self.inner)
        yield Op("divide_loop", (rows.at(name), self.size, new), (("perfect", True),))

    def _rest(self, first: int) -> q.Affine:
        """Rows of the producer after those of the tiles, which begin at `first`."""
        overlap = self.overlap
        return overlap.extents[overlap.dim] - first - self.covered.scaled(overlap.step)

    def _match(self, name: str, copy: str) -> Steps:
        """Give the copy the value that a nest over the same rows stores, instead of it."""
        if "after" in self.rows:
            yield from self.rows.move(copy, "after")
        yield from _fuse_nests(self.rows.path(name), self.dims + 1)
        self.rows.replace(copy)
        yield from _inline_copy(self.rows.path(name, *(0,) * (self.dims + 1)))

    def _forget(self, *names: str) -> Steps:
        """Drop stores to rows that nobody reads any more."""
        found = [name for name in names if name in self.rows]
        for name in found:
            depth = self.dims + (name == "between")
            path = self.rows.path(name, *(0,) * depth)
            yield Op("inline_assign", (At(path),))
        if found:
            yield Op("delete_pass")
        for name in found:
            self.rows.replace(name)

    def _join(self) -> Steps:
        """One loop over tiles, each with its rows in a buffer inside the loop."""
        rows, overlap = self.rows, self.overlap
        if "after" in rows:
            yield from rows.move("after", "tail")
            yield from rearrange(rows.path("after"), self.loops, overlap.order)
        if self.border:
            yield from rows.move("border", "o")
            yield from _fuse_nests(rows.path("t"), 1)
            rows.replace("border")
            yield Op("shift_loop", (rows.at("t", 1), self.size))
            yield Op("simplify")
            yield Op("join_loops", (rows.at("t", 0), rows.at("t", 1)))
        yield from rearrange(rows.path("t", 0), self.loops, overlap.order)
        yield Op("fuse", (rows.at("t"), rows.at("o")))
        rows.replace("o")
        yield Op("sink_alloc", (rows.at("w"),))
        rows.replace("w")
        alloc, dim = rows.at("t", 0), overlap.dim
        yield Op("resize_dim", (alloc, 0, 1, self.outer))
        if dim:
            order = (*range(1, dim + 1), 0, *range(dim + 1, self.dims + 1))
            yield Op("rearrange_dim", (alloc, order))
        yield Op("mult_dim", (alloc, dim, dim + 1))
        if self.tail:
            first = self.covered.scaled(overlap.step) + overlap.first
            kept = (_number(self._rest(overlap.first)), _number(first + overlap.offsets[dim]))
            yield Op("resize_dim", (At(overlap.alloc.path), dim, *kept))
        yield Op("simplify")
        if not self.tail:
            yield Op("delete_buffer", (At(overlap.alloc.path),))


def _fuse_nests(path: q.Path, depth: int) -> Steps:
    """Fuse `depth` perfectly nested loops at `path` with those of the next statement."""
    for level in range(depth):
        first = (*path, *(0,) * level)
        yield Op("fuse", (At(first), At(shifted(first, 1))))


def _check_copy(stmt: q.Stmt, depth: int) -> None:
    """Raise RewriteError unless Exo copies without conditions, as it does what is in bounds."""
    for _ in range(depth):
        stmt = stmt.body[0] if isinstance(stmt, q.For) else stmt
    if not isinstance(stmt, q.Assign):
        raise RewriteError("a tile would read outside of the producer's buffer")


def _inline_copy(path: q.Path) -> Steps:
    """Store the value of the statement at `path` where the next one copies it to, not there."""
    ast = mirror((yield Op("simplify")))  # inline_assign compares indices as text
    store, copy = ast.by_path[path], ast.by_path[shifted(path, 1)]
    if not (
        isinstance(store, q.Assign)
        and isinstance(copy, q.Assign)
        and isinstance(copy.rhs, q.Read)
        and (copy.rhs.buf, copy.rhs.idx) == (store.buf, store.idx)
    ):
        raise RewriteError("the producer's rows are not the ones that are copied")
    after = mirror((yield Op("inline_assign", (At(path),))))
    if store.buf in q.used_vars((after.by_path[path],)):
        raise RewriteError("the copy is written in another way")


def _number(value: q.Affine) -> int | str:
    return value.const if value.is_const else show_affine(value)
