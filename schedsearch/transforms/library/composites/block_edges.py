"""Give what the tiles of register blocks did not divide blocks of its own.

```
for io in seq(0, 62):                     for io in seq(0, 62):
    ...  # tiles of 8 rows                    ...
for i in seq(496, 500):                   for jo in seq(0, 31):
    for j in seq(0, 496):                     acc: f32[4, 1, 16] @ VEC_F32X16
        for k in seq(0, 512):         ->      ...  # tiles of 4 rows
            C[i, j] += A[i, k] * B[k, j]
for i in seq(0, 500):                     for io in seq(0, 62):
    for j in seq(496, 500):                   ...  # masked registers
        for k in seq(0, 512):
            C[i, j] += A[i, k] * B[k, j]
```

Every nest with a loop that starts elsewhere than at 0, as `register_block` leaves them,
gets the best block of the analytic model for its own lengths: whole registers as far
as they go, then masked ones. What that leaves is treated alike. Masked registers for a
length that may be 0 are guarded (`if N % 16 > 0:`), because no instruction does nothing.
BLIS calls these the edge cases of its tiles.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import ArgValue
from schedsearch.transforms.blocks.edges import block_edges, edges
from schedsearch.transforms.library.composites import register_block
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import Args, Proposal, Steps
from schedsearch.transforms.vector.registers import register_kind

VERSION = 1

MAX_BITS = 4096
MAX_REGISTERS = 64


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    blocked = any(
        isinstance(stmt, q.Alloc) and register_kind(stmt.mem) is not None
        for stmt in q.walk(proc.body)
    )
    if blocked and next(edges(proc), None) is not None:
        yield None, {"bits": target.vector_bits, "registers": target.vector_registers}


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    bits, registers = checked(path, args)
    p = Cursors((yield None))
    if not (yield from block_edges(p, bits, registers, register_block.block)):
        raise RewriteError("there is nothing left to block")


def checked(path: q.Path, args: Args) -> tuple[int, int]:
    """Bits and number of the registers to block for. Raises RewriteError if there are none such."""
    bits, registers = args["bits"], args["registers"]
    if path or not (_whole(bits, 32, MAX_BITS) and _whole(registers, 4, MAX_REGISTERS)):
        raise RewriteError("blocks are for registers of some bits, and for the whole procedure")
    return bits, registers


def _whole(value: ArgValue, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high
