"""Functions of front ends: one row and one rule for each; their text needs Exo only; they have a
vector form; exported schedules carry them."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transforms.helpers import TARGET
from transforms.test_export import BLOCK_SCHEDSEARCH

from schedsearch.analysis.conversions import FLOAT_EXTERNS
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.errors import UserError
from schedsearch.core.functions import FUNCTIONS, LETTERS
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.runtime_text import runtime_source
from schedsearch.frontends.functions import EXO_NAMES, SELECTIONS, module_text
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.written import written
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.operators.floating_point import loses_rounding
from schedsearch.transforms.registry import apply, carry_out, select
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.fused.model import Fused
from schedsearch.transforms.vector.fused.source import functions

from .functions_module import HEAD, of_type, procedure_text, procedures

(VECTORISE,) = select(["vectorise"])
OURS = [name for name, row in FUNCTIONS.items() if not row.own]
N = 37


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_has_a_rule_for_intervals(name: str) -> None:
    row, header = FUNCTIONS[name], runtime_source("enclosure.h")
    monotone = re.search(rf"MONOTONE\({name}, ", header)
    found = re.search(rf"struct enclosed hs_{name}\(([^)]*)\)", header)
    assert monotone or found
    if found:
        assert found[1].count("struct enclosed") == row.arity
        assert ("format" in found[1]) == row.rounds


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_uses_its_arguments(name: str) -> None:
    row = FUNCTIONS[name]
    for text in (row.c, row.whole):
        assert not text or {*LETTERS[: row.arity]} == {*re.findall(r"\b[a-d]\b", text)}
    if row.loop:
        assert {*re.findall(r"\{(\d)\}", row.loop)} == {*map(str, range(row.arity))}


def test_rows_of_exo_are_what_exo_computes() -> None:
    """A function that returns floats, whatever it is given; one row for each of Exo's."""
    assert {"sqrt", "sin", "expf", "fmaxf"} == FLOAT_EXTERNS
    assert {name for name, row in FUNCTIONS.items() if row.own} == {
        *("relu", "select", "sqrt", "sin", "expf", "fmaxf", "sigmoid")
    }


def test_the_names_of_programs_are_in_the_table() -> None:
    assert {*EXO_NAMES.values(), *SELECTIONS.values()} == {*OURS}


def test_c_of_a_lane() -> None:
    assert FUNCTIONS["max_"].c_of("f32", "{}[l]") == "a[l] > b[l] || a[l] != a[l] ? a[l] : b[l]"
    assert FUNCTIONS["exp"].c_of("f64") == "exp(a)"


def test_a_module_defines_what_it_uses() -> None:
    assert module_text([]) == ""
    assert module_text(["relu"]) == "from exo.libs.externs import relu\n"
    text = module_text(["tanh", "select", "min_"])
    assert "schedsearch" not in text
    assert [line for line in text.splitlines() if line.endswith('")')][-2:] == [
        'min_ = CFunction("min_", 2, "a < b || a != a ? a : b", "a < b ? a : b")',
        'tanh = CFunction("tanh", 1, "tanh{f}(a)")',
    ]


def loaded(folder: Path, body: str, names: list[str]) -> Any:
    file = folder / "module.py"
    file.write_text(f"{HEAD}{module_text(names)}\n\n@proc\n{body}")
    (found,) = load_source(file).procs.values()
    return found


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("i32", "exp(x[i])", "exp of i32: it is of"),
        ("f16", "max_(x[i], 0.0)", "max_ of f16: it is of"),
        ("f32", "pow_(x[i])", "pow_ has 2 arguments"),
    ],
)
def test_what_has_no_c_is_refused(kind: str, value: str, why: str, tmp_path: Path) -> None:
    body = f"def k(x: {kind}[8]):\n    for i in seq(0, 8):\n        x[i] = {value}\n"
    with pytest.raises(UserError, match=why):
        loaded(tmp_path, body, [value.split("(")[0]])


def test_constants_and_functions_may_be_arguments(tmp_path: Path) -> None:
    body = (
        "def k(x: f32[8], y: f64[8]):\n    for i in seq(0, 8):\n"
        "        x[i] = max_(0.0, pow_(x[i], 2.0)) + exp(1.0)\n"
        "        x[i] = exp(1.0 - x[i]) + exp(-(1.0 + 2.0 * x[i])) + exp(2.0 / exp(x[i]))\n"
        "        y[i] = max_(-1.5, exp(y[i] * 0.5))\n"
    )
    code = generate_c(loaded(tmp_path, body, ["max_", "pow_", "exp"]))
    assert "_max_of_float(0.0f, _pow_of_float(x[i1], 2.0f))" in re.sub(
        r"x\[i\d*\]", "x[i1]", code.source
    )
    for name in (
        "_max_of_float",
        "_max_of_double",
        "_pow_of_float",
        "_exp_of_double",
        "_exp_of_float",
    ):
        assert code.source.count(f"static inline {name.split('_')[-1]} {name}(") == 1


@pytest.mark.normal
def test_a_written_procedure_imports_them(tmp_path: Path) -> None:
    """From the module that defines them."""
    procedure = procedures(tmp_path, kinds=["f32"])["f32"]
    text = written(procedure)
    assert "CFunction" not in text
    assert re.search(r"from schedsearch_source_\w+ import abs_, atan2, cos, ", text)


