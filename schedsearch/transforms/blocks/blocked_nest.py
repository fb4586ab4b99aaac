"""A reduction nest while it is tiled for registers: where its loops are, and what is next."""

from __future__ import annotations

from collections.abc import Iterator

from schedsearch.analysis.walkers import fresh, names, shifted
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.text import show_affine
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.reductions import ReductionNest, first_dim
from schedsearch.transforms.blocks.straighten import divided, straighten
from schedsearch.transforms.blocks.tile_windows import along_last, operand_panel, result_tile
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import After, Args, At, Memory, Op, Steps, Vector
from schedsearch.transforms.vector.fused.recognise import fuse
from schedsearch.transforms.vector.registers import memory_name, set_name

PACKED = 2
"""Position of a loop among its siblings once a panel is allocated and copied before it."""


class BlockedNest:
    """A perfect nest that starts at `path`, tiled as the arguments of `register_block` say:
    first `cut`, then `divide`, `arrange`, `pack` if they ask for it, and `hold`.

    `partial`: there is less than one register along the contiguous loop, which stays whole.
    """

    def __init__(
        self, ast: q.Proc, path: q.Path, nest: ReductionNest, args: Args, partial: bool
    ) -> None:
        self.ast, self.path, self.nest, self.args, self.partial = ast, path, nest, args, partial
        self.order = [loop.iter.name for loop in nest.loops]  # outermost first
        self.taken = names(ast)
        self.tile: list[str] = []
        self.inner: list[str] = []
        self.panel = 0  # how many loops are around a packed panel
        self.packed: int | None = None  # the same, once it is there

    def path_of(self, name: str) -> q.Path:
        depths = range(1, self.order.index(name) + 1)
        outermost = shifted(self.path, PACKED) if self.packed == 0 else self.path
        return (*outermost, *(PACKED if depth == self.packed else 0 for depth in depths))

    def _at(self, name: str) -> At:
        return At(self.path_of(name))

    def _below(self, name: str) -> str:
        return self.order[self.order.index(name) + 1]

    # -- loops ----------------------------------------------------------------------

    def cut(self) -> Iterator[Op]:
        """Give iterations that the tile does not divide nests of their own, after this one."""
        args, nest = self.args, self.nest
        if not self.partial:
            yield from self._cut(nest.along.iter.name, args["lanes"] * args["tile_vectors"])
        if args["rows"]:
            yield from self._cut(args["rows"], args["tile_rows"])
        if args["depth"]:
            yield from self._cut(nest.reductions[-1].iter.name, args["depth"])

    def _cut(self, name: str, factor: int) -> Iterator[Op]:
        loop = next(loop for loop in self.nest.loops if loop.iter.name == name)
        if divides(self.ast, factor, loop.hi, loop.path):
            return
        point = f"{factor} * (({show_affine(loop.hi)}) / {factor})"
        at = point if loop.extent is None else loop.extent // factor * factor
        yield Op("cut_loop", (self._at(name), at))
        if self.order.index(name):
            yield Op("fission", (After(self.path_of(name)), self.order.index(name)))

    def divide(self) -> Iterator[Op]:
        """Into tiles and loops over them, which keep the names of the loops divided."""
        args, along, rows = self.args, self.nest.along.iter.name, self.args["rows"]
        if self.partial:
            self.tile = [along]
        else:
            yield from self._split(along, args["lanes"] * args["tile_vectors"], "v")
            vector = self._below(along)
            yield from self._split(vector, args["lanes"], "l")
            self.tile = [vector, self._below(vector)]
        if rows:
            yield from self._split(rows, args["tile_rows"], "r")
            self.tile = [self._below(rows), *self.tile]
        reductions = [loop.iter.name for loop in self.nest.reductions]
        if args["depth"]:
            yield from self._split(reductions[-1], args["depth"], "c")
            reductions.append(self._below(reductions[-1]))
        self.inner = reductions[len(reductions) - args["inner"] :]

    def _split(self, name: str, factor: int, suffix: str) -> Iterator[Op]:
        inner = fresh(self.taken, f"{name}{suffix}")
        yield Op("divide_loop", (self._at(name), factor, (name, inner)), (("perfect", True),))
        self.order.insert(self.order.index(name) + 1, inner)

    def arrange(self) -> Iterator[Op]:
        """Outside the tile and its innermost reductions: the contiguous loop and the other
        reductions first, if there are any or a panel is packed."""
        outside = [name for name in self.order if name not in (*self.inner, *self.tile)]
        reductions = [loop.iter.name for loop in self.nest.reductions]
        first = [name for name in (self.nest.along.iter.name, *reductions) if name in outside]
        if self.args["pack"]:  # every step of these loops has a panel of its own
            idx = self.nest.operand.idx
            moving = [x.iter.name for x in self.nest.loops if first_dim(idx, x) is not None]
            first = [n for n in outside if n in moving and n not in first] + first
            self.panel = len(first)
        if self.args["pack"] or any(name in outside for name in reductions):
            outside = first + [name for name in outside if name not in first]
        for position, name in enumerate([*outside, *self.inner, *self.tile]):
            while self.order.index(name) > position:
                before = self.order.index(name) - 1
                yield Op("reorder_loops", (self._at(self.order[before]),))
                self.order[before : before + 2] = [name, self.order[before]]

    # -- memory -----------------------------------------------------------------------

    def pack(self) -> Steps:
        """Copy what the tiles inside read of the operand to where its rows are adjacent."""
        operand, home = self.nest.operand, self.path_of(self.order[self.panel])
        name = fresh(self.taken, f"{operand.buf.name}_panel")
        window = operand_panel(self.nest, self.args, self.inner, self.partial)
        after = yield Op("stage_mem", (At(home), window, name))
        if self.nest.transposed:
            dims = along_last(self.nest, self.args, self.inner)
            after = yield Op("rearrange_dim", (At(home), dims))
        if divided(operand.idx):
            yield from straighten(mirror(after), shifted(home, PACKED), name)
        # Exo's heap is aligned to 16 bytes: most vectors would lie in two cache lines.
        yield Op("set_memory", (At(home), Memory("DRAM_ALIGNED")))
        self.packed = self.panel

    def hold(self) -> Steps:
        """Stage the result's tile around the innermost reductions, in registers."""
        nest, width = self.nest, self.args["lanes"]
        block = self.path_of(self.inner[0])
        name = fresh(self.taken, f"{nest.stmt.buf.name}_tile")
        window = result_tile(nest, self.args, self.partial)
        after = yield Op("stage_mem", (At(block), window, name))
        alloc, load, compute, store = ((*block[:-1], n) for n in range(4))
        if divided(nest.stmt.idx):
            yield from straighten(mirror(after), compute, name)
        body = (*compute, *(0,) * (len(self.inner) + len(self.tile) - 1))
        depth = (0,) if self.args["rows"] else ()
        copies = (*load, *depth), (*store, *depth)
        kind = nest.stmt.type
        memory = Op("set_memory", (At(alloc), Vector(kind, width, memory_name(kind, width))))
        if self.partial:
            yield Op("resize_dim", (At(alloc), len(depth), width, 0))
            yield memory
            after = yield Op("simplify")
            for where in (copies[0], body, copies[1]):
                after = yield replacement(mirror(after), where, width, counted=True)
            return
        yield Op("divide_dim", (At(alloc), len(depth), width))
        yield memory
        for where in copies:
            new = (fresh(self.taken, "v"), fresh(self.taken, "l"))
            yield Op("divide_loop", (At(where), width, new), (("perfect", True),))
        yield Op("simplify")
        prefix = set_name(kind, width)
        for where, does in zip(copies, ("load", "store"), strict=True):
            instruction = Vector(kind, width, f"{prefix}_{does}")
            after = yield Op("replace", (At((*where, 0)), instruction))
        if nest.converted:
            yield replacement(mirror(after), body, width, counted=False)
        else:
            yield Op("replace", (At(body), Vector(kind, width, f"{prefix}_{nest.instruction}")))


def replacement(ast: q.Proc, path: q.Path, lanes: int, counted: bool) -> Op:
    """The operator that makes the loop at `path` an instruction."""
    loop = ast.by_path[path]
    assert isinstance(loop, q.For)
    fused = fuse(ast, loop, lanes, counted)
    if fused is None:
        raise RewriteError("the divided loop has no vector form")
    return Op("replace", (At(path), fused))
