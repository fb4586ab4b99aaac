"""Our exponentials and the like are as near to the true values as it says, everywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused import coefficients
from schedsearch.transforms.vector.fused.elementary import elementary
from schedsearch.transforms.vector.fused.powers import power
from transforms.accuracy import most_off
from transforms.helpers import runs_here

VALUES = {
    "exp": ("exp(a)", "expl(a)", 2.0),
    "expm1": ("expm1(a)", "expm1l(a)", 2.0),
    "log": ("log(a)", "logl(a)", 1.0),
    "log1p": ("log1p(a)", "log1pl(a)", 1.5),
    "tanh": ("tanh(a)", "tanhl(a)", 3.5),
    "erf": ("erf(a)", "erfl(a)", 1.5),
    "sigmoid_": ("1 / (1 + exp(-a))", "1 / (1 + expl(-a))", 3.5),
}
"""In twice the precision of f32 and f64, and the units of the last place that we promise."""

TARGETS = [
    ("gcc", "-march=x86-64-v4", 16),
    ("clang", "-march=x86-64-v4", 16),
    ("gcc", "-march=x86-64-v4", 4),
    ("gcc", "-mavx2 -mfma", 8),
    ("clang", "-mavx2 -mfma", 8),
    ("gcc", "-msse2", 4),
]
"""Compiler, options, lanes of f32."""

CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def off(
    name: str,
    kind: str,
    lanes: int,
    effort: int,
    folder: Path,
    command: list[str],
    text: tuple[str, str] | None = None,
    run_with: tuple[str, ...] = (),
) -> float:
    snippet = text or elementary(name, kind, lanes)
    assert snippet
    value = VALUES[name][kind == "f64"]
    return most_off(snippet, value, kind, lanes, effort, folder, command, run_with)


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("compiler", "options", "lanes"), TARGETS)
@pytest.mark.parametrize("name", VALUES)
def test_within_its_bound(
    name: str, compiler: str, options: str, lanes: int, kind: str, tmp_path: Path
) -> None:
    """Of one number in some thousand, NaN, infinities, denormal numbers, both zeros."""
    flags = options.split()
    if not shutil.which(compiler) or not runs_here(flags):
        pytest.skip(f"needs {compiler} and a processor of {options}")
    lanes, effort = (lanes, 4099) if kind == "f32" else (lanes // 2, 60)
    assert off(name, kind, lanes, effort, tmp_path, [compiler, *flags]) <= VALUES[name][2]


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_of_every_f32(name: str, tmp_path: Path) -> None:
    flags = ["-march=x86-64-v4"] if runs_here(["-march=x86-64-v4"]) else ["-msse2"]
    lanes = 16 if flags[0] == "-march=x86-64-v4" else 4
    assert off(name, "f32", lanes, 1, tmp_path, ["gcc", *flags]) <= VALUES[name][2]


@pytest.mark.normal
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_of_neon(kind: str, tmp_path: Path) -> None:
    """In emulation; C's long double is computed by software there."""
    if not shutil.which(CROSS) or not shutil.which(QEMU):
        pytest.skip(f"needs {CROSS} and {QEMU}")
    lanes, effort = (4, 65537) if kind == "f32" else (2, 4)
    for name, (*_, most) in VALUES.items():
        command, folder = [CROSS], tmp_path / name
        folder.mkdir()
        assert off(name, kind, lanes, effort, folder, command, run_with=(QEMU,)) <= most, name


FAULTS = {
    "a coefficient wrong in its fourth digit": ("exp", "0.16666", "0.16676"),
    "a step of the exponent too much": ("exp", "per * 0x1.62e4p-1f", "per * 0x1.62e5p-1f"),
    "the second part of ln 2 left out": ("exp", "r -= m * (per * 0x1.7f7d1cp-20f);", ""),
    "one lane for another": ("exp", "VEC_KEEP(q);", "q[1] = q[2];"),
    "NaN taken for a number": ("exp", "((bits)a & 0x7fffffff) > 0x7f800000", "(bits)a != (bits)a"),
    "no end at large numbers": ("exp", "_max((vec_f32x4){0} - 104.0f, ", "_max(a, "),
    "denormal results lost": ("exp", "- 104.0f", "- 87.0f"),
    "the sign lost": ("tanh", "| ((naturals)a & 0x80000000u)", ""),
    "denormal numbers not made larger": ("log", "(bits)u < 0x00800000", "(bits)u < 0"),
    "what was rounded off forgotten": ("log1p", "f = a * s;", "f = (u - 1.0f) * s;"),
    "1 taken from all of it": (
        "expm1",
        "const bits large = a > 64.0f;",
        "const bits large = a > 0;",
    ),
    "the wrong half": ("sigmoid_", "(bits)a < 0", "(bits)a > 0"),
    "1 not met from below": ("erf", "0.12837917", "0.12838917"),
}


@pytest.mark.normal
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    name, right, wrong = FAULTS[fault]
    found = elementary(name, "f32", 4)
    assert found
    title, text = found
    assert right in text
    wrong_text = title, text.replace(right, wrong)
    assert off(name, "f32", 4, 4099, tmp_path, ["gcc"], wrong_text) > 2 * VALUES[name][2]


