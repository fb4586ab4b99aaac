"""What Exo's front end lets through, and what it does not have to refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from transforms.helpers import kernels

from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.core.errors import UserError
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.exo.mirror import mirror

HEAD = """
from __future__ import annotations
from exo import proc, config
from exo.libs.externs import relu, select
@config
class Mode:
    limit: size
@proc
def last(a: [f32][4]):
    a[3] = 1.0
@proc
def inner(a: [f32][4], at: index):
    assert at >= 0
    assert at < 4
    b = a[0:2]
    b[at] = 1.0
"""


def problem(folder: Path, head: str, *body: str) -> str | None:
    """What is said about a procedure that Exo's front end accepts."""
    (folder / "kernel.py").write_text("\n    ".join([f"{HEAD}@proc\ndef f({head}):", *body]) + "\n")
    return out_of_bounds(mirror(load_source(folder / "kernel.py").procs["f"]))


LONG = "for i in seq(0, 8):\n        w[i] += 1.0"

OUTSIDE = {
    "a write": (
        ("x: f32[4]", "w = x[0:1]", "w[1] = 0.0"),
        r"^w\[1\] is outside of w, of shape \[1\]$",
    ),
    "a read that is within x": (("x: f32[4], y: f32", "w = x[0:1]", "y = w[1]"), r"outside of w"),
    "before the window": (("x: f32[4]", "w = x[2:4]", "w[-1] = 0.0"), r"outside of w"),
    "one iteration": (("x: f32[9]", "w = x[0:7]", LONG), r"shape \[7\] where i = 7"),
    "one size": (
        ("n: size, x: f32[n]", "w = x[0:n]", "for i in seq(0, n):\n        w[i + n % 2] = 0.0"),
        r"w\[i \+ \(\(n\) % 2\)\] is outside of w, of shape \[(\d+)\] where n = \1, i = ",
    ),
    "a window too long": (
        ("x: f32[4]", "w = x[0:9]", "w[8] = 0.0"),
        r"outside of x, of shape \[4\]",
    ),
    "a point": (("x: f32[4, 4]", "w = x[0:4, 5]", "w[0] = 0.0"), r"w\[0\] is outside of x"),
    "a call": (("x: f32[3]", "w = x[0:4]", "last(w)"), r"a\[3\] is outside of x, of shape \[3\]"),
    "a window in a call": (
        ("x: f32[4]", "inner(x[0:4], 2)"),
        r"b\[at\] is outside of b, of shape \[2\] where at = 2$",
    ),
    "an external function": (("x: f32[4], y: f32", "y = relu(x[9])"), r"x\[9\] is outside of x"),
    "inside one": (
        ("x: f32[4], y: f32", "y += 1.0 - select(y, relu(-x[4]), y, y)"),
        r"x\[4\] is outside of x",
    ),
    "a branch": (
        ("n: size, x: f32[4]", "w = x[0:4]", "if n > 7:\n        w[n - 4] = 0.0"),
        r"outside of w, of shape \[4\] where n = ",
    ),
    "the other branch": (
        (
            "n: size, x: f32[n]",
            "w = x[0:n]",
            "if n > 1:\n        w[1] = 0.0\n    else:\n        w[n] = 0.0",
        ),
        r"w\[n\] is outside of w, of shape \[1\] where n = 1$",
    ),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_exo_accepts_is_found(tmp_path: Path, case: str) -> None:
    lines, message = OUTSIDE[case]
    found = problem(tmp_path, *lines)
    assert found
    assert re.search(message, found)
    with pytest.raises(UserError, match=rf"kernel\.py: in f, {re.escape(found)}"):
        pick(load_source(tmp_path / "kernel.py"), "f")


@pytest.mark.parametrize(
    "lines",
    [
        ("x: f32[4]", "w = x[0:1]", "w[0] = 0.0"),
        ("x: f32[4]", "w = x[0:9]", "w[3] = 0.0"),
        ("x: f32[8]", "w = x[0:8]", LONG),
        ("x: f32[4]", "w = x[0:4]", "last(w)"),
        ("x: f32[4]", "inner(x[0:4], 1)"),
        ("n: size, x: f32[n]", "assert n > 3", "w = x[1:n]", "w[n - 2] = relu(x[3])"),
        ("n: size, x: f32[n]", "w = x[0:n]", "if n > 2:\n        w[2] = 0.0"),
        ("n: size, x: f32[n]", "w = x[0:n]", "for i in seq(0, n / 4):\n        w[4 * i + 3] = 1.0"),
        ("x: f32[9]", "w = x[0:9]", "for i in seq(0, 99):\n        w[(i - 50) % 9] = 1.0"),
        ("on: bool, x: f32[4]", "w = x[0:4]", "if on:\n        w[3] = 0.0"),
        ("x: f32[4]", "Mode.limit = 2", "w = x[0:4]", "if Mode.limit > 3:\n        w[7] = 0.0"),
        ("x: [f32][4, 4]", "assert stride(x, 1) == 1", "w = x[0:4, 1]", "w[3] = 0.0"),
        ("x: f32[4]", "w = x[0:4]", "for i in seq(0, 0):\n        w[9] = 0.0"),
    ],
)
def test_legal_procedures_are_left_alone(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert problem(tmp_path, *lines) is None


@pytest.mark.parametrize("name", kernels())
def test_kernels_are_left_alone(name: str) -> None:
    assert out_of_bounds(mirror(kernels()[name])) is None
