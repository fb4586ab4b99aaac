"""Loops are fused with the next one, which lags behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import ArgValue, Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, source

PROCEDURES = source("skewed").procs
(FUSE,) = select(["fuse_lagging"])


def fused(name: str, lag: ArgValue) -> tuple[Rewrite, Any]:
    ast = mirror(PROCEDURES[name])
    rewrite = Rewrite("fuse_lagging", 1, (0,), label(ast.by_path[0,]), (("lag", lag),))
    return rewrite, apply(PROCEDURES[name], ast, rewrite)


@pytest.mark.normal
def test_the_meaning_stays(tmp_path: Path) -> None:
    original = PROCEDURES["one_after_another"]
    (proposed,) = FUSE.rewrites(mirror(original), TARGET)
    assert proposed.args == (("lag", 2),)
    states = []
    for lag in (2, 3, 5):
        rewrite, after = fused("one_after_another", lag)
        states.append((Trace((rewrite,)), State(after, mirror(after))))
    sizes = [{"n": n} for n in (1, 2, 3, 4, 5, 6, 9, 20)]
    assert_same_meaning(original, states, sizes, tmp_path)


@pytest.mark.parametrize(
    ("name", "lag", "reason"),
    [
        ("one_after_another", 1, "do not commute"),
        ("back_and_forth", 4, "Cannot fission"),
        ("back_and_forth", 9, "too short"),
        ("back_and_forth", 0, "from 1 to"),
        ("five_points", 1, "no two loops"),
    ],
)
def test_what_cannot_be_is_refused(name: str, lag: int, reason: str) -> None:
    with pytest.raises(RewriteError, match=reason):
        fused(name, lag)


def test_nothing_is_proposed_in_cache_or_where_distances_are_not_known() -> None:
    ast = mirror(PROCEDURES["back_and_forth"])
    assert not list(FUSE.rewrites(ast, replace(TARGET, cache_bytes=(64, 64))))
    ast = mirror(source("before").procs["fuse_lagging"])
    assert list(FUSE.rewrites(ast, TARGET))
    assert not list(FUSE.rewrites(ast, replace(TARGET, cache_bytes=(1 << 10, 1 << 20))))
