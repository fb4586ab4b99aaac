"""What users read of Exo's errors: sentences, with the place, and nothing of Exo's insides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedsearch.core.errors import CodegenError, RewriteError, UserError
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.messages import said
from schedsearch.transforms.operators.ops import At, Op, run_op
from transforms.helpers import source

HEAD = """from __future__ import annotations
from exo import proc

@proc
def helper(n: size, a: [f32][n], b: [f32][n]):
    assert n > 8
    for i in seq(0, n):
        a[i] = b[i]

@proc
def f(n: size, m: size, x: f32[n], y: {kind}[n]):
"""
LINE = HEAD.count("\n") + 1
NOTHING_OF_EXO = re.compile(r"Effects|LoopIR|object at|unknown directive|_stride_|srcinfo|Error")

MESSAGES = {
    "for j in seq(0, n - m): x[j] = 0.0": (
        "`n - m` may be negative, as with n = 1, m = 2; if it never is, `assert n - m >= 0`"
    ),
    "for j in seq(0, (n - m) / 2 - 3 * m): pass": "`((n - m) / 2) - (3 * m)` may be negative",
    "t: f32[n - m]": "`n - m` may be zero or less, as with ",
    "for j in seq(0, n + 1): x[j] = 0.0": "x is written outside of its bounds, as with n = 1, ",
    "x[0] = y[n]": "y is read outside of its bounds, as with n = 1, m = 1; change the bounds, ",
    "helper(n, x[0:n], y[0:n])": "helper asserts `n > 8` ({path}:6), which does not hold here",
    "if n > 8: helper(n, x[0:n], x[0:n])": "helper is given parts of x for two arguments",
    "if n > 8: helper(n, x[0:n], y[0:n - 1])": (
        "an argument has the shape [n - 1], the call needs [n], as with n = 9, m = 1"
    ),
    "z[0] = 1.0": "variable 'z' undefined",
    "for j in range(n): x[j] = 0.0": "a loop is written `for i in seq(0, n):`",
    "for j in seq(0, n, 2): x[j] = 0.0": "and steps of 1; for every other element write ",
    "x[0] *= 2.0": "write `x[i] = x[i] * y` for `x[i] *= y`",
    "t: f33[n]": "that is no type of Exo; arrays are of f16, f32, ",
    "while n < 3: pass": "Exo has no such statement; it has assignments, ",
    "x[0, 0] = 1.0": "to have no more than 1 indices, but 2 were found",
}


def kernel(folder: Path, statement: str, kind: str = "f32") -> Path:
    path = folder / "kernel.py"
    path.write_text(f"{HEAD.format(kind=kind)}    {statement}\n")
    return path


@pytest.mark.parametrize("statement", MESSAGES)
def test_what_does_not_load(tmp_path: Path, statement: str) -> None:
    path = kernel(tmp_path, statement)
    with pytest.raises(UserError) as caught:
        load_source(path)
    message = str(caught.value)
    assert MESSAGES[statement].format(path=path) in message
    assert f"{path}:{LINE}" in message or f"at {path}:" in message
    assert not NOTHING_OF_EXO.search(message)


def test_what_has_no_c(tmp_path: Path) -> None:
    path = kernel(tmp_path, "x[0] = x[0] + y[0]", "i32")
    procedure = load_source(path).procs["f"]
    with pytest.raises(CodegenError) as caught:
        generate_c(procedure)
    assert str(caught.value).startswith(f"{path}:{LINE}:")
    assert not NOTHING_OF_EXO.search(str(caught.value))


def test_what_is_rejected() -> None:
    procedure = source("named").procs["written"]
    with pytest.raises(RewriteError) as caught:
        run_op(procedure, Op("fuse", (At((2,)), At((3,)))))
    assert str(caught.value).startswith("fuse: ")
    assert not NOTHING_OF_EXO.search(str(caught.value))


@pytest.mark.parametrize(
    "dump",
    [
        "cannot do Effects.Select(cond=Effects.Var(name=n_1))",
        "no LoopIR.Read(name=x) here",
        "<exo.core.prelude.SrcInfo object at 0x7f22408210d0>",
    ],
)
def test_what_nobody_knows_is_not_printed(dump: str) -> None:
    text = said(TypeError(dump))
    assert text == "Exo refuses it (TypeError), with nothing that explains it"


def test_a_solver_that_gives_up_is_no_type_error() -> None:
    assert said(TypeError("unknown result from z3")).startswith("Exo's solver does not find out")


def test_other_errors_are_named() -> None:
    assert said(KeyError("x")) == "KeyError: 'x'"
    assert said(AssertionError()) == "AssertionError:"


@pytest.mark.parametrize(
    ("argument", "fits"), [("-2.0 * y[0]", False), ("1.0 - y[0]", False), ("-y[0] + 1.0", True)]
)
def test_an_argument_of_a_function_does_not_begin_with_a_number(
    argument: str, fits: bool, tmp_path: Path
) -> None:
    path = kernel(tmp_path, f"x[0] = expf({argument})")
    path.write_text(path.read_text().replace("\n\n", "\nfrom exo.libs.externs import expf\n\n", 1))
    procedure = load_source(path).procs["f"]
    if fits:
        generate_c(procedure)
        return
    with pytest.raises(CodegenError, match="may not begin with a number: write `f") as refused:
        generate_c(procedure)
    assert not NOTHING_OF_EXO.search(str(refused.value))
