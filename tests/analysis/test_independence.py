"""The race check refuses every planted race, and never accepts a nest that conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms.helpers import TARGET, Procedures

from schedsearch.analysis.independence import conflict, races, thread_private, touch_apart
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import At, Op, run_op
from schedsearch.transforms.registry import apply, select

from .execution import Event
from .programs import programs

PROCEDURES = Procedures("races")
(PARALLELIZE,) = select(["parallelize"])
THREADS = replace(TARGET, threads=2)


def outermost(proc: q.Proc) -> q.For:
    return next(stmt for stmt in proc.body if isinstance(stmt, q.For))


@pytest.mark.parametrize("name", sorted(name for name in PROCEDURES if name.startswith("racy_")))
def test_every_planted_race_is_refused(name: str) -> None:
    ast = mirror(PROCEDURES[name])
    loop = outermost(ast)
    assert conflict(ast, loop)
    assert loop.path not in {r.path for r in PARALLELIZE.rewrites(ast, THREADS)}
    with pytest.raises(RewriteError, match=r"iterations|writes|keeps"):
        run_op(PROCEDURES[name], Op("parallelize_loop", (At(loop.path),)))


@pytest.mark.parametrize("name", sorted(name for name in PROCEDURES if name.startswith("fine_")))
def test_independent_loops_become_parallel(name: str) -> None:
    ast = mirror(PROCEDURES[name])
    (rewrite,) = PARALLELIZE.rewrites(ast, THREADS)
    assert rewrite.path == outermost(ast).path
    parallel = apply(PROCEDURES[name], ast, rewrite)
    assert "#pragma omp parallel for" in generate_c(parallel).source
    assert not list(races(mirror(parallel)))
    assert not list(PARALLELIZE.rewrites(mirror(parallel), THREADS))


def test_nothing_is_parallel_on_one_thread_or_where_loops_are_shorter_than_threads() -> None:
    ast = mirror(PROCEDURES["fine_tiles"])
    assert not list(PARALLELIZE.rewrites(ast, TARGET))
    many = replace(TARGET, threads=16)
    assert not [r for r in PARALLELIZE.rewrites(ast, many) if r.path == (0,)]


def test_where_the_outermost_loop_reduces_the_next_ones_are_offered() -> None:
    ast = mirror(PROCEDURES["racy_reduction"])
    (rewrite,) = PARALLELIZE.rewrites(ast, THREADS)
    assert rewrite.label.startswith("for i in")


def test_at_most_one_loop_of_a_nest_is_parallel() -> None:
    procedure = PROCEDURES["fine_rows"]
    inner = apply(procedure, mirror(procedure), rewrite_at(procedure, (0, 0)))
    with pytest.raises(RewriteError, match="sequential"):
        apply(inner, mirror(inner), rewrite_at(inner, (0,)))
    outer = apply(procedure, mirror(procedure), rewrite_at(procedure, (0,)))
    with pytest.raises(RewriteError, match="around"):
        apply(outer, mirror(outer), rewrite_at(outer, (0, 0)))


def rewrite_at(procedure: object, path: q.Path) -> Rewrite:
    from schedsearch.transforms.registry import label

    return Rewrite("parallelize", 1, path, label(mirror(procedure).by_path[path]), ())


def test_a_race_that_another_rewrite_makes_is_refused() -> None:
    """Lifting a temporary out of a parallel loop makes its iterations share it."""
    procedure = PROCEDURES["fine_own_temporary"]
    parallel = apply(procedure, mirror(procedure), rewrite_at(procedure, (0,)))
    ast = mirror(parallel)
    lift = Rewrite("lift_alloc", 1, (0, 0), "t: f32[4] @ DRAM", ())
    lifted = run_op(parallel, Op("lift_alloc", (At((0, 0)),)))
    assert list(races(mirror(lifted)))
    with pytest.raises(RewriteError, match=r"parallel loop over i in .* may race: .* t"):
        apply(parallel, ast, lift)


def test_registers_stack_and_heap_belong_to_an_iteration() -> None:
    assert all(map(thread_private, ("DRAM", "DRAM_STACK", "VEC_F32X16")))
    assert not any(map(thread_private, ("DRAM_STATIC", "GEMM_SCRATCH", "somebody's own")))


# -- against brute force, on random nests -------------------------------------------

BUFFER, SIZE = q.Var("x", 0), q.Var("n", 1)
II, J, K = q.Var("i", 2), q.Var("j", 3), q.Var("k", 4)
TEMPORARY = q.Var("t", 5)

coefficients = st.integers(-3, 4)
linear = st.builds(
    lambda c, n, i, j, k: q.affine(c, ((SIZE, n), (II, i), (J, j), (K, k))),
    st.integers(-2, 2),
    st.sampled_from([0, 0, 0, 0, 1, 2]),
    coefficients,
    st.sampled_from([0, 0, 1, 1, 2, -1]),
    st.sampled_from([0, 0, 0, 1, 3]),
)
indices = st.one_of(
    linear,
    linear,
    st.builds(lambda a, m, b: q.modulo(a, m) + b, linear, st.integers(2, 4), linear),
    st.builds(lambda a, d: q.floor_div(a, d), linear, st.integers(2, 4)),
)
places = st.tuples(indices, indices)
buffers = st.sampled_from([BUFFER, BUFFER, BUFFER, TEMPORARY])


@st.composite
def statements(draw: st.DrawFn) -> tuple[q.Stmt, ...]:
    kind = draw(st.sampled_from([q.Assign, q.Reduce]))
    first, second = draw(buffers), draw(buffers)
    idx = draw(places)
    other = draw(st.one_of(st.just(idx), places))
    return (kind((0, 0, 0), first, idx, q.Read(second, other, "f32"), "f32"),)


@st.composite
def nests(draw: st.DrawFn) -> q.Proc:
    """`for i: t: f32[9, 9]; for j, k: statements`, with a size `n` in some of the indices."""
    body = draw(st.one_of(statements(), st.builds(lambda a, b: a + b, statements(), statements())))
    lo, extent = draw(st.integers(0, 2)), draw(st.integers(2, 6))
    k_loop = q.For((0, 1, 0), K, q.Affine(0), q.Affine(draw(st.integers(1, 3))), body, False)
    j_hi = draw(st.one_of(st.integers(1, 4).map(q.Affine), st.just(q.as_affine(II))))
    j_loop = q.For((0, 1), J, q.Affine(0), j_hi, (k_loop,), False)
    alloc = q.Alloc((0, 0), TEMPORARY, "f32", (q.Affine(9), q.Affine(9)), "DRAM")
    loop = q.For((0,), II, q.Affine(lo), q.Affine(lo + extent), (alloc, j_loop), False)
    arg = q.Arg(BUFFER, "f32", (q.Affine(99), q.Affine(99)), mem="DRAM")
    return q.Proc("nest", (arg, q.Arg(SIZE, "size")), (), (loop,))


def touched(proc: q.Proc, n: int, i: int) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """Elements of the shared buffer that iteration `i` accesses, and those it writes."""
    accessed, written = set(), set()
    for env in points(proc, n, i):

        def place(idx: tuple[q.Affine, ...], env: dict[q.Atom, int] = env) -> tuple[int, ...]:
            return tuple(q.evaluate_affine(index, env.__getitem__) for index in idx)

        for stmt in q.walk(proc.body):
            if isinstance(stmt, q.Assign | q.Reduce):
                if stmt.buf == BUFFER:
                    written.add(place(stmt.idx))
                if isinstance(stmt.rhs, q.Read) and stmt.rhs.buf == BUFFER:
                    accessed.add(place(stmt.rhs.idx))
    return accessed | written, written


def points(proc: q.Proc, n: int, i: int) -> Iterator[dict[q.Atom, int]]:
    j_loop = proc.by_path[0, 1]
    k_loop = proc.by_path[0, 1, 0]
    assert isinstance(j_loop, q.For)
    assert isinstance(k_loop, q.For)
    for j in range(q.evaluate_affine(j_loop.hi, lambda _: i)):
        for k in range(k_loop.hi.const):
            yield {SIZE: n, II: i, J: j, K: k}


@pytest.mark.slow
@given(nests())
@settings(max_examples=600)
def test_never_accepts_iterations_that_conflict(proc: q.Proc) -> None:
    loop = outermost(proc)
    if conflict(proc, loop) is None:
        for n in (1, 2, 5):
            iterations = [touched(proc, n, i) for i in range(loop.lo.const, loop.hi.const)]
            for (one, writes), (other, other_writes) in combinations(iterations, 2):
                assert not (writes & other)
                assert not (other_writes & one)


@pytest.mark.normal
def test_the_random_nests_are_of_both_kinds() -> None:
    verdicts: list[bool] = []

    @given(nests())
    @settings(max_examples=150)
    def decide(proc: q.Proc) -> None:
        verdicts.append(conflict(proc, outermost(proc)) is None)

    decide()
    assert 15 <= sum(verdicts) <= len(verdicts) - 15


@pytest.mark.normal
def test_iterations_that_are_independent_touch_different_elements() -> None:
    """Of procedures, through windows and calls; what an iteration allocates is its own."""
    verdicts = Counter[bool]()
    for program in programs():
        for loop in q.walk(program.proc.body):
            if isinstance(loop, q.For):
                independent = conflict(program.proc, loop) is None
                verdicts[independent] += 1
                if independent:
                    by_iteration = iterations(program.events, loop)
                    written = {key for key, own in by_iteration.items() if True in own.values()}
                    assert all(len(by_iteration[key]) == 1 for key in written)
    assert min(verdicts[True], verdicts[False]) > 50


@pytest.mark.normal
def test_iterations_that_touch_a_buffer_apart() -> None:
    verdicts = Counter[bool]()
    for program in programs():
        arrays = next((e.arrays for e in program.events if not e.called), {})
        for loop in q.walk(program.proc.body):
            for arg in program.proc.args:
                if isinstance(loop, q.For) and arg.shape and arg.var in arrays:
                    apart = touch_apart(program.proc, loop, arg.var)
                    verdicts[apart] += 1
                    own = set(arrays[arg.var].flat) if apart else ()
                    inside = [event for event in program.events if event.element in own]
                    assert all(len(each) == 1 for each in iterations(inside, loop).values())
    assert min(verdicts[True], verdicts[False]) > 50


def iterations(events: list[Event], loop: q.For) -> dict[object, dict[int, bool]]:
    """By execution of the loop and element: iterations that access it, and whether they write."""
    found: dict[object, dict[int, bool]] = {}
    for event in events:
        depth = next((d for d, (at, _) in enumerate(event.running) if at is loop), None)
        if depth is not None:
            outer = tuple(value for _, value in event.running[:depth])
            own = found.setdefault((outer, event.element), {})
            value = event.running[depth][1]
            own[value] = own.get(value, False) or event.writes
    return found
