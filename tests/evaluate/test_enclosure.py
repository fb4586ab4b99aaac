"""What a procedure may compute, against a plain interpreter, and against sums in any order."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray
from transforms.helpers import CONTROLS, arguments, kernels
from transforms.interpret import interpret

from schedsearch.core import ast as q
from schedsearch.core.floats import FloatingPoint
from schedsearch.transforms.exo.mirror import mirror

from . import procs
from .enclosed import Enclosed, Enclosure, OutOfBounds
from .nests import ARGUMENTS, SIZE, nests

pytestmark = pytest.mark.normal

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 1.0, -2.0]


def run(procedure: Any, folder: Path, args: list[Any]) -> dict[str, Enclosed]:
    return Enclosure(mirror(procedure), folder).run(args)


def outputs(proc: q.Proc, args: list[Any]) -> dict[str, NDArray[Any]]:
    """What the plain interpreter makes of them."""
    after = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        interpret(proc, after)
    pairs = zip(proc.args, after, strict=True)
    return {arg.var.name: value for arg, value in pairs if isinstance(value, np.ndarray)}


ROUND = {"layernorm"}


@pytest.mark.parametrize("name", sorted(CONTROLS.keys() - {"configured"}))
def test_whole_numbers_are_exact(name: str, tmp_path: Path) -> None:
    proc = mirror(kernels()[name])
    enclosure = Enclosure(proc, tmp_path)
    for controls in CONTROLS[name]:
        args = arguments(proc, controls, 1)
        wanted = outputs(proc, args)
        for output, found in enclosure.run(args).items():
            assert found.holds(wanted[output]).all()
            if name not in ROUND:
                assert not found.radius.any()


@pytest.mark.parametrize(
    ("procedure", "controls", "widest"),
    [
        (procs.matmul, {"M": 3, "N": 5, "K": 7}, 1e-5),
        (procs.triangle, {"n": 9}, 1e-5),
        (procs.recurrence, {"n": 8}, 1e-4),
        (procs.waves, {"n": 5}, 1e-6),
        (procs.normalise, {}, 1e-3),
        (procs.in_static, {"n": 6}, 1e-5),
    ],
    ids=lambda value: value.name() if hasattr(value, "name") else "",
)
def test_fractions_are_bounded_closely(
    procedure: Any, controls: dict[str, int], widest: float, tmp_path: Path
) -> None:
    proc = mirror(procedure)
    rng = np.random.default_rng(3)
    args = [
        rng.uniform(-1, 1, value.shape).astype(value.dtype)
        if isinstance(value, np.ndarray)
        else value
        for value in arguments(proc, controls, 2)
    ]
    wanted = outputs(proc, args)
    for name, found in Enclosure(proc, tmp_path).run(args).items():
        assert found.holds(wanted[name]).all()
        assert found.radius.max() < widest


ORDERS = 20


def test_a_sum_is_bounded_in_any_order(tmp_path: Path) -> None:
    """By the documented formula: K products, K additions."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (2, 1, 1000)).astype(np.float32)
    found = run(procs.matmul, tmp_path, [1, 1, 1000, np.zeros((1, 1), np.float32), a, b.T])["C"]
    size = np.abs(a.astype(float) * b).sum()
    bound = 2.0**-24 * size * (1 + 8 * 1000**0.5)
    assert found.radius[0, 0] == pytest.approx(bound, rel=1e-3)
    for _ in range(ORDERS):
        order = rng.permutation(1000)
        total = np.float32(0)
        for k in order:
            total += a[0, k] * b[0, k]
        assert found.holds(np.array([[total]])).all()
    one_less = (a.astype(float) * b)[0, 1:].sum()
    assert not found.holds(np.array([[one_less]])).any()


def test_terms_that_cancel_keep_their_roundings(tmp_path: Path) -> None:
    """`mean` of numbers far from zero, then what is left of them."""
    x = (1000 + np.random.default_rng(1).uniform(-1, 1, 256)).astype(np.float32)
    found = run(procs.normalise, tmp_path, [x, np.zeros(256, np.float32)])["y"]
    assert found.holds(outputs(mirror(procs.normalise), [x, np.zeros(256, np.float32)])["y"]).all()
    assert found.radius.min() > 1e-5


