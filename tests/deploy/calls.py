"""Calls of kernels: right ones with what NumPy says of them, and ways to spoil them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .procs import kernels

Array = np.ndarray[Any, np.dtype[Any]]
Rng = np.random.Generator


@dataclass(frozen=True)
class Call:
    """Arguments by name: `arrays` in the procedure's order (numbers for scalars), `controls`;
    `outputs` are written."""

    arrays: dict[str, Any]
    controls: dict[str, Any]
    outputs: tuple[str, ...]

    def change(self, name: str, value: Any) -> Call:
        if name in self.controls:
            return replace(self, controls={**self.controls, name: value})
        return replace(self, arrays={**self.arrays, name: value})

    @property
    def contents(self) -> dict[str, bytes]:
        return {n: a.tobytes() for n, a in self.arrays.items() if isinstance(a, np.ndarray)}


@dataclass(frozen=True)
class Subject:
    """A procedure, how to make a call of it, and what it computes (into copies)."""

    proc: Any
    make: Callable[[Rng], Call]
    compute: Callable[[dict[str, Any]], None]


def strided(rng: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """Random numbers in an array with gaps, maybe backwards or turned."""
    steps = [int(rng.integers(1, 4)) for _ in shape]
    turned = bool(rng.integers(2)) and len(shape) == 2
    whole = numbers(rng, tuple(n * s for n, s in zip(shape, steps, strict=True)), dtype)
    if turned:
        whole = np.asfortranarray(whole)
    back = [-1 if rng.integers(4) == 0 else 1 for _ in shape]
    return whole[tuple(slice(None, None, s) for s in steps)][
        tuple(slice(None, None, b) for b in back)
    ]


def numbers(rng: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype.startswith("f"):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def make_matmul(rng: Rng) -> Call:
    m, n, k = (int(v) for v in rng.integers(1, 20, 3))
    shapes = {"C": (m, n), "A": (m, k), "B": (k, n)}
    return Call({a: numbers(rng, s, "f4") for a, s in shapes.items()}, {}, ("C",))


def make_windows(rng: Rng) -> Call:
    n, m = (int(v) for v in rng.integers(1, 20, 2))
    arrays = {name: strided(rng, (n, m), "f8") for name in ("y", "x")}
    return Call({"a": float(rng.uniform(-2, 2)), **arrays}, {}, ("y",))


def make_row(rng: Rng) -> Call:
    n, m = (int(v) for v in rng.integers(1, 20, 2))
    arrays = {"out": numbers(rng, (m,), "i4"), "x": numbers(rng, (n + 1, m), "i4")}
    return Call(
        arrays, {"k": int(rng.integers(0, n + 1)), "twice": bool(rng.integers(2))}, ("out",)
    )


def make_blocks(rng: Rng) -> Call:
    n = 8 * int(rng.integers(1, 9))
    arrays = {"y": numbers(rng, (2 * n,), "f4")[n:], "x": numbers(rng, (n,), "f4")}
    return Call({**arrays, "total": np.zeros(rng.integers(2) * (1,), "f4")}, {}, ("y", "total"))


def make_bytes_up(rng: Rng) -> Call:
    n = int(rng.integers(1, 99))
    arrays = {name: numbers(rng, (n,), "u1") for name in ("y", "x")}
    return Call({"by": int(rng.integers(0, 100)), **arrays}, {}, ("y",))


def compute_matmul(a: dict[str, Any]) -> None:
    a["C"] += a["A"] @ a["B"]


def compute_windows(a: dict[str, Any]) -> None:
    a["y"] += a["a"] * a["x"]


def compute_row(a: dict[str, Any]) -> None:
    a["out"][...] = a["x"][a["k"]] * (2 if a["twice"] else 1)


def compute_blocks(a: dict[str, Any]) -> None:
    a["y"][...] = a["x"]
    a["total"][...] = a["x"].sum()


def compute_bytes_up(a: dict[str, Any]) -> None:
    a["y"][...] = a["x"] + np.uint8(a["by"])


SUBJECTS = {
    "matmul": Subject(kernels.matmul, make_matmul, compute_matmul),
    "windows": Subject(kernels.windows, make_windows, compute_windows),
    "row": Subject(kernels.row, make_row, compute_row),
    "blocks": Subject(kernels.blocks, make_blocks, compute_blocks),
    "bytes_up": Subject(kernels.bytes_up, make_bytes_up, compute_bytes_up),
}

# -- ways to spoil a call: the spoiled one, and the argument that the message names -------

Spoiled = tuple[Call, str] | None
"""None: this call cannot be spoiled so."""


def some_array(call: Call, rng: Rng, of: Callable[[Any], bool] = lambda array: True) -> str | None:
    names = [n for n, a in call.arrays.items() if isinstance(a, np.ndarray) and of(a)]
    return names[rng.integers(len(names))] if names else None


def dtype(call: Call, rng: Rng) -> Spoiled:
    name = some_array(call, rng)
    others = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "c8", "?", ">f4", ">f8"]
    others = [each for each in others if np.dtype(each) != call.arrays[name].dtype]
    wrong = others[rng.integers(len(others))]
    return call.change(name, call.arrays[name].astype(wrong)), name


def rank(call: Call, rng: Rng) -> Spoiled:
    name = some_array(call, rng, lambda a: a.size > 1)
    if name is None:
        return None
    array = call.arrays[name]
    return call.change(name, array[None] if rng.integers(2) else array[0]), name


def contradiction(call: Call, rng: Rng) -> Spoiled:
    """One element more or less, or none, in a dimension whose size another array has too."""
    name = some_array(call, rng, lambda a: a.ndim and a.size)
    assert name is not None
    dim = int(rng.integers(call.arrays[name].ndim))
    if (name, dim) == ("x", 0) and "k" in call.controls:
        return None
    pad = [(0, 1 if d == dim else 0) for d in range(call.arrays[name].ndim)]
    if rng.integers(2):
        return call.change(name, np.pad(call.arrays[name], pad)), ""
    shorter = [slice(-1 if d == dim else None) for d in range(call.arrays[name].ndim)]
    return call.change(name, np.ascontiguousarray(call.arrays[name][tuple(shorter)])), ""


def strides(call: Call, rng: Rng) -> Spoiled:
    """Gaps, or other order, in an array that has to be dense."""
    name = some_array(call, rng, lambda a: a.flags.c_contiguous and a.ndim and a.shape[-1] > 1)
    if name is None or "a" in call.arrays:
        return None
    array = call.arrays[name]
    wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return call.change(
        name, wide[..., ::2]
    ), "y.strides[0] == 1" if "total" in call.arrays and name == "y" else name


def between_elements(call: Call, rng: Rng) -> Spoiled:
    """Strides of a window that are no whole elements."""
    if "a" not in call.arrays or call.arrays["x"].shape[0] == 1:
        return None
    n, m = call.arrays["x"].shape
    memory = np.zeros(n * (8 * m + 4) + 8, "u1")
    return call.change("x", np.ndarray((n, m), "f8", memory, 0, (8 * m + 4, 8))), "x"


def misaligned(call: Call, rng: Rng) -> Spoiled:
    name = some_array(call, rng, lambda a: a.itemsize > 1)
    if name is None:
        return None
    array = call.arrays[name]
    memory = np.zeros(array.nbytes + array.itemsize, "u1")
    off = (-memory.ctypes.data) % array.itemsize + int(rng.integers(1, array.itemsize))
    moved = np.ndarray(array.shape, array.dtype, memory[off % memory.size :][: array.nbytes].data)
    assert not moved.flags.aligned
    return call.change(name, moved), name


def read_only(call: Call, rng: Rng) -> Spoiled:
    name = call.outputs[rng.integers(len(call.outputs))]
    frozen = call.arrays[name].copy()
    frozen.flags.writeable = False
    return call.change(name, frozen), name


def overlapping(call: Call, rng: Rng) -> Spoiled:
    """An output and another array with an element in common."""
    out = call.outputs[0]
    others = [n for n, a in call.arrays.items() if isinstance(a, np.ndarray) and n != out]
    other = others[rng.integers(len(others))]
    one, two = call.arrays[out], call.arrays[other]
    if one.dtype.itemsize != two.dtype.itemsize:
        return None
    memory = np.zeros(one.size + two.size, one.dtype)
    begin = int(rng.integers(0, one.size))
    first = memory[: one.size].reshape(one.shape)
    second = memory[begin : begin + two.size].reshape(two.shape)
    return call.change(out, first).change(other, second), ""


def onto_itself(call: Call, rng: Rng) -> Spoiled:
    if "a" not in call.arrays or min(call.arrays["y"].shape) == 1:
        return None
    shape = call.arrays["y"].shape
    return call.change("y", np.ndarray(shape, "f8", np.zeros(sum(shape)), 0, (8, 8))), "y"


def broken_assert(call: Call, rng: Rng) -> Spoiled:
    if "k" in call.controls:
        beyond = [-1, call.arrays["x"].shape[0], 2**31, -(2**40), 10**30]
        return call.change("k", beyond[rng.integers(len(beyond))]), "k"
    if "total" in call.arrays:
        n = call.arrays["x"].size - int(rng.integers(1, 8))
        shorter = call.change("x", call.arrays["x"][:n].copy())
        return shorter.change("y", call.arrays["y"][:n]), "n % 8 == 0"
    return None


def control(call: Call, rng: Rng) -> Spoiled:
    if not call.controls:
        return None
    name = ("k", "twice")[rng.integers(2)]
    wrong = [None, 1.5, "1", [1], np.zeros(2), True if name == "k" else 1]
    return call.change(name, wrong[rng.integers(len(wrong))]), name


def no_array(call: Call, rng: Rng) -> Spoiled:
    name = some_array(call, rng)
    assert name is not None
    wrong = [None, [1.0, 2.0], "abc", object(), 1.0, 2**70]
    return call.change(name, wrong[rng.integers(len(wrong))]), name


def number(call: Call, rng: Rng) -> Spoiled:
    if "by" in call.arrays:
        wrong: list[Any] = [256, -1, 1.5, "1", True, None, 2**80, np.int64(1)]
        return call.change("by", wrong[rng.integers(len(wrong))]), "by"
    if "a" in call.arrays:
        wrong = ["1", True, None, 10**400, 1j, np.float32(1.0), np.ones(2)]
        return call.change("a", wrong[rng.integers(len(wrong))]), "a"
    return None


def missing(call: Call, rng: Rng) -> Spoiled:
    if call.controls and rng.integers(2):
        left = {n: v for n, v in call.controls.items() if n != "k"}
        return replace(call, controls=left), "k"
    *arrays, last = call.arrays.items()
    return replace(call, arrays=dict(arrays)), last[0]


def unknown(call: Call, rng: Rng) -> Spoiled:
    return replace(call, controls={**call.controls, "no_such": 1}), "no_such"


def wrong_size(call: Call, rng: Rng) -> Spoiled:
    """A size that is given, and is not that of the shapes."""
    size = {"C": "M", "a": "n", "out": "m", "total": "n", "by": "n"}
    name = next(size[each] for each in size if each in call.arrays)
    return replace(call, controls={**call.controls, name: 1000}), f"{name}=1000"


SPOILERS = (
    *(dtype, rank, contradiction, strides, between_elements, misaligned, read_only, overlapping),
    *(onto_itself, broken_assert, control, no_array, number, missing, unknown, wrong_size),
)
