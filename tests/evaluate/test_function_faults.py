"""Kernels that compute another function are refused, be it by a millionth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from frontends.functions_module import HEAD, c_of, procedure_text, procedures

from schedsearch.core.floats import FloatingPoint, contract_flags
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.records import Artifact, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.frontends.functions import module_text
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

from .procs import handwritten

pytestmark = pytest.mark.normal

# By function: other C of the same arguments. `off`: a millionth more.
FAULTS: dict[str, tuple[str, ...]] = {
    "exp": ("off", "expm1f(a)", "exp2f(a)"),
    "log": ("off", "log1pf(a)", "log2f(a)"),
    "sqrt_": ("off", "sqrtf(a) + 1e-6f", "cbrtf(a)"),
    "sin_": ("off", "a - a * a * a / 6 + a * a * a * a * a / 120"),
    "cos": ("off", "1 - a * a / 2 + a * a * a * a / 24"),
    "log1p": ("off", "logf(1 + a) + 1e-6f", "logf(a)"),
    "expm1": ("off", "expf(a) - 1 + 1e-6f", "expf(a)"),
    "tanh": ("off", "a / (1 + fabsf(a))", "fminf(fmaxf(a, -1), 1)"),
    "erf": ("off", "tanhf(1.128379f * (a + 0.0895f * a * a * a))"),
    "sigmoid_": ("off", "0.5f + 0.25f * a", "1 / (1 + expf(-a)) + 1e-6f"),
    "pow_": ("off", "powf(b, a)", "a * b", "powf(fabsf(a), b) + 1e-6f"),
    "abs_": ("a", "-a", "fmaxf(a, 0)"),
    "min_": ("a > b ? a : b", "a", "fminf(a, b) + 1e-6f"),
    "max_": ("a < b ? a : b", "b", "fabsf(a) > fabsf(b) ? a : b"),
    "floor": ("truncf(a)", "rintf(a)", "ceilf(a) - 1", "(float)(int)(a - 0.5f)"),
    "rint": ("floorf(a)", "truncf(a)", "rintf(a + 0.01f)", "a"),
    "atan2": ("off", "atanf(a / b)", "atan2f(b, a)", "fabsf(atan2f(a, b))"),
    "relu_": ("a > 0 ? a : 0.01f * a", "fabsf(a)"),
    "select_lt": ("a <= b ? c : d", "a < b ? d : c", "a < b ? c : 0"),
    "select_le": ("a < b ? c : d", "a <= b ? d : c"),
    "select_eq": ("a <= b ? c : d", "fabsf(a - b) < 1 ? c : d", "a != b ? c : d", "d"),
}
OF_DOUBLE = {
    "exp": ("expf(a)", "exp(a) * (1 + 1e-14)"),
    "log": ("logf(a)",),
    "sin_": ("sinf(a)",),
    "pow_": ("powf(a, b)",),
    "sigmoid_": ("1 / (1 + expf(-a))",),
    "max_": ("fmaxf(a, b)",),
    "floor": ("trunc(a)",),
}
OF_INTEGERS = {
    "abs_": ("a",),
    "max_": ("a < b ? a : b",),
    "select_le": ("a < b ? c : d",),
    "bit_and": ("a & b & ~1", "a"),
    "bit_or": ("a | (b & 3)", "a + b"),
    "bit_xor": ("a | b", "a - b"),
    "ashr": ("a / 8", "(int)((unsigned)a >> 3)", "a >> 2"),
    "sdiv": ("(a - 6 * (a < 0)) / 7", "a / 8", "a * 9362 >> 16"),
}


def procedure(name: str, kind: str, folder: Path) -> Any:
    file = folder / "kernel.py"
    file.write_text(HEAD + module_text([name]) + procedure_text(kind, [name]))
    return load_source(file).procs[f"kernel_{kind}"]


def refused(bench: Bench, builder: Builder, code: Any, value: str) -> bool:
    """What verification makes of a loop with this value."""
    signature = code.source[code.source.index(f"void {code.proc}(") :].split("{")[0]
    kind = "float" if "float" in signature else "double" if "double" in signature else "int"
    (out,) = (word.strip() for word in signature.split("*") if "_out" in word)
    element = f"const {kind} a = a_[i], b = b_[i], c = c_[i], d = d_[i]"
    named = signature
    for letter in "abcd":
        named = named.replace(f" {letter},", f" {letter}_,")
    body = f"for (long i = 0; i < n; i++) {{ {element}; (void)(a + b + c + d); "
    body += f"{out.split(',')[0].split()[0]}[i] = {value}; }}"
    text = f"#include <math.h>\n#include <stdint.h>\n{named}{{ {body} }}\n"
    artifact = builder.build(handwritten(code, text.replace("_out )", "_out)")), 60)
    assert isinstance(artifact, Artifact), artifact
    failure = bench.verify(artifact)
    assert failure is None or failure.outcome is Outcome.INCORRECT
    return failure is not None


def check(name: str, kind: str, faults: tuple[str, ...], builder: Builder, folder: Path) -> None:
    proc = procedure(name, kind, folder)
    code = generate_c(proc)
    bench = prepare(mirror(proc), code, bind(mirror(proc), {"n": 3000}), builder, folder / "work")
    assert not bench.agreement.weak
    right = c_of(name, kind)
    assert not refused(bench, builder, code, right)
    for fault in faults:
        wrong = f"({right}) * 1.000001f" if fault == "off" else fault
        assert refused(bench, builder, code, wrong), (name, wrong)


@pytest.mark.parametrize("name", FAULTS)
def test_of_f32(name: str, builder: Builder, tmp_path: Path) -> None:
    check(name, "f32", FAULTS[name], builder, tmp_path)


@pytest.mark.parametrize("name", OF_DOUBLE)
def test_of_f64(name: str, builder: Builder, tmp_path: Path) -> None:
    check(name, "f64", OF_DOUBLE[name], builder, tmp_path)


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_of_integers(name: str, builder: Builder, tmp_path: Path) -> None:
    check(name, "i32", OF_INTEGERS[name], builder, tmp_path)


@pytest.mark.parametrize(("name", "ignoring"), [("max_", "fmaxf(a, b)"), ("min_", "fminf(a, b)")])
def test_of_a_nan_and_a_number_nan_comes_out(
    name: str, ignoring: str, builder: Builder, tmp_path: Path
) -> None:
    """As of NumPy's, where the contract promises it; C's functions give the number."""
    contract = FloatingPoint.REASSOCIATE
    careful = replace(builder, flags=("-O2", *contract_flags(contract)))
    proc = procedure(name, "f32", tmp_path)
    code, binding = generate_c(proc), bind(mirror(proc), {"n": 3000})
    bench = prepare(mirror(proc), code, binding, careful, tmp_path / "work", fp=contract)
    assert not refused(bench, careful, code, FUNCTIONS[name].c_of("f32"))
    for wrong in (ignoring, ignoring.replace("a, b", "b, a")):
        assert refused(bench, careful, code, wrong)


@pytest.mark.parametrize("kind", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("contract", FloatingPoint)
def test_as_written_all_are_admissible(
    kind: str, contract: FloatingPoint, builder: Builder, tmp_path: Path
) -> None:
    """Of NaN, infinities, denormal numbers and signed zeros, too."""
    proc = procedures(tmp_path, kinds=[kind])[kind]
    careful = replace(builder, flags=("-O2", *contract_flags(contract)))
    binding = bind(mirror(proc), {"n": 3000})
    bench = prepare(
        mirror(proc), generate_c(proc), binding, careful, tmp_path / "work", fp=contract
    )
    assert not bench.agreement.skipped
