"""What the store has that is faster than its roofline is marked wherever it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedsearch.core.records import Measurement, Outcome, Round, TuningRecord, Workload
from schedsearch.core.trace import Trace
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.search.setup.targets import TargetRequest, resolve_target
from schedsearch.store import Store

from .invoke import invoke

pytestmark = pytest.mark.normal

LEAST_S = 1e-6
ROOF = Roof(0.0, LEAST_S, peak=0.0, kind="", bandwidth=40.0, level="memory")


@pytest.mark.parametrize("excess", [1.0, 1.2])
def test_what_is_above_its_roof_is_marked(tmp_path: Path, excess: float) -> None:
    timed = Measurement("confirm", (Round((1e9 * LEAST_S / excess,), (1e9 * LEAST_S,)),), calls=1)
    with Store.open(tmp_path / "schedsearch.sqlite") as store:
        workload = Workload("copy", "prockey", (), "copy.py", "5ha")
        scope = store.register(workload, resolve_target(TargetRequest({})), "")
        run = store.start_run(scope, seed=0, strategy="beam", settings={}, environment={})
        store.add_root(scope, run, TuningRecord(Trace(), Outcome.CORRECT, measurement=timed))
        store.finish_run(run, "finished", {"roof": ROOF.to_json()})
    above = excess > 1.05
    ((row,), listed, shown) = (
        json.loads(invoke(tmp_path, ["best", "--json"]).out),
        invoke(tmp_path, ["best"]).out,
        invoke(tmp_path, ["show", "1"]).out,
    )
    assert row["of_roof"]["exceeded"] is above
    assert ("(!)" in listed) is above
    assert ("above what the machine can do" in shown) is above
    assert f"{excess:.0%}".replace("%", " % of its roofline (memory bandwidth") in shown
