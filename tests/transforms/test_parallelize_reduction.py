"""Sums on threads are the sums of the plain loops, whatever the number of threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.analysis.independence import has_threads, races
from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.estimate.cost import log_cost
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.operators.ops import After, At, Op, run_op
from schedsearch.transforms.registry import apply, label, propose, select
from transforms.execution import assert_exact, on_threads
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("parallel_sums")
(REDUCE, PARALLELIZE) = select(["parallelize", "parallelize_reduction"])[::-1]
THREADS = replace(TARGET, threads=2)
NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))


def proposals(name: str, fp: FloatingPoint = FloatingPoint.FAST) -> list[Rewrite]:
    return list(REDUCE.rewrites(mirror(PROCEDURES[name]), replace(THREADS, fp=fp)))


def in_parts(name: str, length: int) -> object:
    """The procedure with as many iterations in each part."""
    rewrite = replace(proposals(name)[0], args=(("length", length),))
    return apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite)


@pytest.mark.normal
@pytest.mark.parametrize("name", NAMES)
def test_sums_are_the_same_on_any_number_of_threads(name: str, tmp_path: Path) -> None:
    results = [in_parts(name, length) for length in (1, 3, 16)]
    assert all(has_threads(mirror(each)) for each in results)
    for count in (1, 2, 8):
        with on_threads(count):
            sizes = [{"n": n, "m": m} for n, m in ((1, 1), (2, 5), (16, 3), (83, 17))]
            assert_exact(PROCEDURES[name], results, sizes, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_accumulators_have_no_cache_line_in_common(name: str) -> None:
    """They are scalars, or arrays that begin with a line, of one iteration alone."""
    ast = mirror(in_parts(name, 4))
    (loop,) = (s for s in q.walk(ast.body) if isinstance(s, q.For) and s.parallel)
    allocs = {s.buf: s for s in loop.body if isinstance(s, q.Alloc)}
    added = [s for s in q.walk(loop.body) if isinstance(s, q.Reduce)]
    assert added
    for stmt in added:
        alloc = allocs[stmt.buf]
        assert not alloc.shape or alloc.mem in ("DRAM_ALIGNED", "DRAM_STACK_ALIGNED")


@pytest.mark.parametrize("name", sorted(n for n in PROCEDURES if n.startswith("no_")))
def test_refuses_what_does_more_than_add(name: str) -> None:
    assert not proposals(name)
    loop = next(s for s in mirror(PROCEDURES[name]).body if isinstance(s, q.For))
    rewrite = Rewrite(REDUCE.name, 1, loop.path, "for i in seq(0, n)", (("length", 4),))
    with pytest.raises(RewriteError, match="share more"):
        apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite)


@pytest.mark.normal
def test_one_accumulator_for_all_threads_is_refused() -> None:
    """Where it is allocated outside of the parallel loop, with an element for all parts."""
    parallel = in_parts("dot", 4)
    assert not list(races(mirror(parallel)))
    (lift,) = select(["lift_alloc"])
    own = next(s for s in q.walk(mirror(parallel).body) if isinstance(s, q.Alloc) and not s.shape)
    rewrite = Rewrite(lift.name, lift.version, own.path, label(own), ())
    with pytest.raises(RewriteError, match="may race: iterations share r_own"):
        apply(parallel, mirror(parallel), rewrite)
    procedure = PROCEDURES["dot"]
    for op in (
        Op("divide_loop", (At((0,)), 4, ("io", "ii")), (("tail", "cut"),)),
        Op("stage_mem", (At((0, 0)), "r[0]", "own"), (("accum", True),)),
        Op("stage_mem", (At((0, 3)), "own", "parts")),
        Op("expand_dim", (At((0, 3)), "16", "0")),
        Op("lift_alloc", (At((0, 3)),)),
    ):
        procedure = run_op(procedure, op)
    with pytest.raises(RewriteError, match=r"share|same elements"):
        run_op(procedure, Op("parallelize_loop", (At((1,)),)))
    with pytest.raises(RewriteError):  # nor can the parts be added up later
        run_op(procedure, Op("fission", (After((1, 3)), 1)))


def test_the_contract_decides_about_floats_alone() -> None:
    (rewrite,) = proposals("dot", FloatingPoint.REASSOCIATE)
    apply(PROCEDURES["dot"], mirror(PROCEDURES["dot"]), rewrite, FloatingPoint.REASSOCIATE)
    assert not proposals("dot", FloatingPoint.STRICT)
    with pytest.raises(RewriteError, match="--fp strict"):
        apply(PROCEDURES["dot"], mirror(PROCEDURES["dot"]), rewrite, FloatingPoint.STRICT)
    (rewrite,) = proposals("counted", FloatingPoint.STRICT)
    apply(PROCEDURES["counted"], mirror(PROCEDURES["counted"]), rewrite, FloatingPoint.STRICT)


def test_nothing_on_one_thread_and_never_inside_of_a_parallel_loop() -> None:
    ast = mirror(PROCEDURES["dot"])
    assert not list(REDUCE.rewrites(ast, TARGET))
    parallel = in_parts("dot", 64)
    inside = [r.path for r in REDUCE.rewrites(mirror(parallel), THREADS)]
    assert not [path for path in inside if path[0] == 1]
    assert not list(PARALLELIZE.rewrites(mirror(parallel), THREADS))


@pytest.mark.parametrize("length", [0, -1, True, "n", 2.0])
def test_lengths_from_anywhere_are_refused(length: object) -> None:
    with pytest.raises(RewriteError):
        in_parts("dot", length)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "sizes"), [("dot", {}), ("columns", {"m": 9})])
def test_the_estimate_has_it_measured_early(name: str, sizes: dict[str, int]) -> None:
    """A search finds it at once, then, whatever else there is."""
    ast, sizes = mirror(PROCEDURES[name]), {"n": 10**6, **sizes}
    costs = {}
    for rewrite in propose(ast, THREADS, select(None)):
        try:
            after = apply(PROCEDURES[name], ast, rewrite)
        except RewriteError:
            continue
        costs[rewrite.transform] = min(
            log_cost(mirror(after), THREADS, sizes), costs.get(rewrite.transform, 1e9)
        )
    assert REDUCE.name in sorted(costs, key=costs.__getitem__)[:2]
