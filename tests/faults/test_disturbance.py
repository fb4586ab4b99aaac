"""Workers, the measuring process, Ray's head and the driver of a real run are killed."""

from __future__ import annotations

import random
from pathlib import Path

from faults.disturbance import Ordeal


def test_a_run_survives_its_workers_and_its_store_survives_the_run(tmp_path: Path) -> None:
    rng = random.Random(0)
    ordeal, peaceful = Ordeal(tmp_path / "disturbed"), Ordeal(tmp_path / "peaceful")
    assert ordeal.run("ray", ["worker", "child", "raylet"], rng) == []
    assert not ordeal.best
    ordeal.run("inline", [], rng)
    peaceful.run("inline", [], rng)
    assert sum(ordeal.kills.values()) == 3
    assert ordeal.best == peaceful.best
    assert ordeal.found() == peaceful.found()
