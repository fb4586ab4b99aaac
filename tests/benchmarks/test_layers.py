"""Layers of networks, and PyTorch's and NumPy's forms of them, compute what their definitions say.

On small arrays, in this process.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.suite.case import Case
from benchmarks.suite.contenders import native
from benchmarks.suite.layers import LAYERS
from schedsearch.peers.agreement import differences
from schedsearch.peers.arrays import Array, Arrays, make_arrays
from schedsearch.peers.trial import Peer
from schedsearch.search.setup import subject

pytestmark = pytest.mark.normal

SMALL = {"B": 2, "H": 5, "W": 6, "CI": 7, "CO": 11, "C": 13, "S": 9, "D": 37, "E": 29}
ONE_BATCH = [case for case in LAYERS if case.name.endswith("_b1")]


@pytest.fixture(autouse=True, scope="module")
def loaded_once() -> Iterator[None]:
    """Many layers are of one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subject, "load_source", cache(subject.load_source))
        yield


def convolution(stride: int, relu: bool = False) -> Callable[..., Array]:
    """Each pixel of the result from its window."""

    def reference(inp: Array, w: Array, out: Array, bias: Any = 0.0) -> Array:
        found = np.empty(out.shape)
        for y, x in np.ndindex(*out.shape[1:3]):
            top, left = stride * y, stride * x
            window = inp[:, top : top + w.shape[0], left : left + w.shape[1]]
            each = "bklc,klc->bc" if w.ndim == 3 else "bkli,klio->bo"
            found[:, y, x] = np.einsum(each, window, w) + bias
        return np.maximum(found, 0.0) if relu else found

    return reference


def linear(x: Array, w: Array, bias: Array, out: Array) -> Array:
    return np.einsum("bik,jk->bij", x, w) + bias


def gelu(x: Array, w: Array, bias: Array, out: Array) -> Array:
    t = linear(x, w, bias, out)
    return 0.5 * t * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3)))


def attention(Q: Array, K: Array, V: Array, out: Array) -> Array:
    weights = np.exp(np.einsum("bhik,bhjk->bhij", Q, K) / np.sqrt(Q.shape[-1]))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", weights, V)


def layernorm(x: Array, gamma: Array, beta: Array, out: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def rmsnorm(x: Array, gamma: Array, out: Array) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gamma


def swiglu(x: Array, gate: Array, up: Array, down: Array, out: Array) -> Array:
    gates = x @ gate.T
    return (gates / (1 + np.exp(-gates)) * (x @ up.T)) @ down.T


REFERENCES: Mapping[str, Callable[..., Array]] = {
    "nn_conv3x3_bias_relu": convolution(1, relu=True),
    "nn_conv3x3_stride2": convolution(2),
    "nn_conv1x1": convolution(1),
    "nn_conv1x1_stride2": convolution(2),
    "nn_conv7x7_stride2": convolution(2),
    "nn_depthwise3x3": convolution(1),
    "nn_depthwise3x3_stride2": convolution(2),
    "nn_linear": linear,
    "nn_attention": attention,
    "nn_layernorm": layernorm,
    "nn_linear_gelu": gelu,
    "nn_rmsnorm": rmsnorm,
    "nn_swiglu": swiglu,
}


def small(case: Case) -> Case:
    return replace(case, sizes=tuple((name, SMALL[name]) for name, _ in case.sizes))


def expected(case: Case, arrays: Arrays) -> dict[str, Array]:
    """In double precision, rounded in the end."""
    pairs = zip(arrays.described, arrays.values, strict=True)
    given = {a.name: v.astype(float) for a, v in pairs if not isinstance(v, int)}
    return {"out": REFERENCES[case.form](**given).astype(np.float32)}


def test_each_layer_is_there_for_two_batches() -> None:
    assert len(LAYERS) == 2 * len(REFERENCES)
    assert {case.form for case in ONE_BATCH} == set(REFERENCES)


@pytest.mark.parametrize("case", ONE_BATCH, ids=lambda case: case.form)
def test_the_kernel_computes_what_the_definition_says(case: Case) -> None:
    chosen = small(case)
    loaded = chosen.load()
    arrays = make_arrays(chosen.arguments(loaded))
    wanted = expected(chosen, arrays)
    written = native("as written", loaded.builder, loaded.code)
    assert isinstance(written, Peer)
    ctypes.CDLL(written.what.path)[written.what.name](None, *arrays.passed())
    assert differences(wanted, dict(arrays.outputs)) is None


@pytest.mark.parametrize(
    ("case", "library"),
    [(case, library) for case in ONE_BATCH for library in case.python_peers],
    ids=lambda value: value if isinstance(value, str) else value.form,
)
def test_the_peer_computes_what_the_definition_says(case: Case, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    forms = importlib.import_module(f"benchmarks.suite.peers.with_{library}")
    chosen = small(case)
    arrays = make_arrays(chosen.arguments(chosen.load()))
    wanted = expected(chosen, arrays)
    returned = getattr(forms, case.form)(*arrays.arrays)()
    found = dict(arrays.outputs) if returned is None else {"out": np.asarray(returned)}
    assert differences(wanted, found) is None
