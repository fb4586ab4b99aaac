"""What works around Exo 1.0.0; what refuses its mistakes is in `unsound.py`.

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
   reads in arguments of external functions             -> `out_of_bounds`, asked by
   `loader.pick`.
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
41. `lift_reduce_constant` takes a factor out of a sum that
   does not begin at 0, out of the `if` but not the
   `else`, out of terms that are converted, where two
   branches have factors of their own, and where the loop
   may not run and there is no such factor then, or none
   with a value                                          -> refused by `unsound`.
42. `extract_subproc` asserts that conditions of branches
   before the statement do not hold                      -> refused by `unsound`.
43. Divisions of what may be negative are of `int`, which
   wraps where indices do not (`(2 * n - m) / 8`, from 2^31)  -> `_FLOOR_DIV` is of their type.
44. `fission` leaves one variable to both loops. If one is
   inside of what `fuse` joins with the other, its indices
   become those of the other                             -> refused by `unsound`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
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

from schedsearch.analysis.by_identity import ByIdentity
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.errors import CodegenError
from schedsearch.core.records import GeneratedC
from schedsearch.transforms.exo import checks, speed
from schedsearch.transforms.exo.canonical import Canonicaliser
from schedsearch.transforms.exo.generated import with_build
from schedsearch.transforms.exo.messages import said
from schedsearch.transforms.exo.mirror import blocks

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
    LoopIR_compiler._static_helpers["exo_floor_div"] = _FLOOR_DIV
    start = new_analysis_core.SMTSolver.__init__
    new_analysis_core.SMTSolver.__init__ = _with_restarts(start)
    checks.install()  # before they are made faster
    speed.install()


_FLOOR_DIV = """
static int_fast32_t exo_floor_div(int_fast32_t num, int_fast32_t quot) {
  int_fast32_t off = (num>=0)? 0 : quot-1;
  return (num-off)/quot;
}
"""


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


def statements_apart(procedure: Any) -> Any | None:
    """An equal procedure whose statements are in one place each; None if they are anyway."""
    proc = procedure._loopir_proc
    places = [place for stmt in proc.body for place in _places(stmt)]
    if len(set(places)) == len(places):
        return None
    return Procedure(proc.update(body=_copies(proc.body)))


def _places(stmt: Any) -> tuple[int, ...]:
    """Identities of a statement and of those inside."""
    inside = blocks(stmt)
    if not inside:
        return (id(stmt),)
    known = _PLACES.get(stmt)
    if known is None:
        inner = [place for block in inside for each in block for place in _places(each)]
        known = _PLACES.put(stmt, (id(stmt), *inner))
    return known


_PLACES: ByIdentity[tuple[int, ...]] = ByIdentity(20_000)
"""By loop or branch."""


def _copies(stmts: Any) -> list[Any]:
    """Of statements, and of those inside."""
    inner = ("body", "orelse")
    return [
        stmt.update(**{name: _copies(getattr(stmt, name)) for name in inner if hasattr(stmt, name)})
        for stmt in stmts
    ]
