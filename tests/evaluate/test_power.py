"""Kernels that are wrong by little, or where an oracle tends to be blind, are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suite.kernels.softmax import softmax
from benchmarks.suite.kernels.triangular import trsm
from schedsearch.core.floats import FloatingPoint, changes_values, contract_flags
from schedsearch.core.records import Artifact, Failure, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.oracle.enclosure import repeated_terms
from schedsearch.evaluate.oracle.ladders import Fill
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from . import lossy, procs

EACH = "for (long i = 0; i < n; i++)"
OTHER = "float other = fabsf(x[i]) > 0.01f ? (float)(_Float16)x[i] : x[i];"
FIXED = "for (int i = 0; i < 64; i++)"
ROW = """
for (int i = 0; i < 512; i++) {
    const float *a = x + i * 1024;
    float *o = out + i * 1024, top = a[0], total = 0;
    for (int j = 0; j < 1024; j++) top = fmaxf(top, a[j]);
    for (int j = 0; j < 1024; j++) { o[j] = expf(a[j] - top); total += j < SUMMED ? o[j] : 0; }
    for (int j = 0; j < 1024; j++) { o[j] = o[j] / total * FACTOR; if (o[j] < LEAST) o[j] = 0; }
}"""
SOLVE = """
for (int i = 0; i < 128; i++) {
    for (int j = 0; j < 512; j++) B[i * 512 + j] *= i < 100 ? 1.0f : FACTOR;
    for (int k = 0; k < i; k++)
        for (int j = 0; j < 512; j++) B[i * 512 + j] += -L[i * 128 + k] * B[k * 512 + j];
}"""


def row(summed: int = 1024, factor: str = "1", least: str = "0") -> str:
    text = ROW.replace("SUMMED", str(summed)).replace("FACTOR", factor)
    return text.replace("LEAST", least)


def products(count: str, terms: int, size: int, term: str) -> str:
    return f"""for (int i = 0; i < {count}; i++) {{
        float s = 0;
        for (long k = 0; k < {terms}; k++) s += {term.replace("[i]", f"[i * {size}L + k]")};
        y[i] = s;
    }}"""


HALF = "(float)A[i] * (float)x[k]"
SINGLE = "A[i] * 0.1f * B[k]"
SQUARES = """
for (int i = 0; i < n; i++) {
    int t = 0;
    for (int k = 0; k < 40; k++) t += x[i * 40 + k] * x[i * 40 + k];
    y[i] = t;
}"""
BYTES = """
for (int i = 0; i < n; i++) {
    int t = 0;
    for (int k = 0; k < 64; k += 2) {
        int two = A[i * 64 + k] * x[k] + A[i * 64 + k + 1] * x[k + 1];
        t += CLAMPED;
    }
    y[i] = (int8_t)((float)t * s[i] * 0.01f);
}"""
SUBSTITUTION = """
for (int i = 0; i < n; i++) {
    for (int j = 0; j < (i < 200 ? i : i - 1); j++) b[i] += -L[i * n + j] * b[j];
    b[i] = b[i] / L[i * n + i];
}"""
PRODUCT = "y[0] = 1; for (int i = 0; i < n - (n > 200); i++) y[0] = y[0] * x[i];"
PLANTED: dict[str, tuple[Any, str, dict[str, str]]] = {
    "conversions": (
        lossy.requantised,
        f"{EACH} y[i] = (int8_t)(x[i] * 0.37f);",
        {
            "rounded": f"{EACH} y[i] = (int8_t)rintf(x[i] * 0.37f);",
            "floored": f"{EACH} y[i] = (int8_t)floorf(x[i] * 0.37f);",
            "one too much": f"{EACH} y[i] = (int8_t)(x[i] * 0.37f) + 1;",
        },
    ),
    "sums of conversions": (
        lossy.accumulated,
        f"{EACH} y[i] += (int8_t)(x[i] * s[i]);",
        {"converted afterwards": f"{EACH} y[i] = (int8_t)((float)y[i] + x[i] * s[i]);"},
    ),
    "integers that wrap": (
        lossy.narrowed,
        f"{EACH} y[i] = (int8_t)x[i];",
        {"saturated": f"{EACH} y[i] = x[i] > 127 ? 127 : x[i] < -128 ? -128 : x[i];"},
    ),
    "integers that wrap, beside floats": (
        lossy.beside_floats,
        f"{EACH} {{ z[i] *= 2; y[i] = (int8_t)(x[i] + x[i]); }}",
        {"saturated": f"{EACH} {{ z[i] *= 2; y[i] = x[i] > 63 ? 127 : x[i] + x[i]; }}"},
    ),
    "large floats as integers": (
        lossy.squared,
        f"{EACH} y[i] = (int32_t)(x[i] * x[i]);",
        {"by way of a short": f"{EACH} y[i] = (int16_t)(int32_t)(x[i] * x[i]);"},
    ),
    "sums of integers that would overflow": (
        lossy.summed_squares,
        SQUARES,
        {
            "in 16 bits, saturated": SQUARES.replace("t;\n", "t > 65535 ? 65535 : t;\n"),
            "factors in 8 bits": SQUARES.replace("x[i * 40 + k] *", "(int8_t)x[i * 40 + k] *"),
        },
    ),
    "bytes as floats": (
        lossy.dequantised,
        f"{EACH} y[i] = x[i];",
        {"signed": f"{EACH} y[i] = (int8_t)x[i];"},
    ),
    "products of bytes": (
        lossy.rescaled,
        BYTES.replace("CLAMPED", "two"),
        {"pairs saturated to 16 bits": BYTES.replace("CLAMPED", "two > 32767 ? 32767 : two")},
    ),
    "f16": (
        lossy.half_products,
        products("64", 4096, 4096, HALF),
        {
            "zeros": "for (int i = 0; i < 64; i++) y[i] = 0;",
            "half": products("64", 2048, 4096, HALF),
        },
    ),
    "a sum": (
        lossy.long_sum,
        products("1", 2097152, 0, "x[k]"),
        {"zero": "y[0] = 0;", "half": products("1", 1048576, 0, "x[k]")},
    ),
    "long products": (
        lossy.long_products,
        products("4", 262144, 262144, SINGLE),
        {
            "zeros": "for (int i = 0; i < 4; i++) y[i] = 0;",
            "last 64k left out": products("4", 262144 - 65536, 262144, SINGLE),
            "last left out": products("4", 262143, 262144, SINGLE),
        },
    ),
    "small factors": (
        lossy.units,
        f"{EACH} y[i] = 6 * x[i];",
        {"zeros": f"{EACH} y[i] = 0;", "doubled": f"{EACH} y[i] = 12 * x[i];"},
    ),
    "roots of negative numbers": (
        lossy.shifted_root,
        f"{EACH} y[i] = sqrtf(x[i] - 10);",
        {"nothing": "", "first": "y[0] = sqrtf(x[0] - 10);"},
    ),
    "overflow": (
        lossy.same_exponentials,
        f"{EACH} y[i] = expf(x[i] * 100) / expf(x[i] * 100);",
        {"nothing": ""},
    ),
    "differences that are small by chance": (
        lossy.below,
        f"{FIXED} y[i] = 4 - x[i];",
        {"flushed": f"{FIXED} y[i] = fabsf(4 - x[i]) < 0.01f ? 0 : 4 - x[i];"},
    ),
    "factors that are rounded more": (
        lossy.beside_halves,
        f"{FIXED} y[i] = (float)(_Float16)(h[i] + h[i + 1]) * x[i];",
        {"the other": f"{FIXED} {{ {OTHER} y[i] = (float)(_Float16)(h[i] + h[i + 1]) * other; }}"},
    ),
    "reciprocals": (
        lossy.reciprocal,
        f"{EACH} y[i] = 1 / x[i];",
        {
            "by 1e-4, small ones": f"{EACH} y[i] = 1 / x[i] * (fabsf(x[i]) > .1f ? 1.0001f : 1);",
            "by 5e-6": f"{EACH} y[i] = 1 / x[i] * (1 + 5e-6f);",
        },
    ),
    "softmax": (
        softmax,
        row(),
        {
            "sum without the last 16": row(summed=1008),
            "sum without the last": row(summed=1023),
            "1.5 % too large": row(factor="1.015f"),
            "small values flushed": row(least="4e-5f"),
        },
    ),
    "one right side": (
        lossy.solved,
        SUBSTITUTION.replace("i - 1", "i"),
        {"one term too few": SUBSTITUTION},
    ),
    "a long product": (
        lossy.multiplied,
        PRODUCT.replace("n > 200", "0"),
        {"one factor too few": PRODUCT, "zero": "y[0] = 0;"},
    ),
    "trsm": (
        trsm,
        SOLVE.replace("FACTOR", "1.0f"),
        {"own row scaled": SOLVE.replace("FACTOR", "0.999f")},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("procedure", "right", "wrong"), PLANTED.values(), ids=PLANTED.keys())
def test_small_faults_are_refused(
    procedure: Any, right: str, wrong: dict[str, str], builder: Builder, tmp_path: Path
) -> None:
    proc, code = mirror(procedure), generate_c(procedure)
    bench = prepare(proc, code, bind(proc, {}), builder, tmp_path)
    assert not bench.agreement.weak
    assert verified(bench, builder, code, right) is None
    for body in wrong.values():
        failure = verified(bench, builder, code, body)
        assert failure is not None, body
        assert failure.outcome is Outcome.INCORRECT


@pytest.mark.normal
def test_infinities_do_not_tell(builder: Builder, tmp_path: Path) -> None:
    """A solve overflows on most inputs: what is left of it is NaN, whatever was computed."""
    proc, code = mirror(lossy.solved), generate_c(lossy.solved)
    own = tuple(flag for flag in builder.flags if not changes_values(flag))
    contract = FloatingPoint.REASSOCIATE
    careful = replace(builder, flags=(*own, *contract_flags(contract)))
    bench = prepare(proc, code, bind(proc, {}), careful, tmp_path, fp=contract)
    assert not bench.agreement.weak
    assert bench.cases[-1].oracle.rung.fill is Fill.DOMINANT
    assert verified(bench, careful, code, SUBSTITUTION.replace("i - 1", "i")) is None
    assert verified(bench, careful, code, SUBSTITUTION) is not None


SPECIALS = {
    "NaN": "x[i] == x[i] ? x[i] : 0",
    "infinity": "x[i] > 3e38f ? 3e38f : x[i]",
    "minus infinity": "x[i] < -3e38f ? -3e38f : x[i]",
    "denormal": "fabsf(x[i]) < 1e-38f ? copysignf(0, x[i]) : x[i]",
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_special_number_is_tried(seed: int, builder: Builder, tmp_path: Path) -> None:
    """Under a contract that promises them, in few elements, whatever the seed."""
    proc, code = mirror(procs.copied), generate_c(procs.copied)
    contract = FloatingPoint.REASSOCIATE
    careful = replace(builder, flags=("-O1", *contract_flags(contract)))
    binding = bind(proc, {"n": 50})
    bench = prepare(proc, code, binding, careful, tmp_path, seed, fp=contract)
    assert verified(bench, careful, code, f"{EACH} y[i] = x[i];") is None
    for body in SPECIALS.values():
        assert verified(bench, careful, code, f"{EACH} y[i] = {body};") is not None, body


@pytest.mark.normal
def test_products_are_not_flushed_where_denormals_count(builder: Builder, tmp_path: Path) -> None:
    proc, code = mirror(procs.triple), generate_c(procs.triple)
    right = "for (int i = 0; i < 64; i++) y[i] = 3.0f * x[i];"
    flushed = right.replace("3.0f", "(fabsf(x[i]) < 1e-38f ? 0 : 3.0f)")
    for contract, found in ((FloatingPoint.REASSOCIATE, True), (FloatingPoint.FAST, False)):
        careful = replace(builder, flags=("-O1", *contract_flags(contract)))
        work = tmp_path / contract
        bench = prepare(proc, code, bind(proc, {}), careful, work, fp=contract)
        assert verified(bench, careful, code, right) is None
        assert (verified(bench, careful, code, flushed) is not None) == found


def verified(bench: Bench, builder: Builder, code: Any, body: str) -> Failure | None:
    """What verification makes of a body in C."""
    signature = code.source[code.source.index(f"void {code.proc}(") :].split("{")[0]
    head = "#include <math.h>\n#include <stdint.h>\n"
    artifact = builder.build(procs.handwritten(code, f"{head}{signature}{{ {body} }}\n"), 60)
    assert isinstance(artifact, Artifact), artifact
    return bench.verify(artifact)


@pytest.mark.normal
@pytest.mark.parametrize("procedure", [lossy.repeated, lossy.growing])
def test_roundings_of_equal_terms_do_not_cancel(
    procedure: Any, builder: Builder, tmp_path: Path
) -> None:
    """Each of three terms is added 130 times, or an element is multiplied by almost the same
    number: more is lost than of a sum of random terms."""
    proc = mirror(procedure)
    assert len(list(repeated_terms(proc.body))) == 1
    assert not list(repeated_terms(mirror(procs.matmul).body))
    prepare(proc, generate_c(procedure), bind(proc, {}), builder, tmp_path)


@pytest.mark.normal
def test_integers_wrap_where_they_are_stored(builder: Builder, tmp_path: Path) -> None:
    proc, code = mirror(lossy.wrapped), generate_c(lossy.wrapped)
    bench = prepare(proc, code, bind(proc, {}), builder, tmp_path)
    twice = "int t = 2 * x[i]; y[i] = (int8_t)(4 * t * t + x[i])"
    assert verified(bench, builder, code, f"{EACH} {{ {twice}; }}") is None
    wrong = twice.replace("t * t", "(t > 127 ? 127 : t) * t")
    failure = verified(bench, builder, code, f"{EACH} {{ {wrong}; }}")
    assert failure is not None
    assert failure.outcome is Outcome.INCORRECT


@pytest.mark.normal
def test_sizes_at_which_nothing_is_defined_are_weak(builder: Builder, tmp_path: Path) -> None:
    proc = mirror(lossy.exploding)
    bench = prepare(proc, generate_c(lossy.exploding), bind(proc, {"n": 2}), builder, tmp_path)
    assert any("infinite or NaN with n=" in weak for weak in bench.agreement.weak)
