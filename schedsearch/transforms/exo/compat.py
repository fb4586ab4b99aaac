"""Everything that works around Exo 1.0.0, and nothing else.

Each workaround is named here and has a test in `tests/transforms/test_exo_compat.py`
that fails once Exo no longer needs it:

1. An illegal rewrite raises many kinds of exception  -> `EXO_ERRORS`.
2. Generated C differs between processes, because symbols hash by address, index
   terms and callees pass through sets                -> `canonical` fixes term order,
   `generate_c` that of instructions.
3. `x[5 * (i % 2)]` loses its parentheses, and so do
   lengths that indices are multiplied by, `n % 8`      -> `canonical` puts the atom first, and
   divides in lengths.
4. `%` of a negative value follows C, not Exo          -> `canonical` divides instead.
5. A constant division in an index becomes a float,
   `0 % n` stops the compiler                          -> folded by the normal form.
6. `-(-x)` is printed as C's decrement `--x`           -> folded by `canonical`.
7. `simplify` drops `% m` of what is below `m` but may
   be negative                                         -> `unsound` refuses.
8. z3 may never answer; how long it takes hangs on how
   symbols are numbered                                -> `SOLVER_STEPS`, `RestartingSolver`.
9. Types of windows keep index variables that a rewrite
   has replaced since                                  -> `canonical` derives them anew.
10. `remove_loop` takes `hi > 0` for "runs at all"      -> refused by `unsound` unless
   the loop starts at 0.
11. `replace` makes `a[i, k]` the window `a[i:i+1, k]` or
   `a[i, k:k+1]`, as it happens                       -> `call_args` takes the last dimension.
12. `parallelize_loop` accepts races                   -> refused by `unsound`, and wherever
   else one comes from by `registry.carry_out`; what races is decided in `analysis/independence.py`.
13. `replace` ignores the asserts of an instruction     -> refused by `unsound_result` unless
   they can be shown to hold (`analysis/certain.py`).
14. `fission` moves `s = 0` away from `s += x`           -> its check is replaced
   (`checks.py`).
15. Shapes of arrays keep index variables that a rewrite
   has replaced since                                   -> `mirror.shape_of` drops those that
   cancel; others are refused by `registry.carry_out`.
16. Checks take a named window (`w = x[2:6]`) for other
   memory than `x`                                      -> while both are used and written,
   `unsound` refuses all operators but those of `ORDER_KEPT`; `inline_window` is one.
17. `inline_assign` replaces what is called the same     -> refused by `unsound` where another
   element is.
18. The front end checks no bounds of writes through
   named windows, of calls that are given one, and of
   reads in arguments of external functions             -> `outside`, asked by `loader.pick`.
19. A window of a named window ends the front end with
   an AttributeError                                    -> `messages` says what is wrong.
20. `lift_scope` of an `if` without `else` out of one that
   has one forgets the other branch                     -> refused by `unsound`.
21. yapf, which prints for Exo, may find its cached
   grammar cut short                                    -> `yapf_grammar` has it made again.
22. External functions (`_relu_float`) are global in the
   C: calls in shared libraries, defined twice by two
   kernels of a program                                 -> `with_build` makes them `static inline`.
23. External functions in arguments of others (`relu` in
   `select`) are called, but not defined                -> `_note_externs` finds them too. Those
   of front ends define all of their module, which `_each_text_once` has once.
24. C of named windows is `const` where it is written, of
   windows given by name whatever the callee takes      -> `canonical` writes them out
   (`tests/transforms/test_exo_windows.py`).
25. `merge_writes`, `inline_assign`, `bind_expr` and
   `set_precision` take numbers for real numbers, which
   storing does not convert                             -> refused by `unsound` where a
   conversion would move; where there are any is said in `conversions.py`.
26. `simplify` combines constants of data: `1.0 / 3.0` is
   0, `0.5 + 0.5` of integers 1                         -> refused by `unsound`.
27. `replace` does not compare element types; Exo finds
   that there is no C for the call                      -> refused by `unsound_result`.
28. A check looks for its statement by identity, and takes
   the first place for all where copies share it: in an
   `else`, what holds in the `if`                       -> `run_op` also asks with
   `statements_apart`.
29. `shift_loop` leaves the variable in shapes of arrays
   as it was: they are too small                         -> refused by `unsound`.
30. `fuse` compares only the upper bounds of loops       -> refused by `unsound` where the lower
   ones differ.
31. `join_loops` compares bodies by names, and only as many
   statements as both have                               -> refused by `unsound` where their
   query ASTs differ.
32. `sink_alloc` and `fold` do not look whether what is in
   a buffer is still needed                              -> refused by `unsound` where it may
   be (`liveness.py`).
33. `inline_assign` leaves reads elsewhere as they are, and
   the value may change before it is read                -> refused by `unsound_result`.
34. Checks that meet `0 - x / 4` crash                   -> left to crash by `exo/speed`, so that
   no schedule has what Exo alone does not accept.
35. Generated C has the text of memories, and of external functions, of one name in the order
   of a set                                             -> `_sorted_by_text` comes before the
   sort by name, which keeps the order of equals.
36. `left_reassociate_expr` makes expressions of type R,
   and `bind_expr` buffers of it, which are f32 in C       -> `mirror` has the operands' type;
   `set_precision` may name that; no rewrite may end with a buffer of R for other values.
37. z3's expressions are freed in whatever thread collects garbage, Ray's among them, while
   another one solves: the process crashes               -> `prepare` has z3 put them off.
38. `split_write` gives a term that reads what is written
   the new value                                         -> refused by `unsound`.
39. `1.0 - x` has the type of `1.0`, so that there is no
   C for `relu(1.0 - x)`                                 -> functions of front ends give their
   arguments the type of what those read; other files have to have it as `-x + 1.0`.
40. `stage_mem` takes the condition of an `if` for that of
   its `else`, and leaves accesses there as they are       -> refused by its check (`checks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import z3
from exo.API import Procedure
from exo.backend import LoopIR_compiler
from exo.backend.LoopIR_compiler import LoopIR_FindExterns, compile_to_strings
from exo.core.internal_cursors import InvalidCursorError
from exo.core.LoopIR import LoopIR
from exo.core.memory import MemGenError
from exo.frontend.parse_fragment import ParseFragmentError
from exo.frontend.pyparser import ParseError
from exo.rewrite import new_analysis_core
from exo.rewrite.LoopIR_unification import UnificationError
from exo.rewrite.new_eff import SchedulingError
from z3.z3types import Z3Exception

from schedsearch.analysis.certain import broken_assert
from schedsearch.analysis.conversions import (
    CONVERTING,
    Route,
    converting_store,
    folds_constants,
    mismatch,
    moved,
    value_type,
)
from schedsearch.analysis.independence import conflict
from schedsearch.analysis.liveness import carried, left_stale, overtaken
from schedsearch.analysis.walkers import next_path, rest_of_block
from schedsearch.analysis.windows import aliased
from schedsearch.core import ast as q
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.element_types import FLOATS
from schedsearch.core.errors import CodegenError
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.exo import checks, speed
from schedsearch.transforms.exo.canonical import Canonicaliser
from schedsearch.transforms.exo.generated import with_build
from schedsearch.transforms.exo.messages import said
from schedsearch.transforms.exo.mirror import blocks, mirror, statements
from schedsearch.transforms.exo.modulo import drops_modulo

EXO_ERRORS: tuple[type[Exception], ...] = (
    SchedulingError,
    SyntaxError,
    InvalidCursorError,
    MemGenError,
    ParseFragmentError,
    ParseError,
    UnificationError,
    Z3Exception,
    TypeError,
    ValueError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    KeyError,
    IndexError,
    AttributeError,
)
"""Exceptions of Exo when a rewrite is illegal or not supported. Catch only around
calls of Exo: several are also ordinary programming errors."""

SOLVER_STEPS = 10_000_000
"""z3's resource limit for one question, a few seconds; Exo then reports that it cannot
tell. Counted in z3's own steps rather than time, so that every machine agrees."""

