"""The printed C of random expressions computes what they mean."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from transforms.helpers import arguments
from transforms.interpret import interpret
from transforms.native import Library

pytestmark = pytest.mark.normal

COUNT = 40
HEAD = "from __future__ import annotations\nfrom exo import proc\n\n@proc\n"


def index(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["i", "j", "n", str(rng.randint(0, 9))])
    left = index(rng, depth - 1)
    match rng.randrange(6):
        case 0:
            return f"({left} + {index(rng, depth - 1)})"
        case 1:
            return f"({left} - {index(rng, depth - 1)})"
        case 2:
            return f"({left} * {rng.randint(2, 9)})"
        case 3:
            return f"({left} / {rng.randint(1, 9)})"
        case 4:
            return f"({left} % {rng.randint(1, 9)})"
        case _:
            return f"(-{left})"


def data(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["a[i]", "b[j]", "s", "2.0", "-3.0"])
    left, right = data(rng, depth - 1), data(rng, depth - 1)
    form = rng.choice(["({0} + {1})", "({0} - {1})", "({0} * {1})", "(-{0})", "(-(-{0}))"])
    return form.format(left, right)


def check(folder: Path, text: str) -> None:
    path = folder / "expressions.py"
    path.write_text(HEAD + text)
    procedure = load_source(path).procs["f"]
    meaning = mirror(procedure)
    library = Library([generate_c(procedure)], folder)
    for controls in ({"n": 1}, {"n": 6}):
        wanted, found = arguments(meaning, controls, 3), arguments(meaning, controls, 3)
        interpret(meaning, wanted)
        library.call(0, meaning, found)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_index_expressions(tmp_path: Path) -> None:
    rng = random.Random(1)
    lines = ["def f(n: size, x: f64[40, 5, 4], y: f64[16]):\n    for i in seq(0, 5):"]
    lines.append("        for j in seq(0, 4):")
    for number in range(COUNT):
        lines.append(f"            x[{number}, i, j] = y[({index(rng, 3)}) % 16]")
    check(tmp_path, "\n".join(lines) + "\n")


def test_conditions(tmp_path: Path) -> None:
    rng = random.Random(2)
    lines = ["def f(n: size, x: f64[40, 5, 4], up: f64[1]):\n    for i in seq(0, 5):"]
    lines.append("        for j in seq(0, 4):")
    for number in range(COUNT):
        tests = [f"{index(rng, 2)} {rng.choice(['<', '>', '<=', '>=', '=='])} {index(rng, 2)}"]
        tests.append(f"{index(rng, 1)} {rng.choice(['<', '=='])} {index(rng, 2)}")
        lines.append(f"            if {tests[0]} {rng.choice(['and', 'or'])} {tests[1]}:")
        lines.append(f"                x[{number}, i, j] = 9.0")
    check(tmp_path, "\n".join(lines) + "\n")


def test_data_expressions(tmp_path: Path) -> None:
    rng = random.Random(3)
    lines = ["def f(n: size, x: f64[40, 5, 4], a: f64[5], b: f64[4], s: f64):"]
    lines.append("    for i in seq(0, 5):\n        for j in seq(0, 4):")
    for number in range(COUNT):
        lines.append(f"            x[{number}, i, j] = {data(rng, 3)}")
    check(tmp_path, "\n".join(lines) + "\n")
