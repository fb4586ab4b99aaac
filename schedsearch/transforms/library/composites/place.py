"""Choose where a buffer is: heap, aligned heap or stack.

```
for i in seq(0, n):                         for i in seq(0, n):
    t: f32[64, 64] @ DRAM             ->        t: f32[64, 64] @ DRAM_STACK_ALIGNED
    s                                           s
```

Exo's heap is a `malloc` each time the allocation is executed, aligned to 16 bytes,
so that most loads of wide vectors touch two cache lines. Static memory, which is not re-entrant,
is left where a user chose it.
"""

from collections.abc import Iterator
from math import prod

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.exo.memories import MEMORIES
from schedsearch.transforms.operators.ops import Args, At, Memory, Op, Proposal, Steps

VERSION = 1

STACK_BYTES = 64 * 1024
"""Largest buffer for the stack."""

ALL_STACK_BYTES = 512 * 1024
"""All of a procedure's buffers on the stack: threads have stacks of some MiB."""

SMALL_BYTES = 4096
"""Smaller buffers of constant size are offered the stack alone."""

_STACK = ("DRAM_STACK", "DRAM_STACK_ALIGNED")
_PRESENT = {*MEMORIES, *_STACK, "DRAM_STATIC"}


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    for alloc in q.walk(proc.body):
        if isinstance(alloc, q.Alloc):
            size = size_of(alloc)
            for place in ("DRAM_STACK_ALIGNED", "DRAM_ALIGNED", "DRAM"):
                small = size is not None and size < SMALL_BYTES and place not in _STACK
                # Plain heap is where buffers are to begin with: only a way out of static memory.
                back = place == "DRAM" and alloc.mem != "DRAM_STATIC"
                if not (small or back) and refusal(proc, alloc, place) is None:
                    yield alloc, {"memory": place}


def size_of(alloc: q.Alloc) -> int | None:
    """Size of a buffer; None if it is not constant."""
    if not all(extent.is_const for extent in alloc.shape):
        return None
    return prod(extent.const for extent in alloc.shape) * ELEMENT_BITS[alloc.type] // 8


def refusal(proc: q.Proc, alloc: q.Alloc, place: str) -> str | None:
    """Why a buffer cannot be moved to `place`; None if it can."""
    if place not in MEMORIES or alloc.mem not in _PRESENT or not alloc.shape:
        return f"arrays in {', '.join(sorted(_PRESENT))} can be moved to {', '.join(MEMORIES)}"
    if place == alloc.mem:
        return "it is there already"
    size = size_of(alloc)
    if size is None:
        return f"{place} needs a constant size" if place in _STACK else None
    if place in _STACK:
        others = sum(
            size_of(stmt) or 0
            for stmt in q.walk(proc.body)
            if isinstance(stmt, q.Alloc) and stmt.mem in _STACK and stmt.shape
        )
        if size > STACK_BYTES or size + others > ALL_STACK_BYTES:
            return f"{size} bytes are too many for the stack"
    return None


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    place = str(args["memory"])
    alloc = ast.by_path.get(path)
    if not isinstance(alloc, q.Alloc):
        raise RewriteError("there is no allocation")
    if reason := refusal(ast, alloc, place):
        raise RewriteError(reason)
    yield Op("set_memory", (At(path), Memory(place)))
