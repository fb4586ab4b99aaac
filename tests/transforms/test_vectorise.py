"""Vectorised loops compute what the plain loops mean, for every length and tail."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Rewrite
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select
from transforms import native
from transforms.differing import differing
from transforms.helpers import TARGET, Procedures, arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library, emulated

PROCEDURES = Procedures("elementwise")
(VECTORISE,) = select(["vectorise"])
WIDE = replace(TARGET, vector_bits=512)
CROSS, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"
SIZES = [1, 3, 4, 5, 17, 53, 140, 259]


FLAGS = {
    "baseline": ["-O2"],
    "avx2": ["-O3", "-mavx2", "-mfma", "-ffast-math"],
    "avx512": ["-O3", "-march=x86-64-v4", "-ffast-math"],
}
"""Options of gcc by register width."""


NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))
FORMS = [(name, TARGET) for name in NAMES]
FORMS += [(name, WIDE) for name in ("functions", "short", "solve_triangle", "widened")]


@pytest.mark.normal
@pytest.mark.parametrize(("name", "target"), FORMS)
def test_every_form_keeps_the_meaning(name: str, target: Target, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    rewrites = list(VECTORISE.rewrites(meaning, target))
    assert rewrites
    vectorised = [apply(original, meaning, rewrite) for rewrite in rewrites]
    for procedure in vectorised:
        assert any(isinstance(stmt, q.Call) for stmt in q.walk(mirror(procedure).body))
    codes = [generate_c(procedure) for procedure in vectorised]
    assert not differing(meaning, codes, ["-O1"], tmp_path, [{"n": n} for n in SIZES], 1e-5)


@pytest.mark.normal
def test_loops_begin_anywhere_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the first aligned register, from every element of a line on; in short loops also."""
    names = [name for name in NAMES if any("aligned" in dict(r.args) for r in _wide(name))][:8]
    originals = [PROCEDURES[name] for name in names]
    rewrites = [next(r for r in _wide(name) if "aligned" in dict(r.args)) for name in names]
    pairs = zip(originals, rewrites, strict=True)
    codes = [generate_c(apply(each, mirror(each), rewrite)) for each, rewrite in pairs]
    assert len(codes) > 4
    library = Library(codes, tmp_path)
    for padding in range(61, 61 + 16):
        monkeypatch.setattr(native, "PADDING", padding)
        for number, original in enumerate(originals):
            for n in (1, 37, 256, 275):
                found, wanted = (arguments(mirror(original), {"n": n}, 5) for _ in range(2))
                library.call(number, mirror(original), found)
                interpret(mirror(original), wanted)
                assert all(map(np.allclose, found, wanted)), (names[number], n, padding)


def _wide(name: str) -> list[Rewrite]:
    return list(VECTORISE.rewrites(mirror(PROCEDURES[name]), WIDE))


@pytest.mark.parametrize("name", sorted(n for n in PROCEDURES if n.startswith("no_")))
def test_refuses_what_has_no_vector_form(name: str) -> None:
    assert not list(VECTORISE.rewrites(mirror(PROCEDURES[name]), TARGET))


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["x[i]", "x[i + 2]", "y[i]", "s", "c[1]", "c[2]", "2.0", "3.0"])
    left, right = expression(rng, depth - 1), expression(rng, rng.randrange(depth))
    forms = ["({0} + {1})", "({0} - {1})", "({0} * {1})", "(-{0})", "fmaxf({0}, {1})", "relu({0})"]
    return rng.choice(forms).format(left, right)


@pytest.fixture(scope="module")
def random_loops(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[q.Proc, GeneratedC]]:
    """Loops of random expressions: what they mean, and their vectorised C with masked tails."""
    rng = random.Random(7)
    text = ["from __future__ import annotations", "from exo import proc"]
    text += ["from exo.libs.externs import fmaxf, relu"]
    for number in range(14):
        kind = rng.choice(["f32", "f64"])
        text += ["@proc", f"def f{number}(n: size, y: {kind}[n], z: {kind}[n], x: {kind}[n + 2], "]
        text += [f"    s: {kind}, c: {kind}[3]):", "    for i in seq(0, n):", f"        t: {kind}"]
        text += [f"        t = {expression(rng, 3)}", f"        y[i] += {expression(rng, 2)}"]
        text += [f"        z[i] {rng.choice(['=', '+='])} t * {expression(rng, 1)}", ""]
    path = tmp_path_factory.mktemp("random") / "loops.py"
    path.write_text("\n".join(text))
    out = []
    for procedure in load_source(path).procs.values():
        meaning = mirror(procedure)
        rewrites = [r for r in VECTORISE.rewrites(meaning, WIDE) if r.arg("tail") == "masked"]
        out.append((meaning, generate_c(apply(procedure, meaning, rng.choice(rewrites)))))
    return out


SHORT_AND_LONG = (1, 16, 39)


def expected(meaning: q.Proc, n: int) -> list[np.ndarray]:
    wanted = arguments(meaning, {"n": n}, 5)
    interpret(meaning, wanted)
    return wanted


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("flags", FLAGS)
def test_random_expressions_on_every_register_width(
    flags: str, compiler: str, random_loops: list[tuple[q.Proc, GeneratedC]], tmp_path: Path
) -> None:
    if not runs_here(FLAGS[flags]):
        pytest.skip(f"this processor does not run {flags} code")
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    codes = [code for _, code in random_loops]
    library = Library(codes, tmp_path, FLAGS[flags], compiler)
    for number, (meaning, _) in enumerate(random_loops):
        for n in SHORT_AND_LONG:
            found = arguments(meaning, {"n": n}, 5)
            library.call(number, meaning, found)
            for a, b in zip(found, expected(meaning, n), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.normal
def test_random_expressions_on_neon(
    random_loops: list[tuple[q.Proc, GeneratedC]], tmp_path: Path
) -> None:
    for tool in (CROSS, QEMU):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    codes, calls, wanted = [code for _, code in random_loops], [], []
    for number, (meaning, _) in enumerate(random_loops):
        for n in SHORT_AND_LONG:
            calls.append((number, arguments(meaning, {"n": n}, 5)))
            wanted.append(expected(meaning, n))
    emulated(codes, calls, tmp_path, [CROSS, "-static", "-O2", "-ffast-math"], [QEMU])
    for (_, found), right in zip(calls, wanted, strict=True):
        for a, b in zip(found, right, strict=True):
            np.testing.assert_array_equal(a, b)
