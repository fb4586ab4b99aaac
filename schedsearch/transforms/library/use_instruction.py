"""Let one instruction of the target carry out a loop nest.

```
for k in seq(0, 64):
    y[i] += A[i, 64 * ko + k] * x[64 * ko + k]
->
vnni_i8_dot(y[i:i + 1], A[i, 64 * ko:64 * ko + 64], x[64 * ko:64 * ko + 64])
```

For nests that are the body of an instruction of the target's sets, on operands that are
where it wants them: plain arrays, or buffers in vector registers already. Of two
instructions for one nest, that without a length is taken.
"""

from collections.abc import Iterator

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.transforms.instruction_sets import find
from schedsearch.transforms.matching import context_of, match
from schedsearch.transforms.mirror import mirror
from schedsearch.transforms.ops import Args, At, Instruction, Op, Proposal, Steps
from schedsearch.transforms.walkers import loops

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    sets = [(record, find(record.name, record.digest).asts) for record in target.instructions]
    if not sets:
        return
    for loop in loops(proc):
        context = context_of(proc, loop.path)
        found = [
            (record, name, instruction)
            for record, instructions in sets
            for name, instruction in instructions.items()
            if match(instruction, loop, context)
        ]
        whole = [each for each in found if not _has_length(each[2])]
        for record, name, _ in whole or found:
            yield loop, {"set": record.name, "digest": record.digest, "instruction": name}


def _has_length(instruction: q.Proc) -> bool:
    return any(arg.shape is None for arg in instruction.args)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    instruction = find(args["set"], args["digest"]).asts.get(args["instruction"])
    if instruction is None:
        raise RewriteError(f"{args['set']} has no instruction {args['instruction']!r}")
    loop = ast.by_path.get(path)
    wanted = isinstance(loop, q.For) and match(instruction, loop, context_of(ast, path))
    if not wanted:
        raise RewriteError(f"{args['instruction']} does not do what is there")
    after = yield Op(
        "replace",
        (At(path), Instruction(args["set"], args["digest"], args["instruction"])),
    )
    call = mirror(after).by_path[path]
    if not isinstance(call, q.Call) or call.args != wanted:
        raise RewriteError(f"Exo would give {args['instruction']} other operands")
