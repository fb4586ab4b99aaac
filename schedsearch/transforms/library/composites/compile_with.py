"""Compile the procedure as it is with another compiler or other options.

```
gcc -O3    ->   clang -O3, arguments __restrict__
```

Every proposal declares that arguments do not overlap, because that is never slower
in principle. Compiler and option are each chosen once on the way to a schedule, so
that a node has a handful of these.
"""

from collections.abc import Iterator

from schedsearch.analysis.accesses import reads
from schedsearch.core import ast as q
from schedsearch.core.build import GENERIC, PEEL, TYPE_GENERIC, Build
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.records import Target
from schedsearch.transforms.exo.generated import may_restrict
from schedsearch.transforms.operators.ops import Args, Proposal, Steps
from schedsearch.transforms.vector.registers import register_kind

VERSION = 1


def propose(proc: q.Proc, target: Target) -> Iterator[Proposal]:
    now = target.build
    own = target.compiler.kind
    kind = now.compiler or own
    restrict = may_restrict(proc)
    if restrict and not now.restrict:
        yield None, Build(kind, now.options, restrict).to_json()
    if kind == own:
        for other in target.other_compilers:
            yield None, Build(other.kind, now.options, restrict).to_json()
    if not now.options:
        for options in _options(proc, target, kind):
            yield None, Build(kind, options, restrict).to_json()


def _options(proc: q.Proc, target: Target, kind: str) -> Iterator[str]:
    """Options that can matter: most are about loops that the compiler vectorises."""
    widens = any(_calls(stmt, "f32", "f64") for stmt in q.walk(proc.body))
    halves = any(_calls(stmt, "f16") for stmt in q.walk(proc.body))  # tgmath.h has none of f16
    if target.fp is FloatingPoint.FAST and widens and not halves:
        yield TYPE_GENERIC
    if kind == "gcc" and any(map(_in_registers, q.walk(proc.body))):
        yield GENERIC
    yield "-O2"
    if not any(_left_to_the_compiler(stmt) for stmt in q.walk(proc.body)):
        return
    yield "-funroll-loops"
    if "avx512f" in target.features:
        yield "-mprefer-vector-width=512"
        yield "-mprefer-vector-width=256"
    if kind == "gcc" and "avx" in target.features and 8 * target.align < target.vector_bits:
        yield PEEL


def _calls(stmt: q.Stmt, kind: str, precision: str = "") -> bool:
    """Whether a statement has a function of elements of this type, that C computes in `precision`
    if it is given."""
    return isinstance(stmt, q.Assign | q.Reduce) and any(
        isinstance(part, q.Extern)
        and precision in ("", FUNCTIONS[part.name].precision)
        and any(read.type == kind for read in reads(part))
        for part in q.walk_expr(stmt.rhs)
    )


def _in_registers(stmt: q.Stmt) -> bool:
    return isinstance(stmt, q.Alloc) and register_kind(stmt.mem) is not None


def _left_to_the_compiler(stmt: q.Stmt) -> bool:
    return isinstance(stmt, q.For) and any(isinstance(s, q.Assign | q.Reduce) for s in stmt.body)


def steps(ast: q.Proc, path: q.Path, args: Args) -> Steps:
    try:
        build = Build.from_json(args)
    except UserError as error:
        raise RewriteError(str(error)) from error
    if path:
        raise RewriteError("build options are for the whole procedure")
    if build.restrict and not may_restrict(ast):
        raise RewriteError("there are no two pointer arguments that could overlap")
    yield from ()
