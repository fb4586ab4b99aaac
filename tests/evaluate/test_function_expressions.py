"""What -ffast-math makes of expressions of functions is admissible: it rewrites some of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontends.functions_module import HEAD, NAMES

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.frontends.functions import module_text
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from .enclosed import Enclosure
from .test_functions import call, missed, shared

pytestmark = pytest.mark.normal

N = 4000
# Of `x` and `y`, of any sign, and `p` and `r`, which are positive.
EXPRESSIONS = (
    "exp(x) * exp(y)",
    "exp(x) / exp(y)",
    "1.0 / exp(x)",
    "exp(x) * exp(x) * exp(y)",
    "log(exp(x))",
    "exp(log(p) * y)",
    "exp(log(p))",
    "log(p) - log(r)",
    "log(p * r)",
    "log(pow_(p, y))",
    "log(sqrt_(p))",
    "sqrt_(exp(x))",
    "sqrt_(p) * sqrt_(r)",
    "sqrt_(p) * sqrt_(p)",
    "sqrt_(p * p)",
    "x / sqrt_(p)",
    "1.0 / sqrt_(p)",
    "pow_(2.0, x)",
    "pow_(10.0, x)",
    "pow_(0.3, x)",
    "pow_(x, 2.0)",
    "pow_(x, 3.0)",
    "pow_(x, 7.0)",
    "pow_(p, -2.0)",
    "pow_(p, 0.5)",
    "pow_(p, 1.5)",
    "pow_(p, -0.5)",
    "pow_(p, 0.25)",
    "pow_(p, 1.0)",
    "pow_(p, x) * pow_(p, y)",
    "pow_(p, y) * pow_(r, y)",
    "pow_(pow_(p, x), y)",
    "pow_(exp(x), y)",
    "pow_(sqrt_(p), y)",
    "p * pow_(p, y)",
    "pow_(p, y) / p",
    "sin_(x) / cos(x)",
    "sin_(x) * sin_(x) + cos(x) * cos(x)",
    "sin_(-x) + cos(-y)",
    "cos(abs_(x))",
    "atan2(sin_(x), cos(x))",
    "atan2(-x, -y)",
    "tanh(-x) * 2.0",
    "log(1.0 + exp(x))",
    "0.5 * x * (1.0 + erf(x * 0.70710678))",
    "x * sigmoid_(x)",
    "sigmoid_(x) * (1.0 - sigmoid_(x))",
    "x * tanh(log(1.0 + exp(x)))",
    "abs_(x) * abs_(y)",
    "abs_(x * y)",
    "sqrt_(x * x)",
    "sqrt_(x * x + y * y)",
    "max_(x * y, max_(x, y))",
    "min_(max_(x * 1.1, 0.0), 6.0)",
    "max_(x, y) - min_(x, y)",
    "floor(x * 0.1)",
    "floor(x / 3.0) * 3.0 - x",
    "floor(floor(x) + 0.5)",
    "x - floor(x)",
    "select_lt(x * 3.0, y * 3.0, x, -y)",
    "select_le(x - y, 0.0, exp(x), exp(y))",
    "select_eq(x * y, 0.0, 1.0, x / y)",
    "relu_(x - y) + relu_(1.0 - x)",
)
BUILDS = {
    "gcc": ["gcc", "-O3", "-march=native", "-ffast-math"],
    "gcc, one by one": ["gcc", "-O2", "-ffast-math", "-fno-tree-vectorize"],
    "gcc, IEEE": ["gcc", "-O2", "-ffp-contract=off"],
    "clang": ["clang", "-O3", "-march=native", "-ffast-math", "-w"],
}


def module(kind: str) -> str:
    args = ", ".join(f"{name}: {kind}[n]" for name in "xypr")
    outputs = ", ".join(f"z{number}: {kind}[n]" for number, _ in enumerate(EXPRESSIONS))
    lines = [HEAD, module_text(NAMES), "", "@proc", f"def kernel(n: size, {args}, {outputs}):"]
    for number, text in enumerate(EXPRESSIONS):
        value = re.sub(r"\b([xypr])\b", r"\1[i]", text)
        lines += ["    for i in seq(0, n):", f"        z{number}[i] = {value}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_rewritten_expressions_are_admissible(kind: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(module(kind))
    procedure = load_source(tmp_path / "module.py").procs["kernel"]
    rng = np.random.default_rng(7)
    dtype = ELEMENT_TYPES[kind].numpy
    scales = rng.choice([1e-3, 1, 1, 8], (4, N))
    values = (rng.uniform(-1, 1, (4, N)) * scales).astype(dtype)
    values[:, ::9] = np.rint(values[:, ::9])
    values[2:] = np.abs(values[2:]) + 2.0**-10
    inputs = [*values]

    def arguments() -> list[Any]:
        return [N, *inputs, *(np.zeros(N, dtype) for _ in EXPRESSIONS)]

    found = Enclosure(mirror(procedure), tmp_path / "enclosure").run(arguments())
    code = generate_c(procedure)
    wrong = []
    for number, command in enumerate(BUILDS.values()):
        if not shutil.which(command[0]):
            continue
        source, args = tmp_path / f"kernel{number}.c", arguments()
        source.write_text(code.header + code.source)
        call(shared(source, command[1:], command[0])[code.proc], args)
        for place, text in enumerate(EXPRESSIONS):
            result, own = args[5 + place].astype(np.longdouble), found[f"z{place}"]
            for at in missed(own, result)[:1]:
                given = ", ".join(f"{x[at]:.9g}" for x in inputs)
                bounds = f"{own.value[at]:.17g} +- {own.radius[at]:.3g}"
                wrong.append(f"{text} of {given} is {result[at]:.17g}, not {bounds} ({command})")
    assert not wrong, "\n".join(wrong)
