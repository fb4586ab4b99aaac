from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.evaluate.oracle.cases import is_cheap
from schedsearch.evaluate.roof.work import Work, count_steps, count_work
from schedsearch.transforms.exo.mirror import mirror

from . import procs


def work(procedure: Any, **sizes: int) -> Work:
    proc = mirror(procedure)
    return count_work(proc, bind(proc, sizes))


def test_matmul() -> None:
    found = work(procs.matmul, M=3, N=5, K=7)
    assert found.flops == 2 * 3 * 5 * 7
    assert found.bytes == 4 * (2 * 15 + 21 + 35)


def test_minima_take_an_addition_with_them() -> None:
    """As many additions as no multiplication is beside; what is written twice counts once."""
    assert dict(work(procs.min_plus, M=3, N=5, K=7).ops) == {"f32 min": 2 * 3 * 5 * 7}
    assert dict(work(procs.nearest, M=3, N=5).ops) == {"f32": 2 * 3 * 5, "f32 min": 3 * 5}


def test_written_arrays_count_once_unless_read() -> None:
    assert work(procs.triple).bytes == 2 * 64 * 4
    assert work(procs.twice).bytes == 2 * 64 * 4


def test_window_padding_is_not_traffic() -> None:
    assert work(procs.windowed, n=3, m=5).bytes == 4 * 3 * 15


def test_types_are_counted_apart() -> None:
    """`R` is f32; where there are bytes, all integer operations may be done on bytes."""
    found = dict(work(procs.every_type, n=10).ops)
    assert found["f32"] == 21  # a * 2.0 once
    assert found["i8"] == 50
    assert "i32" not in found


def test_triangle() -> None:
    assert work(procs.triangle, n=100).flops == 2 * 100 * 99 / 2
    n = 1_000_000
    start = time.monotonic()
    big = work(procs.triangle, n=n).flops
    assert time.monotonic() - start < 60
    assert big == pytest.approx(n * (n - 1), rel=1e-3)


def test_branches_are_followed() -> None:
    assert work(procs.branches, n=30).flops == 10 + 20


def test_calls_and_windows_are_followed() -> None:
    assert work(procs.calls, n=16).flops == 8 * 16 + 16


def brute_force(depth: int, n: int, bounds: list[tuple[int, int]]) -> int:
    """Iterations of a nest whose level runs to `a * outer + b`."""

    def level(at: int, outer: int) -> int:
        if at == depth:
            return 1
        a, b = bounds[at]
        return sum(level(at + 1, i) for i in range(max(a * outer + b, 0)))

    return level(0, n)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 6)), min_size=1, max_size=3),
)
def test_dependent_loops_are_counted_exactly(n: int, bounds: list[tuple[int, int]]) -> None:
    x = q.Var("x", 0)
    size = q.Var("n", 1)
    loops = [q.Var(f"i{level}", 2 + level) for level in range(len(bounds))]
    outer = [size, *loops]
    body: list[q.Stmt] = [q.Reduce((), x, (), q.Const(1.0, "f32"), "f32")]
    for level in reversed(range(len(bounds))):
        a, b = bounds[level]
        hi = q.as_affine(outer[level]).scaled(a) + b
        body = [q.For((), loops[level], q.Affine(0), hi, tuple(body), False)]
    proc = q.Proc("p", (q.Arg(x, "f32"), q.Arg(size, "size")), (), tuple(body))
    found = count_work(proc, Binding((("n", n),)))
    assert found.flops == brute_force(len(bounds), n, bounds)


def test_steps_are_all_that_is_computed() -> None:
    """A table that is the same in each of 25 iterations: a roofline counts it once."""
    proc = mirror(procs.again)
    binding = bind(proc, {"n": 5})
    assert count_work(proc, binding).flops == 2 * 5 + 5 * 5
    assert count_steps(proc, binding) == 5 * 5 * (2 * 5 + 1)
    copy = mirror(procs.copied)
    assert count_steps(copy, bind(copy, {"n": 7})) == 7
    matmul = mirror(procs.matmul)
    assert count_steps(matmul, bind(matmul, {"M": 3, "N": 5, "K": 7})) == 2 * 3 * 5 * 7


def test_a_call_that_repeats_much_is_not_cheap() -> None:
    proc = mirror(procs.again)
    assert is_cheap(proc, bind(proc, {"n": 100}))
    assert not is_cheap(proc, bind(proc, {"n": 400}))


def test_a_call_on_large_arrays_is_not_cheap() -> None:
    """However few of their elements it accesses."""
    proc = mirror(procs.corner)
    assert is_cheap(proc, bind(proc, {"n": 100}))
    assert not is_cheap(proc, bind(proc, {"n": 3000}))
