# ruff: noqa: F821
"""Faults that an instruction for a minimum or maximum might have: verification finds them under
the contracts that rule them out, and takes any order under those that allow it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from exo import proc
from exo.libs.externs import select

from schedsearch.core.floats import FloatingPoint, contract_flags
from schedsearch.core.records import Artifact, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from .procs import handwritten

pytestmark = pytest.mark.normal

STRICT, REASSOCIATE, FAST = FloatingPoint


@proc
def tops(n: size, y: f32[5], a: f32[5, n]):
    for i in seq(0, 5):
        for j in seq(0, n):
            y[i] = select(y[i], a[i, j], a[i, j], y[i])


CHAINS = """
for (int i = 0; i < 5; i++) {
    float m[4] = {BEGIN, BEGIN, BEGIN, BEGIN};
    for (int j = 0; j < END; j++) { const float b = a[i * n + j], c = m[j % 4]; m[j % 4] = TAKE; }
    for (int k = 1; k < 4; k++) { const float b = m[k], c = m[0]; m[0] = TAKE; }
    y[i] = m[0];
}"""


def chains(take: str = "c < b ? b : c", begin: str = "y[i]", end: str = "n") -> str:
    return CHAINS.replace("TAKE", take).replace("BEGIN", begin).replace("END", end)


def refused(body: str, fp: FloatingPoint, builder: Builder, folder: Path) -> bool:
    careful = replace(builder, flags=("-O2", *contract_flags(fp)))
    code, meaning = generate_c(tops), mirror(tops)
    bench = prepare(meaning, code, bind(meaning, {"n": 700}), careful, folder / "work", fp=fp)
    head = "#include <stdint.h>\nvoid tops(void *ctxt, int_fast32_t n, float *y, const float *a)"
    artifact = careful.build(handwritten(code, f"{head} {{ {body} }}\n"), 60)
    assert isinstance(artifact, Artifact), artifact
    failure = bench.verify(artifact)
    assert failure is None or failure.outcome is Outcome.INCORRECT
    return failure is not None


@pytest.mark.parametrize("fp", [REASSOCIATE, FAST])
def test_chains_may_be_joined_in_any_order(
    fp: FloatingPoint, builder: Builder, tmp_path: Path
) -> None:
    assert not refused(chains(), fp, builder, tmp_path)


@pytest.mark.parametrize("fp", FloatingPoint)
@pytest.mark.parametrize(
    "fault",
    [
        chains("c > b ? b : c"),  # the comparison turned
        chains("c < b ? c : b"),  # the other one chosen
        chains(begin="0.f"),
        chains(begin="-8.f"),
        chains(end="n - 1"),
        chains(end="n / 4 * 4"),
        chains(end="(n > 64 ? n - n % 16 : n)"),  # few outputs: chance rarely puts extremes there
        chains(end="(n > 64 ? n - 1 : n)"),
    ],
)
def test_wrong_ones_are_found(
    fault: str, fp: FloatingPoint, builder: Builder, tmp_path: Path
) -> None:
    assert refused(fault, fp, builder, tmp_path)


@pytest.mark.parametrize("fp", [STRICT, REASSOCIATE])
@pytest.mark.parametrize("take", ["b < c ? c : b", "c >= b ? c : b", "c < b || c != c ? b : c"])
def test_operands_in_the_wrong_order_are_found_by_nan(
    take: str, fp: FloatingPoint, builder: Builder, tmp_path: Path
) -> None:
    """Of numbers alone all are right."""
    assert refused(chains(take), fp, builder, tmp_path / "contract")
    assert not refused(chains(take), FAST, builder, tmp_path / "fast")
