"""Cursors mean the same statement while operators move it."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.speed import forwarding
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import run_op
from schedsearch.transforms.registry import apply, registry
from transforms.helpers import TARGET, source


def nest() -> Cursors:
    return Cursors(source("kernels").procs["matmul"])


def do(p: Cursors, name: str, *args: object, **kwargs: object) -> None:
    steps = p.do(name, *args, **kwargs)  # type: ignore[arg-type]
    op = next(steps)
    assert op is not None
    with pytest.raises(StopIteration):
        steps.send(run_op(p.procedure, op))


def test_what_exo_cannot_forward_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    p = nest()
    loop = p.at((0,))
    do(p, "divide_loop", loop, 2, ("a", "b"), perfect=True)
    monkeypatch.setattr(forwarding, "MOST_EDITS", 1)
    with pytest.raises(RewriteError, match="more than Exo can forward"):
        p.path(loop)


def test_a_loop_is_found_where_operators_have_moved_it() -> None:
    p = nest()
    loop = p.at((0,))
    do(p, "divide_loop", loop, 2, ("a", "b"), perfect=True)
    do(p, "reorder_loops", loop)
    found = p.stmt(loop)
    assert isinstance(found, q.For)
    assert (found.iter.name, found.path) == ("a", (0, 0))


def test_a_statement_that_is_gone_is_an_error() -> None:
    p = nest()
    loop = p.at((0,))
    do(p, "unroll_loop", loop)
    with pytest.raises(RewriteError, match="the statement is gone"):
        p.path(loop)


SHORT_ROWS = """
from __future__ import annotations
from exo import proc

@proc
def short_rows(y: f32[3], A: f32[8, 3], x: f32[8]):
    for j in seq(0, 3):
        y[j] = 0.0
    for k in seq(0, 8):
        for j in seq(0, 3):
            y[j] += A[k, j] * x[k]
"""


def test_a_block_need_not_be_the_first_statement(tmp_path: Path) -> None:
    """Its accumulators were looked for at the start of the block that it is in."""
    file = tmp_path / "short_rows.py"
    file.write_text(SHORT_ROWS)
    procedure = load_source(file).procs["short_rows"]
    ast = mirror(procedure)
    blocks = [r for r in registry()["register_block"].rewrites(ast, TARGET) if r.path == (1,)]
    assert blocks
    for rewrite in blocks:
        after = mirror(apply(procedure, ast, rewrite))
        assert isinstance(after.body[1], q.Alloc)
        assert after.body[1].mem == "VEC_F32X4"
