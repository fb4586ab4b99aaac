"""Kernels as operators of PyTorch. Not in the lock: it is large."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pytest

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.deploy.torch_op import schema
from schedsearch.deploy.variants import Written

from .calls import SUBJECTS
from .procs import kernels

pytestmark = pytest.mark.normal

SCHEMAS = {
    "matmul": "(Tensor(a0!) C, Tensor A, Tensor B) -> ()",
    "windows": "(float a, Tensor(a1!) y, Tensor x) -> ()",
    "row": "(Tensor(a0!) out, Tensor x, *, SymInt k, bool twice) -> ()",
    "blocks": "(Tensor(a0!) y, Tensor x, Tensor(a2!) total) -> ()",
    "bytes_up": "(int by, Tensor(a1!) y, Tensor x) -> ()",
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_say_what_is_written(name: str) -> None:
    assert schema(Written.of(SUBJECTS[name].proc)) == SCHEMAS[name]


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    """As a process begins: PyTorch as a peer takes no gradients."""
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    yield torch
    torch.set_grad_enabled(before)


_fixtures = count()


@pytest.fixture(scope="module")
def namespace() -> str:
    """Names are registered once in a process, which may come back to this file after another."""
    return f"schedsearch_tests_{next(_fixtures)}"


@pytest.fixture(scope="module")
def operators(torch: Any, namespace: str) -> dict[str, Any]:
    return {
        name: schedsearch.kernel(subject.proc).torch_op(f"{namespace}::{name}")
        for name, subject in SUBJECTS.items()
    }


def call_of(torch: Any, name: str, seed: int) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """Arguments, and what the arrays are afterwards. PyTorch has no negative strides."""
    call = SUBJECTS[name].make(np.random.default_rng(seed))
    arrays = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in call.arrays.items()}
    given = [torch.from_numpy(a.copy()) if hasattr(a, "copy") else a for a in arrays.values()]
    SUBJECTS[name].compute(expected := {**arrays, **call.controls})
    return given, call.controls, {n: expected[n] for n in arrays}


@pytest.mark.parametrize("name", SCHEMAS)
def test_operators_compute_and_pass_opcheck(
    torch: Any, operators: dict[str, Any], name: str
) -> None:
    for seed in range(5):
        given, controls, expected = call_of(torch, name, seed)
        torch.library.opcheck(operators[name], tuple(given), controls)
        versions = [each._version for each in given if torch.is_tensor(each)]
        operators[name](*given, **controls)
        written = [each._version for each in given if torch.is_tensor(each)]
        assert sum(b > a for a, b in zip(versions, written, strict=True)) == SCHEMAS[name].count(
            "!"
        )
        for each, value in zip(given, expected.values(), strict=True):
            if torch.is_tensor(each):
                np.testing.assert_allclose(each.numpy(), value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_operators_are_compiled_around(torch: Any, operators: dict[str, Any], backend: str) -> None:
    """One graph, with tensors of other sizes too, and in no_grad with what requires grad."""

    @torch.compile(fullgraph=True, backend=backend)  # type: ignore[untyped-decorator]
    def layer(x: Any, w: Any) -> Any:
        y = torch.zeros(x.shape[0], w.shape[1])
        operators["matmul"](y, x, w)
        return torch.relu(y) + 1

    for n in (3, 4, 5):
        x, w = torch.randn(n, 6), torch.randn(6, n)
        torch.testing.assert_close(layer(x, w), torch.relu(x @ w) + 1)
    with torch.no_grad():
        w = torch.nn.Parameter(w)
        torch.testing.assert_close(layer(x, w), torch.relu(x @ w) + 1)
    with torch.inference_mode():
        y = torch.zeros(5, 5)
        operators["matmul"](y, x, w)
        torch.testing.assert_close(y, x @ w)


def test_what_is_refused(torch: Any, operators: dict[str, Any]) -> None:
    a, b, c = (torch.ones(4, 4) for _ in range(3))
    kernel = schedsearch.kernel(kernels.matmul)
    with_gradient = torch.ones(4, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"argument A: wanted a tensor that does not require"):
        operators["matmul"](c, with_gradient, b)
    with pytest.raises(RuntimeError, match=r"argument A: wanted a tensor that does not require"):
        torch.func.jvp(lambda tangent: operators["matmul"](c, tangent, b), (a,), (a,))
    with pytest.raises(TypeError, match=r"argument A: .* got (Tensor|Parameter): .*grad"):
        kernel(c, with_gradient, b)
    for call in (kernel, operators["matmul"]):
        with pytest.raises(ValueError, match=r"argument B: wanted a dense array in C order"):
            call(c, a, torch.ones(4, 8)[:, ::2])
        with pytest.raises(TypeError, match=r"argument B: wanted float32 .* got float64"):
            call(c, a, b.double())
        with pytest.raises(ValueError, match=r"argument C: wanted an output apart"):
            call(c, c, b)
    with pytest.raises(TypeError, match=r"argument A: .* got Tensor: "):
        kernel(c, a.to_sparse(), b)
    assert (c == 1).all()
    meta = torch.ones(4, 4, device="meta")
    operators["matmul"](meta, meta, meta)  # the fake
    with pytest.raises(TypeError, match=r"argument C: .* got Tensor: "):
        kernel(meta, a, b)


def test_windows_take_strided_tensors(torch: Any, operators: dict[str, Any]) -> None:
    whole = torch.arange(48, dtype=torch.float64).reshape(8, 6)
    y, x = whole[:4].t(), whole[4:].t()
    expected = y + 3 * x
    operators["windows"](3.0, y, x)
    torch.testing.assert_close(y, expected)


def test_names_that_pytorch_does_not_take(
    torch: Any, operators: dict[str, Any], namespace: str
) -> None:
    kernel = schedsearch.kernel(kernels.scaled)
    for name in (f"{namespace}::matmul", f"{namespace}::class"):
        with pytest.raises(UserError, match=f"registers no operator '{name}'"):
            kernel.torch_op(name)
    for name in ("plain", "a::", "::b", "a::b::c", "a.b::c", "a::b.c", "ü::x", "aten::add", None):
        with pytest.raises(UserError, match=f"{name!r} is no name for an operator"):
            kernel.torch_op(name)