RESTARTS = 2
"""How often a question without an answer is asked again from another seed. The steps of one
question have a heavy tail (100x between two numberings of the same symbols), which restarts
cut (Gomes, Selman, Kautz: Boosting combinatorial search through randomization, AAAI 1998)."""

PATIENT_STEPS = 4 * SOLVER_STEPS
"""The limit where a recorded trace is followed. A question takes more or fewer steps by how
symbols are numbered, and they are numbered otherwise in each process."""


@cache
def prepare() -> None:
    """Put the workarounds into Exo and z3, in this process.

    Importing changes nothing. All code that loads, rewrites or compiles a procedure calls this
    first, so that no rewrite is ever checked without them.
    """
    z3.set_param("rlimit", SOLVER_STEPS)
    z3.set_param("ctrl_c", False)  # z3 would take a Ctrl-C for itself and answer "unknown"
    z3.Z3_enable_concurrent_dec_ref(z3.main_ctx().ref())
    LoopIR_FindExterns.do_e = _note_externs
    find = LoopIR_compiler.find_all_externs
    LoopIR_compiler.find_all_externs = lambda procs: _each_text_once(find(procs))
    for name, text in (
        ("find_all_mems", lambda memory: memory.global_()),
        ("find_all_externs", lambda extern: extern[0].globl(extern[1]) or ""),
    ):
        found = getattr(LoopIR_compiler, name)
        setattr(LoopIR_compiler, name, _sorted_by_text(found, text))
    start = new_analysis_core.SMTSolver.__init__
    new_analysis_core.SMTSolver.__init__ = _with_restarts(start)
    checks.install()  # before they are made faster
    speed.install()


