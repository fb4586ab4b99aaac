"""Random nests of loops, for what evaluates the query AST."""

from __future__ import annotations

from hypothesis import strategies as st

from schedsearch.core import ast as q

IV, JV, KV = (q.Var(name, uid) for name, uid in (("i", 3), ("j", 4), ("k", 5)))
X, Y, T = q.Var("x", 0), q.Var("y", 1), q.Var("t", 2)
SIZE = 40


@st.composite
def affine_index(draw: st.DrawFn) -> q.Affine:
    """Somewhere inside of `SIZE` elements, with loop variables below 3."""
    total = q.Affine(draw(st.integers(8, 12)))
    for var in (IV, JV, KV):
        total = total + q.as_affine(var).scaled(draw(st.sampled_from([-1, 0, 0, 1, 2, 3])))
    match draw(st.sampled_from(["plain", "plain", "plain", "quotient", "remainder"])):
        case "quotient":
            return q.floor_div(total, draw(st.integers(2, 3)))
        case "remainder":
            return q.modulo(total, draw(st.integers(2, 7)))
    return total


@st.composite
def data_expression(draw: st.DrawFn) -> q.Expr:
    expr: q.Expr = q.Read(draw(st.sampled_from([X, Y, T])), (draw(affine_index()),), "f32")
    if draw(st.booleans()):
        other = q.Read(draw(st.sampled_from([X, Y])), (draw(affine_index()),), "f32")
        expr = q.BinOp(draw(st.sampled_from(["+", "-"])), expr, other, "f32")
    return expr


@st.composite
def write(draw: st.DrawFn) -> q.Stmt:
    kind = draw(st.sampled_from([q.Assign, q.Reduce, q.Reduce]))
    buf = draw(st.sampled_from([X, X, T]))
    return kind((), buf, (draw(affine_index()),), draw(data_expression()), "f32")


@st.composite
def nest(draw: st.DrawFn) -> q.Stmt:
    """Three loops with writes before, between and behind; `t` lives in one of the loops."""
    body = tuple(draw(st.lists(write(), min_size=1, max_size=2)))
    depth = draw(st.integers(0, 2))
    for level, var in enumerate((KV, JV, IV)):
        if level == depth:
            body = (*_cleared(), *body)
        low = draw(st.integers(0, 1))
        high = draw(st.sampled_from([q.Affine(3), q.Affine(1), q.as_affine(IV) + 1]))
        if var is IV:
            high = q.Affine(3)
        body = (q.For((), var, q.Affine(low), high, body, False),)
        if level < 2:
            body = (*draw(st.lists(write(), max_size=1)), *body)
            body = tuple(s for s in body if T not in q.used_vars((s,)) or isinstance(s, q.For))
    return body[0]


def _cleared() -> tuple[q.Stmt, ...]:
    every = q.Var("e", 6)
    clear = q.Assign((), T, (q.as_affine(every),), q.Const(0.0, "f32"), "f32")
    return (
        q.Alloc((), T, "f32", (q.Affine(SIZE),), "DRAM"),
        q.For((), every, q.Affine(), q.Affine(SIZE), (clear,), False),
    )


def _bound(stmt: q.Stmt, known: frozenset[q.Var]) -> bool:
    """Whether every variable used in the statement is bound there."""
    match stmt:
        case q.For():
            inside = known | {stmt.iter}
            ends = q.expr_vars(stmt.lo) | q.expr_vars(stmt.hi)
            found = ends <= known
            for inner in stmt.body:
                found = found and _bound(inner, inside)
                if isinstance(inner, q.Alloc):
                    inside |= {inner.buf}
            return found
        case q.Alloc():
            return True
        case _:
            return q.used_vars((stmt,)) <= known


ARGUMENTS = tuple(q.Arg(var, "f32", (q.Affine(SIZE),)) for var in (X, Y))


def nests() -> st.SearchStrategy[q.Stmt]:
    """Loops over the arrays `ARGUMENTS`."""
    return nest().filter(lambda stmt: _bound(stmt, frozenset({X, Y})))
