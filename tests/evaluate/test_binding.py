from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.evaluate.arguments.binding import Binding, bind, verification_bindings
from schedsearch.transforms.exo.mirror import mirror

from . import procs


def cases(proc: q.Proc) -> tuple[Binding, ...]:
    return verification_bindings(proc, bind(proc, {}), lambda binding: True)


BOUND: list[tuple[Any, dict[str, int], dict[str, int]]] = [
    (procs.matmul, {"M": 8}, {"K": 256, "M": 8, "N": 256}),
    (procs.every_type, {}, {"b": 1, "k": 1, "n": 256}),
    (procs.divided, {}, {"n": 96}),
    (procs.triple, {}, {}),
]


@pytest.mark.parametrize(("procedure", "requested", "expected"), BOUND)
def test_requested_values_are_kept_and_the_rest_chosen(
    procedure: Any, requested: dict[str, int], expected: dict[str, int]
) -> None:
    assert dict(bind(mirror(procedure), requested).values) == expected


def test_configuration_used_for_control_is_bound() -> None:
    binding = bind(mirror(procs.configured), {"Cfg.count": 5})
    assert dict(binding.config) == {"Cfg.count": 5, "Cfg.enabled": 1}


def test_windows_are_padded_unless_asserted_otherwise() -> None:
    assert dict(bind(mirror(procs.windowed), {"n": 3, "m": 5}).strides) == {
        "x": (21, 1),
        "y": (21, 1),
    }
    asserted = dict(bind(mirror(procs.unit_stride), {"n": 3, "m": 5}).strides)
    assert asserted == {"x": (64, 1), "y": (21, 1)}


def test_indices_are_negative_too_in_configurations_as_well() -> None:
    proc = mirror(procs.signed)
    assert bind(proc, {"Signed.by": 0}).config == (("Signed.by", 0),)
    found = cases(proc)
    assert min(b.value("k") for b in found) < 0
    values = {dict(b.config)["Signed.by"] for b in found}
    assert min(values) < 1 <= max(values)


def test_verification_tries_other_sizes_strides_and_truth_values() -> None:
    proc = mirror(procs.every_type)
    found = cases(proc)
    assert {b.value("n") for b in found} == {1, 7, 37, 131}
    assert {b.value("k") for b in found} == {0, 1, 29}
    assert {b.value("b") for b in found} == {0, 1}
    windows = mirror(procs.windowed)
    found = cases(windows)
    assert {strides[1] for b in found for _, strides in b.strides} == {1, 2}
    unit = mirror(procs.unit_stride)
    for binding in cases(unit):
        assert dict(binding.strides)["x"] == (64, 1)


def test_constant_sizes_need_no_other_cases() -> None:
    proc = mirror(procs.triple)
    assert cases(proc) == ()


def test_the_largest_affordable_tails_are_verified() -> None:
    proc = mirror(procs.matmul)
    names = ("M", "N", "K")
    sizes = [tuple(b.value(n) for n in names) for b in cases(proc)]
    assert (1, 1, 1) in sizes
    assert (131, 197, 71) in sizes
    few = verification_bindings(proc, bind(proc, {}), lambda b: b.value("M") < 100)
    assert (67, 73, 41) in [tuple(b.value(n) for n in names) for b in few]
    assert len(verification_bindings(proc, bind(proc, {}), lambda b: False)) == 3


@pytest.mark.parametrize(
    ("procedure", "requested", "message"),
    [
        (procs.matmul, {"Q": 4}, r"no size called 'Q'.*Its sizes: M, N, K"),
        (procs.triple, {"n": 4}, r"no size called 'n'.*all its sizes are constants"),
        (procs.matmul, {"M": 0}, r"size M=0 of matmul must be at least 1"),
        (procs.matmul, {"M": -3}, r"size M=-3 of matmul must be at least 1"),
        (procs.matmul, {"M": 2**31}, r"size M=2147483648 of matmul is too large"),
        (procs.divided, {"n": 12}, r"n=12: assert \(n % 8|n=12: assert \(\(\(n\) % 8\) == 0\)"),
        (procs.divided, {"n": 104}, r"assert \(n <= 100\)"),
        (procs.every_type, {"n": 4, "k": 4}, r"assert \(k < n\)"),
        (procs.unit_stride, {"m": 65}, None),
    ],
)
def test_user_errors(procedure: Any, requested: dict[str, int], message: str | None) -> None:
    if message is None:  # rows that overlap only because an assert demands it
        assert dict(bind(mirror(procedure), requested).strides)["x"] == (64, 1)
        return
    with pytest.raises(UserError, match=message):
        bind(mirror(procedure), requested)


def test_json_and_pickle() -> None:
    binding = bind(mirror(procs.configured), {"n": 3})
    assert json.loads(json.dumps(binding.to_json())) == binding.to_json()
    assert pickle.loads(pickle.dumps(binding)) == binding
    assert str(binding) == "n=3, Cfg.count=256, Cfg.enabled=1"


def conditions(n: q.Var, m: q.Var) -> st.SearchStrategy[q.Expr]:
    small = st.integers(-8, 8)
    linear = st.builds(
        lambda a, b, c: q.as_affine(n).scaled(a) + q.as_affine(m).scaled(b) + c, small, small, small
    )
    divided = st.builds(q.floor_div, linear, st.integers(2, 9))
    left = linear | divided | st.builds(q.modulo, linear, st.integers(2, 9))
    op = st.sampled_from(["<", "<=", ">", ">=", "=="])
    return st.builds(lambda o, x, y: q.BinOp(o, x, y, "bool"), op, left, linear)


HOLDS = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__}


@pytest.mark.normal
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_bindings_satisfy_the_asserts_or_say_which_do_not_hold(data: st.DataObject) -> None:
    n, m = q.Var("n", 0), q.Var("m", 1)
    asserts = tuple(data.draw(st.lists(conditions(n, m), max_size=3)))
    proc = q.Proc("p", (q.Arg(n, "size"), q.Arg(m, "size")), asserts, ())

    def holds(binding: Binding) -> bool:
        env = {n: binding.value("n"), m: binding.value("m")}
        return all(
            HOLDS[a.op](q.evaluate_affine(a.lhs, env.get), q.evaluate_affine(a.rhs, env.get))
            for a in asserts
        )

    pairs = [(i, j) for i in range(1, 30) for j in range(1, 30)]
    if any(holds(Binding((("m", j), ("n", i)))) for i, j in pairs):
        binding = bind(proc, {})
        assert holds(binding)
        assert all(holds(b) for b in verification_bindings(proc, binding, lambda b: True))
        return
    try:
        assert holds(bind(proc, {}))
    except UserError as error:
        message = str(error)
    else:
        return
    assert "p cannot be called with any sizes: assert" in message
