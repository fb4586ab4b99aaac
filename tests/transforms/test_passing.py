"""Rows are outside of packed panels where less passes the second-level cache so."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.blocks.passing import rows_outside
from schedsearch.transforms.blocks.reductions import reduction_nests
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET

(ALL,) = select(["block_all"])

IMAGES = """from __future__ import annotations
from exo import proc


@proc
def images({size}y: f32[{b}, {n}, {n}, {o}],
           x: f32[{b}, {step} * {n} + 2, {step} * {n} + 2, {c}], w: f32[3, 3, {c}, {o}]):
    for b in seq(0, {b}):
        for i in seq(0, {n}):
            for j in seq(0, {n}):
                for o in seq(0, {o}):
                    y[b, i, j, o] = 0.0
                    for r in seq(0, 3):
                        for s in seq(0, 3):
                            for c in seq(0, {c}):
                                y[b, i, j, o] += (
                                    x[b, {step} * i + r, {step} * j + s, c] * w[r, s, c, o]
                                )
"""


def images(folder: Path, **sizes: int | str) -> Any:
    given = {"b": 8, "n": 6, "o": 32, "c": 4, "step": 1, "size": ""}
    file = folder / "images.py"
    file.write_text(IMAGES.format(**{**given, **sizes}))
    return load_source(file).procs["images"]


def blocked(procedure: Any, caches: tuple[int, ...] = (1024, 8192)) -> Rewrite:
    [rewrite] = ALL.rewrites(mirror(procedure), replace(TARGET, cache_bytes=caches))
    return rewrite


def with_cache(rewrite: Rewrite, cache: int | str) -> Rewrite:
    return replace(without(rewrite), args=(*without(rewrite).args, ("cache", cache)))


def without(rewrite: Rewrite) -> Rewrite:
    return replace(rewrite, args=tuple(each for each in rewrite.args if each[0] != "cache"))


def loops_to(proc: q.Proc, name: str) -> list[str]:
    """The loops around the first call of the instruction whose name has `name` in it."""
    path = next(s.path for s in q.walk(proc.body) if isinstance(s, q.Call) and name in s.proc.name)
    around = [proc.by_path.get(path[:end]) for end in range(1, len(path))]
    return [loop.iter.name for loop in around if isinstance(loop, q.For)]


@pytest.mark.normal
def test_batches_of_images_are_read_once(tmp_path: Path) -> None:
    procedure = images(tmp_path)
    meaning, rewrite = mirror(procedure), blocked(procedure)
    assert dict(rewrite.args)["cache"] == 8192
    order = loops_to(mirror(apply(procedure, meaning, rewrite)), "mul_add")
    before = loops_to(mirror(apply(procedure, meaning, without(rewrite))), "mul_add")
    assert order[:3] == ["b", "i", "o"], order
    assert before[0] == "o", before


@pytest.mark.parametrize(
    ("sizes", "caches"),
    [
        ({}, (1024, 1 << 18)),  # the images stay in the cache
        ({"c": 40}, (1024, 8192)),  # the panels do not
        ({"o": 4}, (1024, 8192)),  # there is one panel
        ({"b": "B", "size": "B: size, "}, (1024, 8192)),
        ({}, (1024,)),
        ({}, ()),
    ],
)
def test_others_have_a_panel_at_a_time(
    sizes: dict[str, Any], caches: tuple[int, ...], tmp_path: Path
) -> None:
    assert "cache" not in dict(blocked(images(tmp_path, **sizes), caches).args)


@pytest.mark.normal
@pytest.mark.parametrize("seed", range(6))
def test_the_meaning_stays(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    sizes = {"b": rng.randint(1, 4), "n": rng.randint(2, 7), "step": rng.randint(1, 2)}
    sizes |= {"o": 4 * rng.randint(3, 12), "c": rng.randint(1, 6)}
    procedure = images(tmp_path, **sizes)
    rewrite = with_cache(blocked(procedure), 1 << rng.randint(10, 14))
    made = [apply(procedure, mirror(procedure), each) for each in (rewrite, without(rewrite))]
    assert_exact(procedure, made, [{}], tmp_path)


def test_reductions_outside_come_into_a_tile_without_panels(tmp_path: Path) -> None:
    [nest] = [x for x in reduction_nests(mirror(images(tmp_path))) if len(x.loops) == 7]
    args = {"rows": "j", "tile_rows": 3, "tile_vectors": 2, "lanes": 4, "depth": 0}
    assert rows_outside(nest, {**args, "inner": 2, "pack": False}, 8192) == {"inner": 3}
    assert not rows_outside(nest, {**args, "inner": 3, "pack": False}, 8192)
    found = rows_outside(nest, {**args, "inner": 2, "pack": True}, 8192)
    assert found == {"inner": 3, "block_rows": 3}
    assert not rows_outside(nest, {**args, "inner": 2, "pack": True, "rest": 1}, 8192)
    assert not rows_outside(nest, {**args, "rows": "", "inner": 2, "pack": False}, 8192)


@pytest.mark.parametrize("cache", [True, "8192"])
def test_a_cache_is_a_number_of_bytes(cache: int | str, tmp_path: Path) -> None:
    procedure = images(tmp_path)
    with pytest.raises(RewriteError, match="one of bytes"):
        apply(procedure, mirror(procedure), with_cache(blocked(procedure), cache))
