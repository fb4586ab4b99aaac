"""Cursors mean the same statement while operators move it."""

from __future__ import annotations

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import run_op
from transforms.helpers import source


def nest() -> Cursors:
    return Cursors(source("kernels").procs["matmul"])


def do(p: Cursors, name: str, *args: object, **kwargs: object) -> None:
    steps = p.do(name, *args, **kwargs)  # type: ignore[arg-type]
    op = next(steps)
    assert op is not None
    with pytest.raises(StopIteration):
        steps.send(run_op(p.procedure, op))


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
