"""Processes of a real run are killed: of each kind that it goes on without, and Ray's raylet."""

from __future__ import annotations

import random

import pytest

from faults.disturbance import ordeal, undisturbed

pytestmark = pytest.mark.slow


def test_a_run_survives_its_workers_and_its_store_survives_the_run() -> None:
    rng = random.Random(0)
    kinds = ["worker", "compiler", "child", "raylet"]
    with ordeal() as disturbed:
        assert disturbed.run("ray", kinds, rng) == []
        assert not disturbed.best
        disturbed.run("inline", [], rng)
        assert disturbed.kills.total() == len(kinds)
        assert disturbed.outcome() == undisturbed()
