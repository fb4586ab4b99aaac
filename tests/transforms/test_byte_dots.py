"""Sums of products of bytes are exact, for all bytes, and made only where the CPU has VNNI."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.operators import byte_dots
from schedsearch.transforms.operators.byte_dots import ByteDots, dots_instruction
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, source
from transforms.native import Library

(BLOCK,) = select(["register_block"])
SOURCE = source("byte_sums")
KINDS = tuple(product(("i8", "ui8"), repeat=2))
LIMITS = {"i8": (-128, 127), "ui8": (0, 255)}
FEATURES = {8: "avx_vnni", 16: "avx512_vnni"}
FLAGS = {
    8: ("-O2", "-mavx2", "-mavxvnni"),
    16: ("-O2", "-march=x86-64-v4", "-mavx512vnni"),
    0: ("-O1",),
}


def target(lanes: int, *features: str) -> Target:
    registers = 16 if lanes == 8 else 32
    return replace(TARGET, vector_bits=32 * lanes, vector_registers=registers, features=features)


def library(results: Sequence[Any], folder: Path, lanes: int) -> Library:
    """Compiled for registers of so many lanes; 0: without VNNI."""
    if lanes and FEATURES[lanes] not in cpu_identity()[1]:
        pytest.skip(f"this CPU has no {FEATURES[lanes]}")
    return Library([generate_c(result) for result in results], folder, FLAGS[lanes])


def blocks(procedure: Any, lanes: int, first: bool = True) -> list[Any]:
    ast = mirror(procedure)
    rewrites = list(BLOCK.rewrites(ast, target(lanes, FEATURES[lanes])))
    found = [rewrite for rewrite in rewrites if dict(rewrite.args).get("bytes")]
    assert found
    return [apply(procedure, ast, rewrite) for rewrite in found[: 1 if first else None]]


def data(ast: q.Proc, sizes: Mapping[str, int], kind: str) -> list[Any]:
    """Arguments: all extremes (`low`, `high`), extremes at random (`mixed`), or any."""
    rng = np.random.default_rng(7)
    found: list[Any] = []
    for arg in ast.args:
        if arg.shape is None:
            found.append(sizes[arg.var.name])
            continue
        shape = [q.evaluate_affine(n, lambda atom: sizes[atom.name]) for n in arg.shape]
        if arg.type == "i32":
            found.append(rng.integers(-(2**20), 2**20, shape, dtype="int32"))
            continue
        low, high = LIMITS[arg.type]
        dtype = {"i8": "int8", "ui8": "uint8"}[arg.type]
        values = {
            "low": np.full(shape, low),
            "high": np.full(shape, high),
            "mixed": rng.choice([low, high], shape),
            "any": rng.integers(low, high + 1, shape),
        }
        found.append(values[kind].astype(dtype))
    return found


MEANINGS = {
    "product": "ik,kj->ij",
    "turned": "ik,jk->ij",
    "any_size": "ik,kj->ij",
    "swapped": "ik,kj->ij",
}


def wanted(name: str, args: list[Any]) -> Any:
    """What the procedure means, by NumPy in 64 bits."""
    result, a, b = (each for each in args if isinstance(each, np.ndarray))
    a, b = a.astype("int64"), b.astype("int64")
    if name == "convolution":
        total = np.zeros(result.shape, "int64")
        for y, x in np.ndindex(*b.shape[:2]):
            window = a[y : y + result.shape[0], x : x + result.shape[1]]
            total += np.einsum("yxc,co->yxo", window, b[y, x])
        return (result + total).astype("int32")
    return (result + np.einsum(MEANINGS[name], a, b)).astype("int32")


SIZES = [
    {"M": m, "N": n, "K": k} for m, n, k in ((7, 70, 64), (13, 97, 131), (3, 16, 5), (1, 1, 1))
]


@pytest.mark.normal
@pytest.mark.parametrize("lanes", [8, 16, 0])
@pytest.mark.parametrize("name", [*sorted(MEANINGS), "convolution"])
def test_sums_are_exact(name: str, lanes: int, tmp_path: Path) -> None:
    procedure = SOURCE.procs[name]
    ast = mirror(procedure)
    results = blocks(procedure, lanes or 16, first=False)
    compiled = library(results, tmp_path, lanes)
    for sizes, kind in product(
        SIZES if name == "any_size" else [{}], ("low", "high", "mixed", "any")
    ):
        for number, result in enumerate(results):
            args = data(ast, sizes, kind)
            right = wanted(name, args)
            compiled.call(number, ast, args)
            (found,) = (each for each in args if getattr(each, "dtype", None) == "int32")
            assert np.array_equal(found, right), (sizes, kind, str(result))
            assert "dots_" in str(result)
