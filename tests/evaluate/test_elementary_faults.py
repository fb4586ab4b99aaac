"""Kernels with our exponentials and the like pass verification, and wrong ones are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transforms.helpers import TARGET

from schedsearch.core.records import Artifact, GeneratedC, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, select

from .procs import handwritten
from .test_function_faults import procedure

pytestmark = pytest.mark.normal

# By function: what is in its C, and what is there instead.
FAULTS = {
    "exp": (
        ("0.16666", "0.16676"),
        ("per * 0x1.62e4p-1f", "per * 0x1.62e5p-1f"),
        ("VEC_KEEP(q);", "q = __builtin_shufflevector(q, q, 0, 2, 1, 3);"),
    ),
    "tanh": (("| ((naturals)a & 0x80000000u)", ""), ("less - q * s", "less + q * s")),
    "erf": (("0.12837917", "0.12838917"), ("u = x - 1.0f", "u = x - 1.0001f")),
    "expm1": (("0.16666", "0.16676"), ("- 1.0f;", "- 1.00001f;")),
    "log1p": (("0.66666776", "0.66676776"), ("f * s - 1.0f", "f * s - 1.00001f")),
    "log": (("0.66666776", "0.66676776"), ("- 127)", "- 126)")),
    "sigmoid_": (("(bits)a < 0", "(bits)a > 0"), ("1.0f + e)", "1.00001f + e)")),
}


def vectorised(name: str, kind: str, folder: Path) -> tuple[Any, GeneratedC]:
    proc = procedure(name, kind, folder)
    ast = mirror(proc)
    found = next(select(["vectorise"])[0].rewrites(ast, TARGET))
    return proc, generate_c(apply(proc, ast, found))


def admitted(bench: Bench, builder: Builder, code: GeneratedC) -> bool:
    artifact = builder.build(code, 60)
    assert isinstance(artifact, Artifact), artifact
    failure = bench.verify(artifact)
    assert failure is None or failure.outcome is Outcome.INCORRECT, failure
    return failure is None


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", FAULTS)
def test_ours_are_admitted_and_wrong_ones_refused(
    name: str, kind: str, builder: Builder, tmp_path: Path
) -> None:
    fast = replace(builder, flags=default_flags())
    proc, code = vectorised(name, kind, tmp_path)
    bench = prepare(
        mirror(proc), generate_c(proc), bind(mirror(proc), {"n": 3000}), fast, tmp_path / "work"
    )
    assert not bench.agreement.weak
    assert "__FAST_MATH__" in code.source
    assert admitted(bench, fast, code)
    for right, wrong in FAULTS[name] if kind == "f32" else ():
        text = code.source.replace(right, wrong)
        assert text != code.source
        assert not admitted(bench, fast, handwritten(code, text)), wrong
