"""Register blocks that keep what a tile reads for all taps of a filter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms.execution import assert_exact
from transforms.helpers import TARGET, Procedures

PROCEDURES = Procedures("filters")
ALL, BLOCK = select(["block_all", "register_block"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)

SIZES: dict[str, list[dict[str, int]]] = {
    "image": [{"n": n, "m": m} for n, m in ((1, 1), (3, 8), (4, 9), (7, 16), (13, 37), (16, 64))],
    "channels": [{}],
    "window_sum": [{}],
    "difference": [{}],
}


def sliding(name: str, target: Any = TARGET) -> list[Rewrite]:
    rewrites = BLOCK.rewrites(mirror(PROCEDURES[name]), target)
    return [each for each in rewrites if dict(each.args).get("slide")]


def windows(procedure: Any) -> list[tuple[int, ...]]:
    """Shapes of what tiles keep of an operand."""
    return [
        tuple(int(size.const) for size in stmt.shape)
        for stmt in q.walk(mirror(procedure).body)
        if isinstance(stmt, q.Alloc) and "_held" in stmt.buf.name
    ]


@pytest.mark.normal
@pytest.mark.parametrize("target", [TARGET, WIDE], ids=["narrow", "wide"])
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_sliding_block_keeps_the_meaning(name: str, target: Any, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    rewrites = [*sliding(name, target), *ALL.rewrites(meaning, target)]
    blocked = [apply(original, meaning, rewrite) for rewrite in rewrites]
    assert len(blocked) > 1
    assert all(map(windows, blocked))
    assert_exact(original, blocked, SIZES[name], tmp_path)


@pytest.mark.normal
def test_a_tile_reads_each_row_once_for_all_taps() -> None:
    original = PROCEDURES["channels"]
    meaning = mirror(original)
    over = {each.arg("rows"): apply(original, meaning, each) for each in sliding("channels", WIDE)}
    assert windows(over["i"]) == [(7, 1, 16)], "5 rows and 2 more"
    assert windows(over["j"]) == [(10, 1, 16), (7, 1, 16)], "tiles of 8 and of 5 rows"


@pytest.mark.normal
@pytest.mark.parametrize("target", [TARGET, WIDE], ids=["narrow", "wide"])
def test_two_operands_of_columns_are_kept(target: Any, tmp_path: Path) -> None:
    original = PROCEDURES["two_of_columns"]
    meaning = mirror(original)
    rewrites = [next(iter(each.rewrites(meaning, target))) for each in (ALL, BLOCK)]
    blocked = [apply(original, meaning, rewrite) for rewrite in rewrites]
    assert all(map(windows, blocked))
    assert_exact(original, blocked, SIZES["image"], tmp_path)


@pytest.mark.normal
def test_an_operand_that_is_packed_for_some_steps_has_a_tile_of_those(tmp_path: Path) -> None:
    original = PROCEDURES["channels_inside"]
    meaning = mirror(original)
    blocked = [apply(original, meaning, each) for each in ALL.rewrites(meaning, WIDE)]
    assert blocked
    assert_exact(original, blocked, [{"n": n, "c": c} for n, c in ((1, 1), (33, 5))], tmp_path)


@pytest.mark.parametrize(("name", "why"), [("many_taps", "registers"), ("strided", "two rows")])
def test_nothing_slides_where_registers_or_steps_do_not_fit(name: str, why: str) -> None:
    assert not sliding(name), why
    assert not sliding(name, WIDE), why


@pytest.mark.parametrize(
    ("name", "args", "reason"),
    [
        ("strided", {}, "no reduction in the tile slides"),
        ("many_taps", {}, "no reduction in the tile slides"),
        ("image", {"inner": 1, "rows": "i"}, "no reduction in the tile slides"),
        ("window_sum", {"depth": 2}, "in registers, or packed"),
    ],
)
def test_arguments_that_fit_no_filter_are_refused(
    name: str, args: dict[str, Any], reason: str
) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    rewrite = next(r for r in BLOCK.rewrites(meaning, TARGET) if r.arg("rows") == "i")
    given = {**dict(rewrite.args), "slide": True, "pack": False, **args}
    with pytest.raises(RewriteError, match=reason):
        apply(original, meaning, replace(rewrite, args=tuple(sorted(given.items()))))