class RestartingSolver(z3.Solver):  # type: ignore[misc]
    """A solver that asks again, afresh and from other seeds, before it answers "unknown"."""

    def check(self, *assumptions: Any) -> z3.CheckSatResult:
        answer = super().check(*assumptions)
        for seed in range(1, RESTARTS + 1):
            if answer != z3.unknown:
                break
            # Without z3's preprocessing, which makes these questions slower.
            again = z3.SimpleSolver()
            again.set("random_seed", seed)
            again.add(self.assertions())
            answer = again.check(*assumptions)
        return answer


def _with_restarts(start: Callable[..., None]) -> Callable[..., None]:
    """The start of Exo's solver, which then asks z3 through a `RestartingSolver`."""

    def started(solver: Any, *args: Any, **kwargs: Any) -> None:
        start(solver, *args, **kwargs)
        solver.z3slv = RestartingSolver()

    return started


@contextmanager
def patient_solver() -> Iterator[None]:
    """Questions have `PATIENT_STEPS`, so that rewrites accepted once are accepted again."""
    prepare()
    before = z3.get_param("rlimit")
    z3.set_param("rlimit", PATIENT_STEPS)
    try:
        yield
    finally:
        z3.set_param("rlimit", before)


def _note_externs(finder: Any, expr: Any) -> None:
    """Exo's search for external functions, which does not look into their arguments."""
    if isinstance(expr, LoopIR.Extern):
        finder._externs.add((expr.f, expr.type.basetype().ctype()))
    super(LoopIR_FindExterns, finder).do_e(expr)


def _each_text_once(externs: Iterable[Any]) -> list[Any]:
    """Functions of front ends define all of their module, as Exo does not look into arguments."""
    kept = dict[Any, Any]()
    for extern in externs:
        shared = extern[0].globl(extern[1]) if hasattr(extern[0], "known") else extern
        kept[shared] = min(extern, kept.get(shared, extern), key=lambda each: each[0].name())
    return [*kept.values()]


def _sorted_by_text(
    found: Callable[[Any], Iterable[Any]], text: Callable[[Any], str]
) -> Callable[[Any], list[Any]]:
    """Exo's search for memories or functions, sorted by the C `text` that each adds to a file."""
    return lambda procs: sorted(found(procs), key=text)


ORDER_KEPT = {"inline", "inline_window", "set_memory", "simplify", "delete_pass", "specialize"}
ORDER_KEPT |= {"cut_loop", "divide_loop", "shift_loop", "unroll_loop"}
ORDER_KEPT |= {"commute_expr", "left_reassociate_expr"}
"""Operators after which every element is accessed in the order it was before."""

LIBRARY = "kernel"
"""Exo's library name: the context struct is `kernel_Context` in every kernel."""


