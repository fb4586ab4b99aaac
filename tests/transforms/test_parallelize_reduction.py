"""Sums on threads are the sums of the plain loops, whatever the number of threads."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from schedsearch.analysis.independence import has_threads, races
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_BITS
from schedsearch.core.errors import RewriteError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites.parallelize_reduction import LINE
from schedsearch.transforms.operators.ops import After, At, Op, run_op
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact, on_threads
from transforms.helpers import TARGET, source

PROCEDURES = source("parallel_sums").procs
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
def test_parts_have_no_cache_line_in_common(name: str) -> None:
    """Wherever the array begins: a line lies between the results of two parts."""
    ast = mirror(in_parts(name, 4))
    (loop,) = (s for s in q.walk(ast.body) if isinstance(s, q.For) and s.parallel)
    allocs = {s.buf: s for s in q.walk(ast.body) if isinstance(s, q.Alloc)}
    for stmt in (s for s in q.walk(loop.body) if isinstance(s, q.Reduce)):
        alloc = allocs[stmt.buf]
        assert stmt.idx[0] == q.as_affine(loop.iter)
        for m in (1, 5, 16):
            # Sizes are `m`, and other loops end before it.
            shape = [q.evaluate_affine(extent, lambda _, m=m: m) for extent in alloc.shape[1:]]
            last = [q.evaluate_affine(index, lambda _, m=m: m - 1) for index in stmt.idx[1:]]
            used = sum(index * prod(shape[dim + 1 :]) for dim, index in enumerate(last)) + 1
            assert (prod(shape) - used + 1) * ELEMENT_BITS[alloc.type] >= 8 * LINE


@pytest.mark.parametrize("name", sorted(n for n in PROCEDURES if n.startswith("no_")))
def test_refuses_what_does_more_than_add(name: str) -> None:
    assert not proposals(name)
    loop = next(s for s in mirror(PROCEDURES[name]).body if isinstance(s, q.For))
    rewrite = Rewrite(REDUCE.name, 1, loop.path, "for i in seq(0, n)", (("length", 4),))
    with pytest.raises(RewriteError, match="share more"):
        apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite)


def test_one_accumulator_for_all_threads_is_refused() -> None:
    """The rewrite without its last dimension, or with the same element for all parts."""
    ops = [
        Op("divide_loop", (At((0,)), 4, ("io", "ii")), (("tail", "cut"),)),
        Op("stage_mem", (At((0, 0)), "r[0]", "own"), (("accum", True),)),
    ]
    shared = [
        *ops,
        Op("lift_alloc", (At((0, 0)),)),
    ]
    same_element = [
        *ops,
        Op("expand_dim", (At((0, 0)), "16", "0")),
        Op("lift_alloc", (At((0, 0)),)),
    ]
    for plan in (shared, same_element):
        procedure = PROCEDURES["dot"]
        for op in plan:
            procedure = run_op(procedure, op)
        with pytest.raises(RewriteError, match=r"share|same elements"):
            run_op(procedure, Op("parallelize_loop", (At((1,)),)))
        with pytest.raises(RewriteError):  # its sums cannot be added up later either
            run_op(procedure, Op("fission", (After((1, 1)), 1)))
    right = in_parts("dot", 4)
    assert not list(races(mirror(right)))


def test_the_contract_decides_about_floats_alone() -> None:
    assert proposals("dot", FloatingPoint.REASSOCIATE)
    assert not proposals("dot", FloatingPoint.STRICT)
    (rewrite,) = proposals("dot")
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
