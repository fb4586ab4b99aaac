"""Random control expressions and conditions of three variables."""

from __future__ import annotations

from hypothesis import strategies as st

from schedsearch.core import ast as q

VARS = tuple(q.Var(name, uid) for uid, name in enumerate("ijk"))
FLAG = q.Var("flag", 9)

VALUES = st.recursive(
    st.one_of(st.sampled_from(VARS), st.integers(-30, 30)).map(q.as_affine),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, c: a.scaled(c), inner, st.integers(-9, 9)),
        st.builds(q.floor_div, inner, st.integers(1, 12)),
        st.builds(q.modulo, inner, st.integers(1, 12)),
    ),
)

CONDITIONS = st.recursive(
    st.one_of(
        st.builds(
            lambda op, a, b: q.BinOp(op, a, b, "bool"),
            st.sampled_from(("<", "<=", ">", ">=", "==")),
            VALUES,
            VALUES,
        ),
        st.builds(lambda value: q.Const(value, "bool"), st.booleans()),
        st.just(q.Read(FLAG, (), "bool")),
    ),
    lambda inner: st.builds(
        lambda op, a, b: q.BinOp(op, a, b, "bool"),
        st.sampled_from(("and", "or", "==")),
        inner,
        inner,
    ),
    max_leaves=4,
)

POINTS = st.tuples(*[st.integers(-40, 40)] * len(VARS), st.integers(0, 1)).map(
    lambda at: dict(zip((*VARS, FLAG), at, strict=True))
)
