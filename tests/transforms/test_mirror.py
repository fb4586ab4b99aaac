"""The query AST says what Exo's own cursors say."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import exo.libs
import exo.platforms
import pytest
from exo import API_cursors as cursors
from exo.API import Procedure
from exo.stdlib.scheduling import fission
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.keys import digest
from schedsearch.core.text import canonical_text, show_proc
from schedsearch.transforms.exo.canonical import canonical
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror, mirror_loopir
from schedsearch.transforms.registry import apply, propose, select
from transforms.helpers import CONTROLS, TARGET, kernels, source, walk

KINDS: dict[type, type] = {
    cursors.AssignCursor: q.Assign,
    cursors.ReduceCursor: q.Reduce,
    cursors.AssignConfigCursor: q.WriteConfig,
    cursors.PassCursor: q.Pass,
    cursors.IfCursor: q.If,
    cursors.ForCursor: q.For,
    cursors.AllocCursor: q.Alloc,
    cursors.CallCursor: q.Call,
    cursors.WindowStmtCursor: q.WindowStmt,
}


@cache
def library() -> dict[str, Procedure]:
    """Every procedure and instruction that Exo's own modules define."""
    found = {}
    for package in (exo.platforms, exo.libs):
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(info.name)).items():
                if isinstance(value, Procedure):
                    found[f"{info.name}.{name}"] = value
    return found


def agrees(block: Any, body: tuple[q.Stmt, ...]) -> None:
    """Compares statement by statement with Exo's public cursors."""
    assert len(block) == len(body)
    for cursor, stmt in zip(block, body, strict=True):
        assert KINDS[type(cursor)] is type(stmt)
        match stmt:
            case q.For():
                assert cursor.name() == stmt.iter.name
                agrees(cursor.body(), stmt.body)
            case q.If():
                agrees(cursor.body(), stmt.body)
                orelse = cursor.orelse()
                agrees([] if isinstance(orelse, cursors.InvalidCursor) else orelse, stmt.orelse)
            case q.Assign() | q.Reduce():
                assert (cursor.name(), len(cursor.idx())) == (stmt.buf.name, len(stmt.idx))
            case q.Alloc():
                assert (cursor.name(), cursor.mem().name()) == (stmt.buf.name, stmt.mem)
                assert (len(cursor.shape()) if cursor.is_tensor() else 0) == len(stmt.shape)
            case q.Call():
                assert cursor.subproc().name() == stmt.proc.name
                assert len(cursor.args()) == len(stmt.args)
            case q.WindowStmt():
                assert cursor.name() == stmt.name.name
            case q.WriteConfig():
                assert (cursor.config().name(), cursor.field()) == (stmt.config, stmt.field)


def check(procedure: Any) -> q.Proc:
    ast = mirror(procedure)
    assert [arg.var.name for arg in ast.args] == [arg.name() for arg in procedure.args()]
    assert ast.name == procedure.name()
    agrees(procedure.body(), ast.body)
    assert all(ast.by_path[stmt.path] is stmt for stmt in q.walk(ast.body))
    bound = [arg.var.uid for arg in ast.args] + [var.uid for var in binders(ast)]
    assert bound == list(range(len(bound)))
    again = mirror_loopir(canonical(procedure._loopir_proc))
    assert canonical_text(again) == canonical_text(ast)
    return ast


def binders(ast: q.Proc) -> list[q.Var]:
    found = []
    for stmt in q.walk(ast.body):
        match stmt:
            case q.For():
                found.append(stmt.iter)
            case q.Alloc():
                found.append(stmt.buf)
            case q.WindowStmt():
                found.append(stmt.name)
    return found


@pytest.mark.normal
def test_exos_library_is_all_there() -> None:
    assert len(library()) > 120
    assert {name.split(".")[2] for name in library()} == {"gemmini", "neon", "rvv", "x86"}


@pytest.mark.normal
@pytest.mark.parametrize("module", ["gemmini", "neon", "rvv", "x86"])
def test_procedures_of_exos_library(module: str) -> None:
    for name, procedure in library().items():
        if name.startswith(f"exo.platforms.{module}."):
            ast = check(procedure)
            assert (ast.instr is not None) == procedure.is_instr(), name


