"""Nests that are rewritten as procedures of their own, and put back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.speed.forwarding import edits
from schedsearch.transforms.exo.taken_out import NEST, PUT_BACK, TAKE_OUT
from schedsearch.transforms.export import schedule_lines, schedule_python
from schedsearch.transforms.operators.apart import apart
from schedsearch.transforms.operators.cursors import Cursors
from schedsearch.transforms.operators.ops import At, Op, Steps, run_op
from schedsearch.transforms.registry import apply, carry_out, select
from schedsearch.transforms.vector.registers import register_kind
from transforms.execution import assert_exact
from transforms.helpers import TARGET

(ALL,) = select(["block_all"])

CHAIN = """
from __future__ import annotations
from exo import proc


@proc
def chain(n: size, m: size, p: size, A: f32[3, n, m], B: f32[m, p], C: f32[n, p], y: f32[n]):
    assert p >= 3
    for s in seq(0, 3):
        T: f32[n, p]
        for i in seq(0, n):
            for j in seq(0, p):
                T[i, j] = C[i, j]
        for i in seq(0, n):
            for j in seq(0, p):
                for k in seq(0, m):
                    T[i, j] += A[s, i, k] * B[k, j]
        for i in seq(0, n):
            for j in seq(0, p):
                C[i, j] = T[i, j] + 1.0
    if n > 4:
        y[0] = 1.0
    D: f32[m, p]
    for i in seq(0, m):
        for j in seq(0, p):
            D[i, j] = 0.0
    for i in seq(0, m):
        for j in seq(0, p):
            for k in seq(0, n):
                D[i, j] += A[1, k, i] * C[k, j]
    for i in seq(0, n):
        for j in seq(0, p):
            for k in seq(0, m):
                C[i, j] += A[2, i, k] * D[k, j]
    for i in seq(0, n):
        y[i] = C[i, 2]
"""
SIZES = [{"n": n, "m": m, "p": p} for n, m, p in [(1, 1, 3), (5, 3, 17), (19, 7, 35), (4, 9, 16)]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("apart") / "chain.py"
    path.write_text(CHAIN)
    return path


@pytest.fixture
def chain(file: Path) -> Any:
    return load_source(file).procs["chain"]


def blocked(procedure: Any) -> Iterator[tuple[Trace, Any]]:
    """After each block of one nest more."""
    trace = Trace()
    while rewrites := [*ALL.rewrites(mirror(procedure), TARGET)]:
        assert dict(rewrites[0].args)["apart"]
        procedure = apply(procedure, mirror(procedure), rewrites[0])
        trace = trace.then(rewrites[0])
        yield trace, procedure


def sums(procedure: Any) -> int:
    return sum(isinstance(each, q.Reduce) for each in q.walk(mirror(procedure).body))


@pytest.mark.normal
def test_each_nest_gets_its_block_and_all_means_the_same(chain: Any, tmp_path: Path) -> None:
    found = [procedure for _, procedure in blocked(chain)]
    assert [*map(sums, found)] == [2, 1, 0]
    stmts = [*q.walk(mirror(found[-1]).body)]
    kept = [each.mem for each in stmts if isinstance(each, q.Alloc)]
    assert sum(register_kind(mem) is not None for mem in kept) > 20
    assert all(each.proc.instr for each in stmts if isinstance(each, q.Call))
    assert_exact(chain, found, SIZES, tmp_path)


@pytest.mark.normal
def test_no_operator_edits_more_than_one_nest(chain: Any) -> None:
    """Ten nests are no more edits than three."""
    most = 0
    procedure = chain
    for trace, after in blocked(chain):
        *_, last = trace.steps
        counts = [edits(p._forward) for _, p in carry_out(procedure, mirror(procedure), last)]
        most, procedure = max(most, *counts), after
    assert 100 < most < 500


@pytest.mark.normal
def test_the_exported_file_takes_nests_out_too(
    file: Path, chain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, procedure = [*blocked(chain)][-1]
    lines = schedule_lines(chain, trace)
    assert sum(line.startswith("whole, p = extract_subproc(") for line in lines) == 3
    assert sum(line.startswith("p, _ = extract_subproc(") for line in lines) >= 1
    assert sum(line.startswith("p = call_eqv(whole, whole.body()[") for line in lines) == 3
    (tmp_path / "apart_chain.py").write_text(schedule_python(load_source(file), "chain", trace))
    monkeypatch.syspath_prepend(tmp_path)
    after = vars(__import__("apart_chain"))["chain_scheduled"]
    del sys.modules["apart_chain"]
    assert generate_c(after).key == generate_c(procedure).key


def test_what_exo_would_assert_of_an_earlier_branch_is_not_believed(chain: Any) -> None:
    where = next(each.path for each in mirror(chain).body if isinstance(each, q.If))
    after = (where[0] + 2,)
    with pytest.raises(RewriteError, match="the condition of an `if` before it"):
        run_op(chain, Op(TAKE_OUT, (At(after), NEST)))

    def seen(p: Cursors) -> Steps:
        asserted.extend(p.ast.asserts)
        yield None

    asserted: list[q.Expr] = []
    result = driven(chain, apart(mirror(chain), after, seen))
    assert len(asserted) == 1  # p >= 3
    assert generate_c(result).key == generate_c(chain).key


def test_loops_around_are_asserted(chain: Any) -> None:
    nest = run_op(chain, Op(TAKE_OUT, (At((0, 2)), NEST)))
    assert [str(each) for each in nest._loopir_proc.preds if "s" in str(each)]
    assert "s" in {arg.var.name for arg in mirror(nest).args}


def test_only_what_was_taken_out_is_put_back(chain: Any) -> None:
    with pytest.raises(RewriteError, match="not taken out"):
        run_op(chain, Op(PUT_BACK))
    nest = run_op(chain, Op(TAKE_OUT, (At((0, 2)), NEST)))
    again = run_op(run_op(nest, Op(PUT_BACK)), Op("inline", (At((0, 2)),)))
    assert generate_c(again).key == generate_c(chain).key


def driven(procedure: Any, steps: Steps) -> Any:
    op = next(steps)
    try:
        while True:
            if op is not None:
                procedure = run_op(procedure, op)
            op = steps.send(procedure)
    except StopIteration:
        return procedure
