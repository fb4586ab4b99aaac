"""Carry out an innermost loop on whole vector registers.

```
for i in seq(0, n):                      for io in seq(0, n / 8):
    y[i] = a * x[i] + y[i]        ->         vec_f32x8_...(y[8 * io:8 * io + 8], a, x[...])
                                         if n % 8 > 0:
                                             vec_f32x8_...(n % 8, y[...], a, x[...])
```

For a loop of assignments and reductions whose iterations are independent, whose
accesses move with it by one element or not at all, and which writes only what moves;
scalars declared inside become registers. Each copy of the body is one instruction
(`transforms/vector/fused`), generated for it.

`lanes` is the length of a register, `unroll` how many follow each other. What the
registers do not cover is the argument `tail`: `none` (nothing is left), `cut` (a
scalar loop), `masked` (an instruction for the first `n` lanes).

With `aligned` the whole loop is one instruction, in `unroll` registers at a time. It begins with
the iterations before a register that is aligned, since one that lies in two cache lines takes twice
as long:

```
for j in seq(0, n):
    y[i, j] = r * x[i, j]     ->     vec_f32x8_mul_...(n, y[i, 0:n], r, x[i, 0:n])
```

Of a loop whose length is not known, just one of `least` iterations and more is that instruction:
compilers are faster with short ones. With `shifted`, too, it loads each register of a row that
neighbours share once (`x[j - 1] + x[j]`), and makes the others of two of them.
"""

from collections.abc import Iterator

from schedsearch.analysis.ranges import loops_at
from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.factors import divides
from schedsearch.transforms.blocks.vectors import (
    LONG,
    TAILS,
    divide_loop,
    running_from_zero,
    use_instruction,
    worth_aligning,
)
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps
from schedsearch.transforms.vector.fused.model import Fused, widest
from schedsearch.transforms.vector.fused.recognise import fuse
from schedsearch.transforms.vector.fused.shifted import worth_shifting

VERSION = 1
NORMAL_FORM = 6
NORMAL_ARGS = {"aligned": True}

MAX_UNROLL = 8

ALIGNED = ((LONG, 4, True), (8, 2, True), (4, 1, True), (LONG, 4, False))
"""From how many registers on a loop is one instruction, how many of them it takes at a time, and
whether it loads rows once."""


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for loop in loops(proc):
        lanes = _lanes(target, loop)
        fused = _vectorised(proc, loop, lanes, structures=False) if lanes > 1 else None
        if fused is None:
            continue
        if loop.extent is not None and loop.extent < lanes:
            yield loop, {"lanes": lanes, "unroll": 1, "tail": "masked"}
            continue
        for unroll in (1, 4):
            factor = lanes * unroll
            if unroll > 1 and loop.extent is not None and loop.extent < factor:
                continue
            whole = divides(proc, factor, loop.hi - loop.lo)
            yield loop, {"lanes": lanes, "unroll": unroll, "tail": "none" if whole else "masked"}
            if unroll == 1 and not whole:
                yield loop, {"lanes": lanes, "unroll": unroll, "tail": "cut"}
        yield from _aligned(proc, loop, fused, target)


def _aligned(proc: q.Proc, loop: q.For, fused: Fused, target: Target) -> Iterator[Proposal]:
    """Those in which `fused` is the whole loop."""
    if target.threads > 1 and len([*loops_at(proc, loop.path)]) == 1:
        return  # threads divide it
    lanes, shared = fused.lanes, worth_shifting(fused)
    for registers, unroll, shifted in ALIGNED:
        if (loop.extent is None and registers < LONG) or (shifted and not shared):
            continue
        if worth_aligning(proc, loop, lanes, target, registers):
            whole: dict[str, ArgValue] = {"lanes": lanes, "unroll": unroll, "tail": "masked"}
            whole["aligned"] = True
            if shifted:
                whole["shifted"] = True
            if loop.extent is None:
                whole["least"] = registers * lanes
            yield loop, whole


def _lanes(target: Target, loop: q.For) -> int:
    """Lanes of a register, or of the part of one that takes a short loop in one go."""
    full = max(target.vector_bits // (8 * widest(loop.body)), 1)
    if loop.extent is None or loop.extent >= full:
        return full
    return 1 << (loop.extent - 1).bit_length() if loop.extent else 1


def _vectorised(proc: q.Proc, loop: q.For, lanes: int, structures: bool) -> Fused | None:
    """The vector form of a loop, if it has one; with `structures` also if its elements are members
    of such, which `scalarise` proposes."""
    fused = fuse(proc, loop, lanes, counted=True)
    plain = fused is not None and all(
        not op.registers and (op.moves or not op.written) and (structures or not op.inner)
        for op in fused.operands
    )
    return fused if plain else None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    loop = ast.by_path[path]
    lanes, unroll, tail = _checked(args)
    if not isinstance(loop, q.For) or _vectorised(ast, loop, lanes, structures=True) is None:
        raise RewriteError("the iterations of this loop have no vector form")
    p = Cursors((yield None))
    if args.get("aligned", False) is True:
        if tail != "masked":
            raise RewriteError("a loop in one instruction has a masked tail")
        path = yield from running_from_zero(p, path, _least(args))
        shifted = args.get("shifted", False) is True
        yield from use_instruction(
            p, path, lanes, True, chains=unroll, aligned=True, shifted=shifted
        )
        return
    held = p.at(path)
    if loop.lo != q.Affine(0):
        yield from p.do("shift_loop", held, 0)
    if loop.extent is not None and loop.extent < lanes:
        if tail != "masked" or not loop.extent:
            raise RewriteError("a loop shorter than a register is masked")
        yield from use_instruction(p, path, lanes, counted=True)
        return
    taken = names(ast)
    outer, vector, lane = (fresh(taken, f"{loop.iter.name}{suffix}") for suffix in "ovl")
    new = (outer, vector if unroll > 1 else lane)
    yield from divide_loop(p, held, lanes * unroll, new, lanes, tail)
    inner = p.at(p.path(held, 0))
    if unroll == 1:
        yield from use_instruction(p, p.path(inner), lanes, counted=False)
        return
    yield from p.do("divide_loop", inner, lanes, (vector, lane), perfect=True)
    yield from use_instruction(p, p.path(inner, 0), lanes, counted=False)
    yield from p.do("unroll_loop", inner)


def _least(args: Args) -> int:
    least = args.get("least", 1)
    if type(least) is not int or least < 1:
        raise RewriteError("the least number of iterations is a whole number from 1 on")
    return least


def _checked(args: Args) -> tuple[int, int, str]:
    """The arguments, if `propose` could have given them: a trace may come from anywhere."""
    lanes, unroll, tail = args["lanes"], args["unroll"], args["tail"]
    if not all(type(number) is int and number >= 1 for number in (lanes, unroll)):
        raise RewriteError("lanes and unroll are whole numbers from 1 on")
    if unroll > MAX_UNROLL or tail not in TAILS:
        raise RewriteError(f"there is no vector form with unroll {unroll} and tail {tail!r}")
    return lanes, unroll, tail