def test_of_other_types_and_lengths_c_computes() -> None:
    assert elementary("expf", "f64", 8) is None, "which is that of f32"
    assert elementary("exp", "f32", 2) is None
    assert elementary("exp", "i32", 4) is None
    assert all(elementary(name, "f32", 4) is None for name in ("sqrt_", "max_", "relu", "pow_"))


FIXED = {
    "exponent": "2.2, -0.5, 3, -7, 0, 1e-3, -0x1.f860aep+7, 5e9, INFINITY, -INFINITY, NAN",
    "base": "1.7, 0x1.682992p-1, 1, -1, -2.5, 0, -0.0, 1e-44, INFINITY, -INFINITY, NAN",
}
POWER = """
static {vec} at({vec} a)
{{
    static volatile float given[] = {{{fixed}}};
    static long first;
    {vec} b;
    for (int l = 0; l < {lanes}; l++) b[l] = given[(first + l) % 4096 % 11];
    first += {lanes};
    return {name}({called});
}}
"""


def off_power(
    fixed: str,
    lanes: int,
    folder: Path,
    command: list[str],
    right: str = "",
    wrong: str = "",
    run_with: tuple[str, ...] = (),
    effort: int = 40_009,
) -> float:
    """Of powers with one of eleven exponents or bases, all exponents or bases being the other."""
    found = power("pow_", "f32", lanes)
    assert found
    assert right in found[1]
    called = "a, b" if fixed == "exponent" else "b, a"
    vec = f"vec_f32x{lanes}"
    own = POWER.format(vec=vec, fixed=FIXED[fixed], lanes=lanes, name=found[0], called=called)
    text = found[1].replace(right, wrong) if right else found[1]
    given = f"volatile float given[] = {{{FIXED[fixed]}}}; double b = given[i % 11];"
    value = f"({{{given} powl({called});}})"
    return most_off(("at", text + own), value, "f32", lanes, effort, folder, command, run_with)


@pytest.mark.normal
@pytest.mark.parametrize(
    ("compiler", "options", "lanes"), [t for t in TARGETS if "sse" not in t[1]]
)
@pytest.mark.parametrize("fixed", FIXED)
def test_powers(fixed: str, compiler: str, options: str, lanes: int, tmp_path: Path) -> None:
    flags = options.split()
    if not shutil.which(compiler) or not runs_here(flags):
        pytest.skip(f"needs {compiler} and a processor of {options}")
    assert off_power(fixed, lanes, tmp_path, [compiler, *flags]) <= 8


@pytest.mark.normal
@pytest.mark.parametrize("fixed", FIXED)
def test_powers_of_neon(fixed: str, tmp_path: Path) -> None:
    if not shutil.which(CROSS) or not shutil.which(QEMU):
        pytest.skip(f"needs {CROSS} and {QEMU}")
    assert off_power(fixed, 4, tmp_path, [CROSS], run_with=(QEMU,), effort=4_000_037) <= 8


@pytest.mark.normal
@pytest.mark.parametrize(
    ("fixed", "right", "wrong"),
    [
        ("exponent", "(by == 0) | ", ""),
        ("exponent", "by < 0x4b800000", "by < 0x7f800000"),
        ("exponent", "200.0f", "100.0f"),
        ("exponent", "_fma(b, high, -t) + b * low", "_fma(b, high, -t)"),
        ("exponent", "more = vec_f32x4_fma(b, high, -t)", "more = 0 * t"),
        ("exponent", " - s * less", ""),
        ("exponent", "0.24022", "0.24032"),
        ("base", "0x7fc00000;\n    const vec_f32x4 e", "0;\n    const vec_f32x4 e"),
        ("exponent", "& (odd << 31)", "& 0"),
        ("base", "& ~far", ""),
        ("base", "(far & 0x7f800000 & (none ^ ((bits)b >= 0)))", "0"),
        ("base", "((bits)a == 0x3f800000) | ", ""),
        ("base", " & (by == 0x7f800000))", ")"),
        ("base", "| wrong", ""),
    ],
)
def test_a_fault_planted_in_powers_is_found(
    fixed: str, right: str, wrong: str, tmp_path: Path
) -> None:
    assert off_power(fixed, 4, tmp_path, ["gcc", "-mavx2", "-mfma"], right, wrong) > 9


@pytest.mark.normal
@pytest.mark.parametrize("name", ["expf", "sigmoid", "sigmoid_", "tanh"])
def test_without_fast_math_the_results_are_the_librarys(name: str, tmp_path: Path) -> None:
    """Their difference to C's function of each lane is none."""
    found = elementary(name, "f32", 4)
    assert found
    value = FUNCTIONS[name].c_of("f32", "((float){})")
    assert most_off(found, value, "f32", 4, 65537, tmp_path, ["gcc"], fast=False) == 0


@pytest.mark.normal
@pytest.mark.parametrize("name", ["EXP", "EXP_NEAR", "LOG", "ERF", "ERFC", "LOG2", "EXP2"])
def test_coefficients_are_found_again(name: str) -> None:
    pytest.importorskip("mpmath")
    from transforms.fitting import FITS, fitted

    for kind in FITS[name][2]:
        assert getattr(coefficients, name)[kind] == fitted(name, kind)
