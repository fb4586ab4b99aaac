"""Every transform: one golden rewrite, and what all proposals have in common."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.text import show_proc
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.blocks.factors import ideal_factors
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.primitives import mult_loops
from schedsearch.transforms.registry import LIBRARY, apply, label, propose, registry, select
from transforms.helpers import CONTROLS, TARGET, kernels, source, walk

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "UPDATE_GOLDEN"
"""Set this environment variable to write the golden files anew; then read the difference."""


def golden_text(name: str) -> str:
    """The first proposal of the transform that Exo accepts, on the procedure of its name."""
    procedure = source("before").procs[name]
    ast = mirror(procedure)
    threads = 2 if name.startswith("parallelize") else 1
    target = replace(TARGET, threads=threads)
    for rewrite in registry()[name].rewrites(ast, target):
        after = show_proc(mirror(apply(procedure, ast, rewrite)))
        return f"{show_proc(ast)}\n\n{rewrite}\n\n{after}\n"
    raise AssertionError(f"{name} proposes nothing")


@pytest.mark.parametrize("name", sorted(registry()))
def test_golden(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if UPDATE in os.environ:
        path.write_text(golden_text(name))
    assert golden_text(name) == path.read_text()


def test_what_keeps_sums_in_registers() -> None:
    """A module is asked for `BLOCKS`, which it may import for something else."""
    found = {name for name in LIBRARY if registry()[name].blocks}
    assert found == {"block_all", "register_block"}


def test_every_golden_file_belongs_to_a_transform() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(registry())


@pytest.mark.parametrize("name", sorted(registry()))
def test_documented_as_before_and_after(name: str) -> None:
    transform = registry()[name]
    assert "->" in transform.doc
    assert transform.doc.splitlines()[0].endswith(".")
    assert transform.version >= 1


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_proposals_fit_what_is_there(name: str) -> None:
    states = [state.ast for _, state in walk(kernels()[name], 0, 3)]
    for ast in [mirror(kernels()[name]), *states]:
        rewrites = list(propose(ast, TARGET, select(None)))
        assert len(set(rewrites)) == len(rewrites)
        for rewrite in rewrites:
            assert rewrite.label == label(ast.by_path[rewrite.path] if rewrite.path else None)
            assert Rewrite.from_json(json.loads(json.dumps(rewrite.to_json()))) == rewrite
            assert rewrite.version == registry()[rewrite.transform].version
        assert rewrites == list(propose(ast, TARGET, select(None)))


def splits(procedure: Any, loop: str, target: Any = TARGET) -> set[tuple[int, str]]:
    found = select(["split"])[0].rewrites(mirror(procedure), target)
    return {(r.arg("factor"), r.arg("tail")) for r in found if r.label.startswith(f"for {loop} ")}


def test_split_proposes_every_tail_where_it_applies() -> None:
    assert {tail for _, tail in splits(kernels()["matmul"], "j")} == {"perfect"}
    seven = splits(kernels()["matmul"], "k")
    assert {tail for _, tail in seven} == {"cut", "guard", "cut_and_guard"}
    assert {(f, t) for f, t in splits(kernels()["blur"], "x") if f == 2} == {
        (2, tail) for tail in ("cut", "guard", "cut_and_guard")
    }


def test_an_assert_makes_the_split_of_a_symbolic_loop_perfect() -> None:
    columns, rows = splits(kernels()["gemm"], "j"), splits(kernels()["gemm"], "i")
    assert {tail for factor, tail in columns if 8 % factor == 0} == {"perfect"}
    assert {tail for factor, tail in columns if 8 % factor} == {"cut", "guard", "cut_and_guard"}
    assert {tail for _, tail in rows} == {"cut", "guard", "cut_and_guard"}


def test_factors_come_from_the_target() -> None:
    assert ideal_factors(TARGET, 32) == (2, 4, 8, 16)
    wide = replace(TARGET, vector_bits=512)
    assert set(ideal_factors(wide, 32)) >= {16, 32, 64}
    assert set(ideal_factors(wide, 64)) >= {8, 16, 32}
    caches = replace(TARGET, cache_bytes=(48 * 1024, 1024 * 1024))
    assert set(ideal_factors(caches, 32)) >= {64, 256}
    lines = replace(TARGET, line_bytes=256)
    assert 64 in ideal_factors(lines, 32)
    assert splits(kernels()["gemm"], "i") != splits(kernels()["gemm"], "i", wide)


def test_selection_by_name() -> None:
    assert [t.name for t in select(["unroll", "fuse", "unroll"])] == ["fuse", "unroll"]
    assert [t.name for t in select(None)] == sorted(registry())
    with pytest.raises(UserError, match=r"unknown transform 'teleport'; known: .*cut_loop, "):
        select(["fuse", "teleport"])


@pytest.mark.normal
@pytest.mark.parametrize("value", ["x y", "1a", "for", "", -1, 0, 10**9])
def test_arguments_from_anywhere_are_accepted_or_refused(value: int | str) -> None:
    """A trace may come from a file: whatever is in it, only RewriteError may come out."""
    refused = 0
    for name in ("matmul", "gemm", "conv"):
        procedure = kernels()[name]
        ast = mirror(procedure)
        firsts = {r.transform: r for r in reversed(list(propose(ast, TARGET, select(None))))}
        for rewrite in firsts.values():
            for number, (key, _) in enumerate(rewrite.args):
                args = list(rewrite.args)
                args[number] = key, value
                try:
                    apply(procedure, ast, replace(rewrite, args=tuple(args)))
                except RewriteError:
                    refused += 1
    assert refused


@pytest.mark.parametrize(
    ("outer", "inner", "joined"),
    [
        ("jo", "ji", "j"),
        ("joo", "joi", "jo"),
        ("i", "j", "ij"),
        ("io", "joi", "ij"),
        ("o", "i", "oi"),
    ],
)
def test_names_of_loops_that_are_joined_stay_short(outer: str, inner: str, joined: str) -> None:
    assert mult_loops.joined(outer, inner) == joined