def generate_c(procedure: Any, build: Build = DEFAULT_BUILD) -> GeneratedC:
    """Canonical C of a procedure: equal for procedures equal up to local names and
    the order of index terms, in any process; and how to compile it.

    Raises CodegenError with Exo's reason.
    """
    prepare()
    canonicaliser = Canonicaliser({})
    proc = canonicaliser.proc(procedure._loopir_proc)
    # Exo walks callees in the order of their addresses: instructions are given sorted.
    instructions = [callee for callee in canonicaliser.callees.values() if callee.instr]
    instructions.sort(key=lambda callee: str(callee.name))
    try:
        header, source = compile_to_strings(LIBRARY, [*instructions, proc])
    except EXO_ERRORS as error:
        raise CodegenError(said(error)) from error
    return with_build(str(proc.name), header, source, build)


def unsound(
    procedure: Any,
    operator: str,
    path: q.Path,
    routes: tuple[Route, ...] = (),
    circle: tuple[int, int] | None = None,
) -> str | None:
    """Why the result of an operator at a statement would be wrong although Exo accepts it;
    None if Exo's own check can be trusted. `routes` leads to the parts of its right side
    that the operator is given; `circle`: the dimension to fold, and its new size."""
    if operator not in ORDER_KEPT and _has_windows(procedure._loopir_proc.body):
        names = aliased(mirror(procedure))
        if names:
            return f"Exo does not see that {names} share elements"
    if operator == "simplify" and drops_modulo(procedure):
        return "Exo would drop the `%` of a negative value"
    if operator == "simplify" and folds_constants(mirror(procedure)):
        return "Exo would take constants of data for whole numbers; write them as one constant"
    if operator == "remove_loop":
        loop = mirror(procedure).by_path[path]
        if isinstance(loop, q.For) and loop.lo != q.Affine(0):
            return "Exo tells whether a loop runs at all only if it starts at 0"
    if operator == "inline_assign" and _called_alike(mirror(procedure), path):
        return "Exo finds what to replace by its name, and another element is called so too"
    if operator == "lift_scope" and _loses_branch(mirror(procedure), path):
        return "Exo would leave out the other branch where the condition does not hold"
    if operator == "shift_loop" and (name := _sized_by(mirror(procedure), path)):
        return f"Exo would leave the loop's variable in the shape of {name} as it was"
    if operator == "fuse" and _begin_apart(mirror(procedure), path):
        return "Exo does not see that the loops begin at different values"
    if operator == "join_loops" and not goes_on(mirror(procedure), path):
        return "Exo does not see that the loops do different things"
    if operator == "left_reassociate_expr" and not _floats(mirror(procedure), path):
        return "integers might overflow in another order"
    if operator == "split_write" and _reads_itself(mirror(procedure), path):
        return "a term reads what the terms before it have changed by then"
    if operator == "sink_alloc" and carried(mirror(procedure), path):
        return "an iteration may read what another left in the buffer"
    if circle and overtaken(mirror(procedure), path, *circle):
        return "a row may be needed after another has taken its place"
    if operator == "parallelize_loop":
        ast = mirror(procedure)
        loop = ast.by_path[path]
        return conflict(ast, loop) if isinstance(loop, q.For) else None
    if operator in CONVERTING:
        return moved(mirror(procedure), operator, path, routes)
    return None


def unsound_result(before: Any, after: Any, operator: str, path: q.Path) -> str | None:
    """The same for faults that only the result shows; the operator was applied at `path`."""
    if operator == "inline_assign":
        return left_stale(mirror(before), path, mirror(after))
    if operator not in ("set_precision", "replace"):
        return None
    ast = mirror(after)
    if operator == "set_precision":
        alloc = ast.by_path.get(path)
        wrong_type = isinstance(alloc, q.Alloc) and converting_store(ast, alloc.buf)
        return "values would be converted to another type" if wrong_type else None
    call = ast.by_path.get(path)
    wrong = mismatch(call) if isinstance(call, q.Call) else None
    return wrong or broken_assert(ast, path)


def statements_apart(procedure: Any) -> Any | None:
    """An equal procedure whose statements are in one place each; None if they are anyway."""
    proc = procedure._loopir_proc
    places = [id(stmt) for stmt in statements(proc.body)]
    if len(set(places)) == len(places):
        return None
    return Procedure(proc.update(body=_copies(proc.body)))


