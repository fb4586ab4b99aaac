"""Sums of products of bytes are exact, for all bytes, and made only where the CPU has VNNI."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.registry import apply, select
from transforms.helpers import TARGET, Procedures, source
from transforms.native import Library

ALL, BLOCK = select(["block_all", "register_block"])
PROCEDURES = Procedures("byte_sums")
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


def library(codes: Sequence[GeneratedC], folder: Path, lanes: int) -> Library:
    """Compiled for registers of so many lanes; 0: without VNNI."""
    if lanes and FEATURES[lanes] not in cpu_identity()[1]:
        pytest.skip(f"this CPU has no {FEATURES[lanes]}")
    return Library(codes, folder, FLAGS[lanes])


def proposed(procedure: Any, machine: Target) -> list[Rewrite]:
    """Blocks of sums of bytes."""
    rewrites = BLOCK.rewrites(mirror(procedure), machine)
    return [rewrite for rewrite in rewrites if dict(rewrite.args).get("bytes")]


@cache
def blocks(name: str, lanes: int) -> list[GeneratedC]:
    procedure = PROCEDURES[name]
    machine = target(lanes, FEATURES[lanes])
    rewrites, [of_all] = proposed(procedure, machine), ALL.rewrites(mirror(procedure), machine)
    assert rewrites
    assert dict(of_all.args)["bytes"] is True
    rewrites.append(of_all)
    return [generate_c(apply(procedure, mirror(procedure), rewrite)) for rewrite in rewrites]


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


DATA = ("low", "high", "mixed", "any")
SIZES = [
    {"M": m, "N": n, "K": k} for m, n, k in ((7, 70, 64), (13, 97, 131), (3, 16, 5), (1, 1, 1))
]


def differ(name: str, compiled: Library) -> list[tuple[Any, ...]]:
    """Sizes, data, and the number of a result that is not what the procedure means."""
    ast, found = mirror(PROCEDURES[name]), []
    for sizes, kind in product(SIZES if name == "any_size" else [{}], DATA):
        for number in range(len(compiled.functions)):
            args = data(ast, sizes, kind)
            right = wanted(name, args)
            compiled.call(number, ast, args)
            (after,) = (each for each in args if getattr(each, "dtype", None) == "int32")
            if not np.array_equal(after, right):
                found.append((sizes, kind, number))
    return found


@pytest.mark.parametrize("lanes", [8, 16, 0])
@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(n, marks=pytest.mark.normal) for n in ("product", "turned", "swapped")),
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("any_size", "convolution")),
    ],
)
def test_sums_are_exact(name: str, lanes: int, tmp_path: Path) -> None:
    """With VNNI of either register, and without."""
    codes = blocks(name, lanes or 16)
    assert all("_dots_" in code.source for code in codes)
    assert not differ(name, library(codes, tmp_path, lanes))


FAULTS = {
    "wrong sign": ("-128u * sum", "128u * sum"),
    "no correction": (", more)", ", _mm512_setzero_si512())"),
    "signed as unsigned": ("y[v], x)", "x, y[v])"),
    "the next lane": ("16 * v", "16 * v + 1"),
    "the next step": ("a + r * a_s + 4 * k, 4", "a + r * a_s + 4 * k + 1, 4"),
    "the next row": ("memcpy(&four, a + r", "memcpy(&four, a + (r ^ 1)"),
    "the rest is left out": ("if (q < 4 * n)", "if (q > 4 * n)"),
    "one step less": ("k < n; k++", "k + 1 < n; k++"),
}


@pytest.mark.normal
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str, tmp_path: Path) -> None:
    code, (old, new) = blocks("product", 16)[0], FAULTS[fault]
    assert old in code.source
    planted = replace(code, source=code.source.replace(old, new))
    assert differ("product", library([planted], tmp_path, 16))


@pytest.mark.parametrize(
    ("lanes", "features", "offered"),
    [
        (16, ["avx512_vnni"], True),
        (8, ["avx_vnni"], True),
        (8, ["avx512_vnni"], True),
        (16, ["avx_vnni", "avx512bw"], False),
        (16, [], False),
        (4, ["avx512_vnni", "asimddp"], False),
    ],
)
def test_only_cpus_with_vnni_get_them(lanes: int, features: list[str], offered: bool) -> None:
    procedure = PROCEDURES["product"]
    found = list(BLOCK.rewrites(mirror(procedure), target(lanes, *features)))
    assert found
    tiled = [rewrite for rewrite in found if dict(rewrite.args)["rows"]]
    assert {"bytes" in dict(rewrite.args) for rewrite in tiled} == {offered}


@pytest.mark.normal
def test_the_largest_tiles_are_tried_and_edges_are_sums_of_bytes() -> None:
    procedure = PROCEDURES["product"]
    rewrites = proposed(procedure, target(16, "avx512_vnni"))
    tiles = {(rewrite.arg("tile_rows"), rewrite.arg("tile_vectors")) for rewrite in rewrites}
    assert (6, 4) in tiles
    (rewrite, *_) = rewrites
    blocked = mirror(apply(procedure, mirror(procedure), rewrite))
    calls = [s.proc for s in q.walk(blocked.body) if isinstance(s, q.Call)]
    panels = [proc.args[-1].shape for proc in calls if "_dots_" in proc.name]
    assert {shape[1].const for shape in panels if shape} == {64, 6}  # of 70 columns


@pytest.mark.parametrize(
    "name", ["across", "strided", "halves", "sums", "to_floats", "short", "same_row"]
)
def test_other_sums_are_left_to_other_blocks(name: str) -> None:
    machine = target(16, "avx512_vnni")
    assert not proposed(PROCEDURES[name], machine)
    assert not [
        r for r in ALL.rewrites(mirror(PROCEDURES[name]), machine) if "bytes" in dict(r.args)
    ]


@pytest.mark.parametrize(
    "changed",
    [{"pack": False}, {"inner": 2}, {"depth": 6}, {"lanes": 32}, {"tile_rows": 1, "rows": ""}],
)
def test_refuses_blocks_that_nobody_proposes(changed: dict[str, Any]) -> None:
    procedure = PROCEDURES["convolution"]
    rewrite = proposed(procedure, target(16, "avx512_vnni"))[0]
    args = tuple(sorted({**dict(rewrite.args), **changed}.items()))
    with pytest.raises(RewriteError):
        apply(procedure, mirror(procedure), replace(rewrite, args=args))


@pytest.mark.normal
def test_floats_are_no_bytes() -> None:
    procedure = source("before").procs["register_block"]
    found = BLOCK.rewrites(mirror(procedure), target(16))
    rewrite = next(each for each in found if each.arg("pack"))
    args = tuple(sorted({**dict(rewrite.args), "bytes": True, "pack": True, "inner": 1}.items()))
    with pytest.raises(RewriteError, match="no sums of products of bytes"):
        apply(procedure, mirror(procedure), replace(rewrite, args=args))


@pytest.mark.normal
def test_an_exported_schedule_has_the_instruction(tmp_path: Path) -> None:
    (file := tmp_path / "alone.py").write_text(
        schedule_python(
            source("byte_sums"),
            "turned",
            Trace((proposed(PROCEDURES["turned"], target(16, "avx512_vnni"))[0],)),
        )
    )
    assert "schedsearch" not in file.read_text().split("\n", 2)[2]
    found = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, check=True)
    assert "_mm512_dpbusd_epi32" in found.stdout
