# ruff: noqa: F821
"""What was proposed once, and is not any longer, is carried out as before: stores have it."""

from __future__ import annotations

from typing import Any

import pytest
from exo import proc

from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, label, select
from transforms.helpers import TARGET

pytestmark = pytest.mark.normal


@proc
def weighted(n: size, m: size, p: size, x: f32[n, p], w: f32[m, p], g: f32[p], y: f32[n, m]):
    for i in seq(0, n):
        for j in seq(0, m):
            t: f32
            t = 0.0
            for k in seq(0, p):
                a: f32
                a = g[k]
                t += a * x[i, k] * w[j, k]
            y[i, j] = 2.0 * t


@proc
def across(n: size, m: size, y: f32[n, m], S: f32[m, 16], Q: f32[n, m], R: f32[n, m, 16, 32]):
    for g in seq(0, 16):
        for w in seq(0, 32):
            for i in seq(0, n):
                for j in seq(0, m):
                    y[i, j] += S[j, g] * Q[i, j] * R[i, j, g, w]


@proc
def alone(y: f32[1], a: f32[1], b: f32[1]):
    y[0] += a[0] * b[0]


def at(procedure: Any, transform: str, path: tuple[int, ...], **args: Any) -> Rewrite:
    stmt = mirror(procedure).by_path[path]
    return Rewrite(transform, 1, path, label(stmt), tuple(args.items()))


EARLIER = [
    (weighted, at(weighted, "isolate_sum", (0, 0, 2, 2))),
    (across, at(across, "fold_operand", (0, 0, 0, 0, 0), operand="S[j, g] * Q[i, j]")),
]


@pytest.mark.parametrize(("procedure", "rewrite"), EARLIER, ids=["isolate_sum", "fold_operand"])
def test_earlier_traces_are_replayed(procedure: Any, rewrite: Rewrite) -> None:
    [transform] = select([rewrite.transform])
    assert rewrite not in transform.rewrites(mirror(procedure), TARGET)
    apply(procedure, mirror(procedure), rewrite)


def test_a_sum_without_loops_has_no_groups() -> None:
    with pytest.raises(RewriteError, match="no sum of groups"):
        apply(alone, mirror(alone), at(alone, "isolate_sum", (0,), grouped=True))
