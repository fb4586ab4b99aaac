"""Interleaved values are laid out in planes, where sums get blocks and loops vectors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.library.composites.make_planar import MOST_PARTS
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("products")
[PLANAR] = select(["make_planar"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)

SIZES: dict[str, list[dict[str, int]]] = {
    "complex_product": [{"m": 1, "n": 1, "p": 1}, {"m": 9, "n": 35, "p": 5}],
    "complex_square": [{}],
    "pixels_resized": [{"n": 1}, {"n": 37}],
    "bodies": [{"n": 1}, {"n": 19}],
    "pushed": [{"n": 1}, {"n": 33}],
}


@cache
def planar(name: str, *transforms: str) -> list[tuple[Trace, State]]:
    """What each of the transforms makes of it, one after the other, wherever it applies."""
    found = [(Trace(), State(PROCEDURES[name], mirror(PROCEDURES[name])))]
    for each in transforms:
        (transform,) = select([each])
        while rewrites := list(transform.rewrites(found[-1][1].ast, WIDE)):
            trace, state = found[-1]
            procedure = apply(state.procedure, state.ast, rewrites[0])
            found.append((trace.then(rewrites[0]), State(procedure, mirror(procedure))))
            if each == "block_all" and "nests" not in dict(rewrites[0].args):
                break
    return found


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_step_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    steps = planar(name, "make_planar", "split_sum", "block_all")
    assert steps[1:]
    assert_same_meaning(PROCEDURES[name], steps, SIZES[name], tmp_path)


def test_result_and_what_moves_with_it_become_planes_once() -> None:
    shapes = {
        s.buf.name: [*map(show_affine, s.shape)]
        for s in q.walk(planar("complex_product", "make_planar")[-1][1].ast.body)
        if isinstance(s, q.Alloc)
    }
    assert shapes == {"C_p": ["2", "m", "n"], "B_p": ["2", "p", "n"]}


@pytest.mark.normal
def test_a_difference_of_products_is_one_block_and_each_term_of_a_sum_another() -> None:
    end = planar("complex_product", "make_planar", "split_sum", "block_all")[-1][1].ast
    calls = {s.proc.name for s in q.walk(end.body) if isinstance(s, q.Call)}
    assert any("_sub_mul_mul" in name for name in calls)
    assert any(name.endswith("_fma_scalar_vector") for name in calls)


@pytest.mark.parametrize(("name", "vectorised"), [("bodies", "_reduction"), ("pushed", "")])
def test_a_loop_along_values_that_are_used_again_gets_vectors(name: str, vectorised: str) -> None:
    transforms = select([f"vectorise{vectorised}"])
    before, after = mirror(PROCEDURES[name]), planar(name, "make_planar")[-1][1].ast
    counts = [sum(len(list(t.rewrites(a, WIDE))) for t in transforms) for a in (before, after)]
    assert counts[0] == 0 < counts[1]


@pytest.mark.parametrize(
    "name",
    [
        "parts_by_a_loop",
        "seldom",
        "grey",
        "every_second",
        "complex_vector",
        "dense",
        "both_sides",
        "halves",
        "bytes_converted",
    ],
)
def test_other_sums_stay(name: str) -> None:
    assert not list(PLANAR.rewrites(mirror(PROCEDURES[name]), TARGET))


PARTS = """from __future__ import annotations
from exo import proc

@proc
def parts(C: f32[64, 64, {0}], A: f32[64, 64], B: f32[64, 64, {0}]):
    for i in seq(0, 64):
        for j in seq(0, 64):
            for k in seq(0, 64):
                C[i, j, 0] += A[i, k] * B[k, j, 0]
"""


@pytest.mark.parametrize(
    ("parts", "planes"), [(1, False), (2, True), (MOST_PARTS, True), (MOST_PARTS + 1, False)]
)
def test_many_parts_fill_vectors_by_themselves(parts: int, planes: bool, tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(PARTS.format(parts))
    procedure = load_source(file).procs["parts"]
    assert any(PLANAR.rewrites(mirror(procedure), WIDE)) is planes
