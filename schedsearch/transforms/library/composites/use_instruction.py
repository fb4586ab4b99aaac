"""Let instructions of the target carry out a loop nest.

```
for k in seq(0, 512):
    y[i] += A[i, k] * x[k]
->
for k in seq(0, 8):
    vnni_i8_dot(y[i:i + 1], A[i, 64 * k:64 * k + 64], x[64 * k:64 * k + 64])
```

For nests that are the body of an instruction of the target's sets, on operands that are
where it wants them: plain arrays, or buffers in vector registers already. `tail` says
how the outermost loop gets the instruction's length: `whole` (it has it), `perfect` (a
multiple of it), or `cut` (a loop of its own for the rest). Of two instructions for one
whole nest, that without a variable length is taken.
"""

from collections.abc import Iterator
from dataclasses import replace

from schedsearch.analysis.ranges import bounds
from schedsearch.analysis.rounding import inexact_body
from schedsearch.analysis.walkers import fresh, loops, names
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Target
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import Args, At, Instruction, Op, Proposal, Steps
from schedsearch.transforms.vector.instruction_sets import find
from schedsearch.transforms.vector.matching import Context, alike, context_of, kinds_of, match

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    sets = [(record, find(record.name, record.digest)) for record in target.instructions]
    for loop in loops(proc) if sets else ():
        context = context_of(proc, loop.path)
        used = kinds_of(loop, context)
        known = [
            (record, name, instruction)
            for record, instructions in sets
            for name, instruction in instructions.taking(used).items()
            if target.fp is FloatingPoint.FAST
            or inexact_body(instruction, target.fp is FloatingPoint.REASSOCIATE) is None
        ]
        fitting = [
            (record, name, tail)
            for record, name, instruction in known
            if alike(instruction, loop) and (tail := _tail(instruction, loop, context))
        ]
        constant = {name for _, name, _ in fitting} - {
            name for _, name, instruction in known if _has_length(instruction)
        }
        whole = any(tail == "whole" and name in constant for _, name, tail in fitting)
        for record, name, tail in fitting:
            if name in constant or not whole:
                args = {"set": record.name, "digest": record.digest, "instruction": name}
                yield loop, {**args, "tail": tail}


def _tail(instruction: q.Proc, loop: q.For, context: Context) -> str | None:
    """How the instruction can carry out the nest; None if it cannot."""
    length = _length(instruction)
    if length is None or loop.extent == length:
        return "whole" if match(instruction, loop, context) else None
    if bounds(loop.hi, context.ranges)[1] < length:
        return None
    if not match(instruction, replace(loop, hi=loop.lo + length), context):
        return None
    return "perfect" if loop.extent is not None and loop.extent % length == 0 else "cut"


def _length(instruction: q.Proc) -> int | None:
    """Iterations of the instruction's outermost loop; None if that is variable."""
    outer = instruction.body[0]
    return outer.extent if isinstance(outer, q.For) else None


def _has_length(instruction: q.Proc) -> bool:
    return any(arg.shape is None for arg in instruction.args)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    name = args["instruction"]
    instruction = find(args["set"], args["digest"]).asts.get(name)
    if instruction is None:
        raise RewriteError(f"{args['set']} has no instruction {name!r}")
    loop = ast.by_path.get(path)
    tail = _tail(instruction, loop, context_of(ast, path)) if isinstance(loop, q.For) else None
    if tail is None or not isinstance(loop, q.For):
        raise RewriteError(f"{name} does not do what is there")
    if args["tail"] != tail:
        raise RewriteError(f"{name} does not fit there with tail {args['tail']!r}")
    if tail != "whole":
        length = _length(instruction)
        assert length is not None
        new = (loop.iter.name, fresh(names(ast), f"{loop.iter.name}i"))
        how = ("perfect", True) if tail == "perfect" else ("tail", "cut")
        divided = yield Op("divide_loop", (At(path), length, new), (how,))
        ast, path = mirror(divided), (*path, 0)
    inner = ast.by_path[path]
    wanted = isinstance(inner, q.For) and match(instruction, inner, context_of(ast, path))
    replaced = yield Op("replace", (At(path), Instruction(args["set"], args["digest"], name)))
    call = mirror(replaced).by_path[path]
    if not isinstance(call, q.Call) or call.args != wanted:
        raise RewriteError(f"Exo would give {name} other operands")