def _copies(stmts: Any) -> list[Any]:
    """Of statements, and of those inside."""
    inner = ("body", "orelse")
    return [
        stmt.update(**{name: _copies(getattr(stmt, name)) for name in inner if hasattr(stmt, name)})
        for stmt in stmts
    ]


def _floats(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` stores floats, and computes with them."""
    stmt = proc.by_path.get(path)
    return (
        isinstance(stmt, q.Assign | q.Reduce)
        and stmt.type in FLOATS
        and value_type(stmt.rhs, stmt.type) in FLOATS
    )


def _reads_itself(proc: q.Proc, path: q.Path) -> bool:
    stmt = proc.by_path.get(path)
    return isinstance(stmt, q.Assign | q.Reduce) and stmt.buf in q.expr_vars(stmt.rhs)


def _called_alike(proc: q.Proc, path: q.Path) -> bool:
    """Whether the name of what the statement at `path` assigns is, further on in its block,
    also that of another element: of another buffer, or with other variables of those names."""
    stmt = proc.by_path[path]
    if not isinstance(stmt, q.Assign):
        return False
    return any(
        read.buf.name == stmt.buf.name
        and (
            read.buf != stmt.buf  # with any index: Exo compares as many as both have
            or (read.idx != stmt.idx and [*map(_names, read.idx)] == [*map(_names, stmt.idx)])
        )
        for later in q.walk(rest_of_block(proc, path))
        for read in q.stmt_parts(later)
        if isinstance(read, q.Read)
    )


def _loses_branch(proc: q.Proc, path: q.Path) -> bool:
    """Whether the statement at `path` is an `if` without `else`, in an `if` with one."""
    inner = proc.by_path[path]
    outer = proc.by_path.get(path[:-2] if path[-2:-1] == ("e",) else path[:-1])
    if not (isinstance(inner, q.If) and isinstance(outer, q.If)):
        return False
    return bool(outer.orelse) and not inner.orelse


def _begin_apart(proc: q.Proc, path: q.Path) -> bool:
    """Whether the loop at `path` and the next statement, a loop, may begin at different values."""
    first, second = proc.by_path[path], proc.by_path.get(next_path(path))
    return isinstance(first, q.For) and isinstance(second, q.For) and first.lo != second.lo


def goes_on(proc: q.Proc, path: q.Path) -> bool:
    """Whether the loop at `path` goes on as the next one does."""
    first, second = proc.by_path[path], proc.by_path.get(next_path(path))
    if not (isinstance(first, q.For) and isinstance(second, q.For)):
        return False
    bounds = (first.hi, first.parallel) == (second.lo, second.parallel)
    return bounds and _equal(first.body, second.body, {first.iter: second.iter})


def _equal(one: Any, other: Any, names: dict[q.Var, q.Var]) -> bool:
    """Whether two parts of a query AST are equal but for their paths, with `names` for the
    variables of the first, to which what it binds is added."""
    if isinstance(one, q.Var):
        return bool(names.get(one, one) == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_equal(a, b, names) for a, b in pairs)
    match one:
        case q.For():
            names[one.iter] = other.iter
        case q.Alloc():
            names[one.buf] = other.buf
        case q.WindowStmt():
            names[one.name] = other.name
    if not is_dataclass(one):
        return bool(one == other)
    own = (field.name for field in fields(one) if field.name != "path")
    return all(_equal(getattr(one, name), getattr(other, name), names) for name in own)


def _sized_by(proc: q.Proc, path: q.Path) -> str:
    """An array in the loop at `path` whose shape depends on its variable; empty if none does."""
    loop = proc.by_path[path]
    if not isinstance(loop, q.For):
        return ""
    allocs = (stmt for stmt in q.walk(loop.body) if isinstance(stmt, q.Alloc))
    used = ((alloc, q.expr_vars(extent)) for alloc in allocs for extent in alloc.shape)
    return next((alloc.buf.name for alloc, names in used if loop.iter in names), "")


def _names(index: q.Affine) -> list[str]:
    return sorted(var.name for var in q.expr_vars(index))


def _has_windows(stmts: Any) -> bool:
    """Whether there is a named window: cheaper than a query AST that has none."""
    return any(
        isinstance(stmt, LoopIR.WindowStmt) or any(map(_has_windows, blocks(stmt)))
        for stmt in stmts
    )