def vectorised(procedure: Any) -> Any:
    """With a vector form of every loop."""
    loops = sum(isinstance(stmt, q.For) for stmt in q.walk(mirror(procedure).body))
    steps = []
    for _ in range(loops):
        meaning = mirror(procedure)
        rewrite = next(iter(VECTORISE.rewrites(meaning, TARGET)), None)
        if rewrite is None:
            break
        steps.append(rewrite)
        procedure = apply(procedure, meaning, rewrite)
    return procedure, Trace(tuple(steps)), loops


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64", "i32"])
def test_all_have_a_vector_form_that_computes_the_same(kind: str, tmp_path: Path) -> None:
    names = of_type(kind)
    plain = procedures(tmp_path, kinds=[kind])[kind]
    procedure, trace, loops = vectorised(plain)
    assert len(trace.steps) == loops == len(names)
    results = []
    for number, each in enumerate((plain, procedure)):
        code = generate_c(each)
        (tmp_path / f"{number}.c").write_text(code.header + code.source)
        command = ["gcc", "-O2", "-mavx2", "-fno-math-errno", "-shared", "-fPIC", f"{number}.c"]
        subprocess.run([*command, "-o", f"{number}.so", "-lm"], cwd=tmp_path, check=True)
        rng = np.random.default_rng(1)
        dtype = ELEMENT_TYPES[kind].numpy
        values = [rng.integers(-3, 4, N) + rng.choice([0, 0.25], N) for _ in LETTERS]
        if kind == "i32":
            values = [rng.integers(-50, 50, N) for _ in LETTERS]
        arrays = [value.astype(dtype) for value in values]
        if kind != "i32":
            arrays[0][5], arrays[1][7] = np.nan, np.nan
        arrays += [np.zeros(N, dtype) for _ in names]
        function = ctypes.CDLL(str(tmp_path / f"{number}.so"))[code.proc]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        function(None, ctypes.c_int64(N), *pointers)
        results.append(arrays[4:])
    for name, one, other in zip(names, *results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6 if kind == "f32" else 1e-14, err_msg=name)
    for name, found in zip(names, results[1], strict=True):
        if name in ("min_", "max_") and kind != "i32":
            assert np.isnan(found[[5, 7]]).all()


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_vector_forms_keep_every_rounding(kind: str, tmp_path: Path) -> None:
    """Unlike those of Exo's `sin` and `sigmoid` of f32, so that `--fp strict` has them."""
    plain = procedures(tmp_path, kinds=[kind])[kind]
    _, trace, _ = vectorised(plain)
    used = set[str]()
    for rewrite in trace.steps:
        for op, after in carry_out(plain, mirror(plain), rewrite):
            for fused in (arg for arg in op.args if isinstance(arg, Fused)):
                assert not loses_rounding(fused)
                used |= {*functions(fused)}
            plain = after
    assert used == {*OURS} & {*of_type(kind)}


@pytest.mark.normal
def test_an_exported_schedule_has_them(tmp_path: Path) -> None:
    """Without this package; once, also where the schedule brings instructions of them."""
    names = ["exp", "max_", "relu_", "select_eq"]
    file = tmp_path / "four.py"
    file.write_text(HEAD + module_text(names) + procedure_text("f32", names))
    source = load_source(file)
    procedure, trace, _ = vectorised(source.procs["kernel_f32"])
    text = schedule_python(source, "kernel_f32", trace)
    assert text.count("class CFunction") == 1
    (tmp_path / "schedule.py").write_text(text)
    command = [sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, str(tmp_path / "schedule.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "_exp(" in found.stdout
    (tmp_path / "schedule.c").write_text(found.stdout.partition("\n")[2])
    subprocess.run(["gcc", "-O1", "-c", "schedule.c"], cwd=tmp_path, check=True)
    replayed = Replayer(source.procs["kernel_f32"]).state(trace).procedure
    assert generate_c(replayed).key == generate_c(procedure).key


@pytest.mark.normal
def test_c_of_an_exported_schedule_compiles(tmp_path: Path) -> None:
    """As Exo alone prints it, which does not look for functions in arguments of others."""
    names = ["exp", "floor", "max_", "select_lt"]
    body = (
        "def k(x: f32[8], y: f64[8], z: i32[8]):\n    for i in seq(0, 8):\n"
        "        x[i] = exp(max_(0.0, floor(x[i])))\n"
        "        y[i] = exp(select_lt(1.0 - y[i], y[i], y[i], 0.0))\n"
        "        z[i] = max_(floor(z[i]), select_lt(z[i], 4, 1, z[i]))\n"
    )
    loaded(tmp_path, body, names)
    text = schedule_python(load_source(tmp_path / "module.py"), "k", Trace())
    (tmp_path / "schedule.py").write_text(text)
    command = [sys.executable, "-I", str(tmp_path / "schedule.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    (tmp_path / "k.c").write_text(found.stdout)
    command = ["gcc", "-Wall", "-Werror", "-c", "k.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    own = generate_c(loaded(tmp_path, body, names)).source
    for kind, count in (("float", 4), ("double", 4), ("int32_t", 3)):
        assert len(re.findall(rf"static inline {kind} _\w+_of_{kind}\(", own)) == count


@pytest.mark.normal
def test_an_exported_schedule_defines_what_its_module_imports(tmp_path: Path) -> None:
    (tmp_path / "their_functions.py").write_text(module_text(["exp"]))
    file = tmp_path / "one.py"
    imported = "from their_functions import exp\n"
    file.write_text(HEAD + imported + procedure_text("f32", ["exp"]))
    source = load_source(file)
    _, trace, _ = vectorised(source.procs["kernel_f32"])
    text = schedule_python(source, "kernel_f32", trace)
    assert text.count("class CFunction") == 1
    exported = tmp_path / "schedule.py"
    exported.write_text(text)
    assert load_source(exported).procs
