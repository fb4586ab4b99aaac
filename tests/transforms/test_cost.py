"""The cost estimate ranks what compilers are known to do well or badly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.build import Build
from schedsearch.core.records import Compiler, Target
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.estimate.cost import estimate, log_cost
from schedsearch.transforms.estimate.surroundings import Scene
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, Procedures, kernels, walk

BLOCKS = Procedures("blocks")
ESTIMATES = Procedures("estimates")
BEFORE = Procedures("before")
SIZES = {"M": 64, "N": 64, "K": 64}


def gains(procedure: Any, transform: str) -> Iterator[tuple[Rewrite, float]]:
    """Predicted log gain of every rewrite of a transform."""
    ast = mirror(procedure)
    for rewrite in select([transform])[0].rewrites(ast, TARGET):
        after = mirror(apply(procedure, ast, rewrite))
        yield rewrite, log_cost(ast, TARGET, SIZES) - log_cost(after, TARGET, SIZES)


def test_the_loop_order_that_vectorises_is_preferred() -> None:
    by_label = {
        rewrite.label.split()[1]: gain for rewrite, gain in gains(BLOCKS["product"], "reorder")
    }
    assert by_label["j"] > 0.5  # k and j swapped: unit stride innermost
    assert abs(by_label["i"]) < 0.1


@pytest.mark.normal
def test_register_blocks_are_preferred_to_any_loop_order() -> None:
    order = max(gain for _, gain in gains(BLOCKS["product"], "reorder"))
    assert max(gain for _, gain in gains(BLOCKS["product"], "register_block")) > order


def test_scalar_replacement_lets_a_reduction_vectorise() -> None:
    assert min(gain for _, gain in gains(BEFORE["stage_scalar"], "stage_scalar")) > 0.3


def test_threads_pay_where_there_is_work_for_them() -> None:
    two = replace(TARGET, threads=2)

    def gain(size: int) -> float:
        procedure, sizes = BLOCKS["product"], dict.fromkeys("MNK", size)
        ast = mirror(procedure)
        (rewrite,) = select(["parallelize"])[0].rewrites(ast, two)
        after = mirror(apply(procedure, ast, rewrite))
        return log_cost(ast, two, sizes) - log_cost(after, two, sizes)

    assert gain(512) > 0.3
    assert gain(4) < 0


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(kernels()))
def test_estimates_any_state(name: str) -> None:
    for _, state in walk(kernels()[name], 1, 3):
        assert log_cost(state.ast, TARGET, {}) > 0.0


def test_maxima_are_cheap_and_exponentials_are_not() -> None:
    whole = mirror(ESTIMATES["softmax"])
    (loop,) = whole.body
    assert isinstance(loop, q.For)
    maxima = replace(whole, body=(replace(loop, body=loop.body[:3]),))
    assert log_cost(maxima, TARGET, {}) < log_cost(whole, TARGET, {}) - 1.0


def test_an_instruction_costs_what_its_body_does() -> None:
    """Vectorising by instructions is about as good as what the compiler vectorises itself."""
    for rewrite, gain in gains(ESTIMATES["softmax"], "vectorise"):
        assert abs(gain) < 0.5, rewrite


def test_instructions_may_be_given_nothing_but_scalars() -> None:
    assert len(list(gains(ESTIMATES["doubled"], "vectorise_recurrence"))) > 1


AVX512 = replace(TARGET, vector_bits=512)


def costs_of(procedure: Any, target: Target) -> float:
    """Logarithm of what it computes; these caches are tiny, misses would hide it."""
    return log(estimate(Scene(mirror(procedure), target, SIZES)).compute)


def in_order_ijk_to_ikj() -> Any:
    """The product with `j` innermost: what compilers vectorise."""
    procedure = BLOCKS["product"]
    ast = mirror(procedure)
    swaps = select(["reorder"])[0].rewrites(ast, TARGET)
    (swap,) = (rewrite for rewrite in swaps if rewrite.label.split()[1] == "j")
    return apply(procedure, ast, swap)


def built(options: str = "", restrict: bool = False) -> Target:
    return replace(AVX512, build=Build(options=options, restrict=restrict))


def test_compilers_take_long_vectors_only_if_told_to() -> None:
    plain = costs_of(in_order_ijk_to_ikj(), AVX512)
    assert costs_of(in_order_ijk_to_ikj(), built("-mprefer-vector-width=512")) < plain - 0.3


def test_gcc_at_o2_vectorises_and_unrolls_less() -> None:
    symbolic = in_order_ijk_to_ikj()
    assert costs_of(symbolic, built("-O2")) > costs_of(symbolic, AVX512) + 0.3
    clang = replace(AVX512, compiler=Compiler("clang", "19", ""))
    same = replace(clang, build=Build(options="-O2"))
    assert costs_of(symbolic, same) == costs_of(symbolic, clang)


def test_jamming_rows_that_may_overlap_keeps_loops_from_being_vectorised() -> None:
    """Four rows of C against five accesses to A and B are more comparisons than gcc makes."""
    inner = in_order_ijk_to_ikj()
    ast = mirror(inner)
    for rewrite in select(["unroll_and_jam"])[0].rewrites(ast, AVX512):
        if rewrite.label.split()[1] == "i" and rewrite.arg("factor") == 4:
            jammed = apply(inner, ast, rewrite)
            assert costs_of(jammed, AVX512) > costs_of(inner, AVX512) + 0.3
            assert costs_of(jammed, built(restrict=True)) < costs_of(inner, built(restrict=True))
            return
    pytest.fail("no jam of four rows is proposed")


def test_joined_loops_pay_for_their_divisions() -> None:
    procedure = BLOCKS["deep"]
    ast = mirror(procedure)
    rewrites = select(["mult_loops"])[0].rewrites(ast, TARGET)
    (innermost,) = (rewrite for rewrite in rewrites if rewrite.label.split()[1] == "j")
    joined = apply(procedure, ast, innermost)
    assert costs_of(joined, TARGET) > costs_of(procedure, TARGET) + 0.3


@pytest.mark.normal
def test_registers_in_a_loop_that_stays_a_loop_are_memory() -> None:
    """gcc at -O2 unrolls no loop over a register block's rows."""
    procedure = BLOCKS["product"]
    ast = mirror(procedure)
    block = next(iter(select(["register_block"])[0].rewrites(ast, AVX512)))
    after = apply(procedure, ast, block)
    assert costs_of(after, built("-O2")) > costs_of(after, AVX512) + 0.3
