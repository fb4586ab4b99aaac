"""Packing at any level keeps the meaning, and is offered where rows are used again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from schedsearch.transforms.replay import State
from transforms.execution import assert_same_meaning
from transforms.helpers import TARGET, Procedures

(PACK,) = select(["pack"])
BEFORE = Procedures("before")
NESTS = Procedures("nests")


def packed(procedure: object) -> list[tuple[Trace, State]]:
    ast = mirror(procedure)
    found = []
    for rewrite in PACK.rewrites(ast, TARGET):
        after = apply(procedure, ast, rewrite)
        found.append((Trace((rewrite,)), State(after, mirror(after))))
    return found


@pytest.mark.normal
def test_every_level_keeps_the_meaning(tmp_path: Path) -> None:
    found = packed(BEFORE["pack"])
    levels = {(trace.steps[0].arg("array"), len(trace.steps[0].path)) for trace, _ in found}
    assert levels == {("A", 2), ("B", 1), ("B", 2)}  # rows of A before j; B before io or j
    assert_same_meaning(BEFORE["pack"], found, [{}], tmp_path)


def test_what_is_written_read_once_or_too_large_is_left_alone() -> None:
    for name in ("transpose", "jacobi", "recurrence"):
        assert not packed(NESTS[name])
    tiny = replace(TARGET, cache_bytes=(64, 128))
    assert not list(PACK.rewrites(mirror(BEFORE["pack"]), tiny))


@pytest.mark.parametrize("array", ["C", "x", 3])
def test_refuses_arrays_it_would_not_propose(array: object) -> None:
    ast = mirror(BEFORE["pack"])
    rewrite = next(iter(PACK.rewrites(ast, TARGET)))
    odd = Rewrite("pack", rewrite.version, rewrite.path, rewrite.label, (("array", array),))
    with pytest.raises(RewriteError, match="no box"):
        apply(BEFORE["pack"], ast, odd)