def test_conversions_are_at_their_place(tmp_path: Path) -> None:
    n = 2000
    x = np.random.default_rng(2).uniform(-5, 5, n).astype(np.float32)
    s = np.full(n, 0.37, np.float32)
    y = np.arange(n).astype(np.int8)
    found = run(procs.quantised, tmp_path, [n, y, x, s])["y"]
    exact = y + np.trunc(x.astype(float) * s.astype(float))
    wrapped = (exact + 128) % 256 - 128
    assert found.holds(wrapped).all()
    assert (found.radius == 0).mean() > 0.99
    for other in (np.rint, np.floor, np.ceil):
        wrong = (y + other(x.astype(float) * s) + 128) % 256 - 128
        assert (~found.holds(wrong)).mean() > 0.3
    late = (np.trunc(y + x.astype(float) * s) + 128) % 256 - 128
    assert (~found.holds(late)).any()


def test_what_may_be_either_of_two_integers(tmp_path: Path) -> None:
    """0.3f * 10 / 3 is close to 1, and may be rounded to it; 0.5 * 4 is 2 and nothing else."""
    x, s = np.array([0.3, 0.5], np.float32), np.array([10 / 3, 4.0], np.float32)
    found = run(procs.quantised, tmp_path, [2, np.zeros(2, np.int8), x, s])["y"]
    assert found.holds(np.array([0, 2])).all()
    assert found.holds(np.array([1, 2])).all()
    assert not found.holds(np.array([2, 1])).any()


def test_a_reciprocal_may_be_lost(tmp_path: Path) -> None:
    """-ffast-math makes a product with it, which processors take for 0 where it is denormal."""
    a = np.array([3, 3, -6e37], np.float32)
    b = np.array([2.0**127, 2.0**125, 1.3e38], np.float32)
    args = [3, a, b, *(np.zeros(3, np.float32) for _ in range(6))]
    for fp in FloatingPoint:
        found = Enclosure(mirror(procs.operations), tmp_path / fp, fp).run(args)["quotient"]
        assert found.holds(a / b).all()
        lost = found.holds(np.zeros(3))
        assert lost.tolist() == ([True, False, True] if fp is FloatingPoint.FAST else [False] * 3)
        assert not found.holds(3 * a / b).any()


def test_special_numbers(tmp_path: Path) -> None:
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL], np.float32)
    args = [len(pairs), *(np.ascontiguousarray(column) for column in pairs.T)]
    args += [np.zeros(len(pairs), np.float32) for _ in range(6)]
    a, b = pairs.T
    with np.errstate(all="ignore"):
        wanted = {
            "plus": a + b,
            "minus": a - b,
            "times": a * b,
            "quotient": a / b,
            "chosen": np.where(a < b, np.where(a > 0, a, 0), -b),
            "summed": a + b,
        }
    for name, found in run(procs.operations, tmp_path, args).items():
        special = ~np.isfinite(wanted[name])
        assert found.holds(wanted[name]).all(), name
        assert (found.radius[special] == 0).all() or name == "quotient", name


@pytest.mark.slow
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
@given(stmt=nests())
def test_random_nests(stmt: q.Stmt, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whole numbers: sums are exact in any order, so that every dependence shows."""
    proc = q.Proc("nest", ARGUMENTS, (), (stmt,))
    rng = np.random.default_rng(1)
    args = [rng.integers(-3, 4, SIZE).astype(np.float32) for _ in ARGUMENTS]
    wanted = outputs(proc, args)
    for name, found in Enclosure(proc, tmp_path_factory.mktemp("nest")).run(args).items():
        np.testing.assert_array_equal(found.value, wanted[name])


def test_an_index_out_of_bounds_is_found(tmp_path: Path) -> None:
    proc = mirror(procs.triangle)
    n, short = 5, np.zeros(4, np.float32)
    with pytest.raises(OutOfBounds, match=r"[xy] 0 4 4"):
        Enclosure(proc, tmp_path).run([n, np.zeros((n, n), np.float32), short, short])
