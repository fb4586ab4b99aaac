"""Random schedules under the strict contract, and that the comparison finds what breaks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fuzz.campaign import targets, walks
from fuzz.examine import Finding
from fuzz.procedures import Generated, drawn, procedures
from fuzz.strictly import findings
from schedsearch.core.floats import FloatingPoint
from schedsearch.evaluate.host import cpu_identity

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


@pytest.mark.parametrize("fp", FloatingPoint)
def test_sums_stay_in_order_if_that_is_asked_for(fp: FloatingPoint, tmp_path: Path) -> None:
    drawn = Generated(SUMS, ({"n": 1}, {"n": 21}))
    steps = [[choice] for choice in range(40)]
    found = [*findings(drawn, steps, replace(MACHINE, fp=fp), tmp_path)]
    assert len(found) > 5
    different = any(isinstance(each, Finding) for each in found)
    assert different == (fp is not FloatingPoint.STRICT)


def test_random_schedules_are_bit_for_bit_what_is_written(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    compared = []
    for each, chosen in drawn(17, 6, procedures(), walks):
        compared.extend(findings(each, chosen, MACHINE, tmp_path_factory.mktemp("strictly")))
    assert [f"{found}" for found in compared if isinstance(found, Finding)] == []
    assert compared
