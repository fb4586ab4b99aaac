"""Random schedules under the stricter contracts, and that the comparison finds what breaks them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.campaign import targets, walks
from fuzz.contracts import drawn_walks, findings, single_rewrites
from fuzz.examine import Finding
from fuzz.procedures import Generated, drawn, procedures
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.host import cpu_identity

pytestmark = pytest.mark.slow

MACHINE = replace(targets(cpu_identity()[1])[-2], fp=FloatingPoint.STRICT)
SUMS = """
from __future__ import annotations
from exo import proc
@proc
def fuzzed(n: size, x: f32[n], y: f32[n, n], z: f32[n, 3]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, 3):
                x[i] += y[i, j] * z[j, k]
    for j in seq(0, n):
        x[0] += z[j, 1]
"""

ORDERS, OTHERS = ("reorder", "vectorise_reduction"), ("cut_loop", "fission", "split", "unroll")
"""Transforms that change the order of these sums, and those that do not."""


@pytest.mark.parametrize("fp", FloatingPoint)
def test_sums_stay_in_order_if_that_is_asked_for(fp: FloatingPoint, tmp_path: Path) -> None:
    found = sums(fp, FloatingPoint.STRICT, tmp_path)
    assert len(found) > 5
    different = any(isinstance(each, Finding) for each in found)
    assert different == (fp is not FloatingPoint.STRICT)


def test_sums_in_another_order_are_right_where_that_is_allowed(tmp_path: Path) -> None:
    found = sums(FloatingPoint.REASSOCIATE, FloatingPoint.REASSOCIATE, tmp_path)
    assert len(found) > 5
    assert not any(isinstance(each, Finding) for each in found)


def sums(searched: FloatingPoint, held: FloatingPoint, folder: Path) -> list[Finding | Trace]:
    """Schedules that one contract allows, compared under another."""
    machine = replace(MACHINE, fp=searched)
    schedules = single_rewrites([*ORDERS, *OTHERS], machine)
    return [*findings(Generated(SUMS, ({"n": 1}, {"n": 21})), schedules, folder, held)]


@pytest.mark.parametrize("fp", [FloatingPoint.STRICT, FloatingPoint.REASSOCIATE])
def test_random_schedules_are_what_is_written(
    fp: FloatingPoint, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compared = []
    for each, chosen in drawn(17, 6, procedures(), walks):
        schedules = drawn_walks(each, chosen, replace(MACHINE, fp=fp))
        folder = tmp_path_factory.mktemp("contracts")
        compared.extend(findings(each, schedules, folder, fp))
    assert [f"{found}" for found in compared if isinstance(found, Finding)] == []
    assert compared