def test_every_kind_of_node() -> None:
    ast = check(source("nodes").procs["everything"])
    stmts = list(q.walk(ast.body))
    assert {type(stmt) for stmt in stmts} == set(KINDS.values())
    exprs = [
        node
        for stmt in stmts
        for expr in (*q.stmt_exprs(stmt), *ast.asserts)
        for node in q.walk_expr(expr)
    ]
    kinds = {type(node) for node in exprs}
    assert kinds == {
        *(q.Affine, q.Var, q.FloorDiv, q.Mod, q.StrideOf, q.ConfigField, q.Const, q.Read),
        *(q.USub, q.BinOp, q.Extern, q.Interval, q.Window, q.ReadConfig),
    }
    assert {arg.type for arg in ast.args} == {*ELEMENT_TYPES, *q.CONTROL_TYPES} - {"int"}
    (call, store) = [stmt for stmt in stmts if isinstance(stmt, q.Call)]
    assert store.proc.instr == "{dst_data} = {value};"
    assert call.proc.instr is None
    assert [loop.parallel for loop in stmts if isinstance(loop, q.For)].count(True) == 1
    assert {arg.var.name for arg in ast.args if arg.window} == {"w"}


def test_every_kind_of_node_prints_as_written() -> None:
    text = show_proc(mirror(source("nodes").procs["everything"]))
    for line in (
        "    assert ((n > 4) and (((n) % 4) == 0))",
        "            if ((i < j) and (flag or (i == at))):",
        "    view = x[2:n, 3]",
        "    Control.start = at",
        "    t: f32[n, 2 * n + 1] @ DRAM",
        "    for i in par(0, n):",
    ):
        assert line in text.splitlines()


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_scheduled_procedures(name: str) -> None:
    for _, state in walk(kernels()[name], 0, 4):
        check(state.procedure)


def test_children_share_what_they_have_in_common_with_their_parent() -> None:
    """Statements are the same objects, unless a rewrite made them anew, moved or renumbered
    them; and whatever is shared says what the canonical copy does, which shares nothing."""
    procedure = kernels()["conv"]
    halves = fission(procedure, procedure.find("out[_] = _").after())
    parent = check(halves)
    nests = [stmt.path for stmt in parent.body[0].body]
    kept = []
    for rewrite in propose(parent, TARGET, select(["fission", "interleave", "split", "unroll"])):
        child = check(apply(halves, parent, rewrite))
        kept.append([child.by_path.get(path) is parent.by_path[path] for path in nests])
    assert [True, False] in kept  # of the second nest
    assert len(kept) > 10


def test_loops_that_exo_copies_with_their_symbol_are_different_variables() -> None:
    procedure = kernels()["conv"]
    halves = fission(procedure, procedure.find("out[_] = _").after())
    first, second = mirror(halves).body[0].body
    assert first.iter != second.iter
    check(halves)


NAMES = ("i", "j", "k")


def term(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    plain = st.sampled_from([*names, "n", "3"])
    return st.one_of(
        plain,
        st.builds(lambda a, c: f"{c} * {a}", plain, st.integers(2, 9)),
        st.builds(lambda a, c: f"({a} + {c}) / {c}", plain, st.integers(2, 9)),
        st.builds(lambda a, c: f"({c} * {a} + 1) % {c + 1}", plain, st.integers(2, 9)),
    )


def block(depth: int, indent: str) -> st.SearchStrategy[str]:
    """Statements of Exo within `depth` loops; indices need no bounds: `x` is read as `n` grows."""
    names = NAMES[:depth]
    index = st.lists(term(names), min_size=1, max_size=3).map(" + ".join)
    statement = st.one_of(
        index.map(lambda e: f"{indent}if {e} < n:\n{indent}    s += 1.0\n"),
        index.map(lambda e: f"{indent}for q in seq(0, {e}):\n{indent}    s = s * 2.0\n"),
        index.map(
            lambda e: f"{indent}if {e} == 4:\n{indent}    pass\n{indent}else:\n{indent}    s = -s\n"
        ),
        st.just(f"{indent}t: f32[n]\n{indent}t[0] = s\n{indent}s += t[n - 1]\n"),
        st.just(f"{indent}s = s + 0.5\n"),
    )
    body = st.lists(statement, min_size=1, max_size=3).map("".join)
    if depth == len(NAMES):
        return body
    inner = block(depth + 1, indent + "    ")
    loop = st.builds(
        lambda head, text: f"{indent}for {NAMES[depth]} in seq(0, {head}):\n{text}",
        st.sampled_from(["n", "7", *(f"{name} + 1" for name in names)]),
        inner,
    )
    return st.lists(st.one_of(body, loop), min_size=1, max_size=2).map("".join)


@pytest.mark.normal
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(block(0, "    "))
def test_random_procedures(tmp_path: Any, text: str) -> None:
    path = tmp_path / f"random_{digest(text)}.py"
    path.write_text(
        "from __future__ import annotations\nfrom exo import proc\n\n"
        f"@proc\ndef random(n: size, s: f32):\n{text}"
    )
    check(load_source(path).procs["random"])
