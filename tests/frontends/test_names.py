"""Names that all languages take."""

from __future__ import annotations

import pytest

from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends import views
from schedsearch.frontends.names import naming

ZERO = q.Affine()


def loop(var: q.Var, *body: q.Stmt) -> q.For:
    return q.For((), var, ZERO, q.Affine(4), body, False)


def proc(name: str, args: list[q.Var], *body: q.Stmt) -> q.Proc:
    params = [q.Arg(var, "f32", views.shape_of(4), mem="DRAM") for var in args]
    return q.Proc(name, tuple(params), (), body)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("x", "x"),
        ("lambda", "lambda_1"),
        ("double", "double_1"),
        ("template", "template_1"),
        ("size", "size_1"),
        ("max", "max_1"),
        ("p", "p_1"),
        ("exp", "exp_1"),
        ("free", "free_1"),
        ("linux", "linux_1"),
        ("_x", "x"),
        ("2x", "t2x"),
        ("\u00e4.b", "b"),
        ("__", "t"),
    ],
)
def test_names_that_are_taken_get_a_number(name: str, given: str) -> None:
    var = g.fresh(name)
    assert naming(proc("p", [var]), ["exp"])(var) == given


def test_procedures_are_not_called_like_functions_of_c() -> None:
    var = q.Var("tanh", 1)
    named = naming(proc("tanhf", [var]))
    assert named.procedure == "tanhf_1"
    assert named(var) == "tanh"
    assert naming(proc("div", [var])).procedure == "div_1"


def test_loops_take_letters_that_are_free() -> None:
    one, two, three, four = (g.fresh("") for _ in range(4))
    j = g.fresh("j")
    found = naming(proc("p", [j], loop(one, loop(two)), loop(three), loop(four)))
    assert [found(each) for each in (one, two, three, four)] == ["i", "k", "i", "i"]


def test_arguments_keep_their_names_beside_temporaries() -> None:
    argument, temporary = g.fresh("t"), g.fresh("t")
    found = naming(proc("t", [argument], q.Alloc((), temporary, "f32", (), "DRAM")))
    assert (found.procedure, found(argument), found(temporary)) == ("t", "t_1", "t_2")


def test_an_argument_is_called_as_the_loop_would_be() -> None:
    i, inner = g.fresh("i"), g.fresh("i")
    found = naming(proc("p", [i], loop(inner)))
    assert (found(i), found(inner)) == ("i", "i_1")
