"""What `export` writes besides Exo Python and C: JSON that rebuilds the kernel."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from search.worlds import measurement

from schedsearch.core.records import Artifact, Outcome, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.engine import plans
from schedsearch.store.database import Store
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.replay import Replayer

from .invoke import MATMUL, SMALL, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]


def test_json_is_enough_to_build_the_kernel_again(tuned: Path, run: Run) -> None:
    answer = run("export", "--format", "json", "--out", "kept")
    assert answer.code == 0, answer.err
    assert [path.name for path in (tuned / "kept").iterdir()] == ["matmul32.schedule.json"]
    data = json.loads((tuned / "kept" / "matmul32.schedule.json").read_text())
    assert str(tuned) not in json.dumps(data)
    (tuned / "again.py").write_text(data["source"]["text"])
    procedure = load_source(tuned / "again.py").procs[data["proc"]]
    trace = Trace.loads(json.dumps(data["trace"]))
    assert trace.key == data["keys"]["trace"]
    code = generate_c(Replayer(procedure).state(trace).procedure, trace.build)
    assert code.key == data["keys"]["code"]
    assert code.source == data["c"]["source"]


def test_formats_that_there_are_not(tuned: Path, run: Run) -> None:
    answer = run("export", "--format", "py,pdf")
    assert answer.code == 2
    assert "py, c, json" in answer.err


@pytest.mark.parametrize("name", ["matmul32.c", "matmul32.h"])
def test_files_of_somebody_else_are_never_replaced(name: str, tuned: Path, run: Run) -> None:
    """As where the kernel was written in C."""
    (tuned / "kept").mkdir()
    (tuned / "kept" / name).write_text('#include "matmul32.h"\nmine')
    for _ in range(2):  # what is ours is replaced
        answer = run("export", "--format", "c", "--out", "kept")
        assert answer.code == 0, answer.err
    kept = {path.name: path.read_text() for path in (tuned / "kept").iterdir()}
    assert kept.pop(name).endswith("mine")
    assert kept.keys() == {"matmul32.scheduled.c", "matmul32.scheduled.h"}
    assert '#include "matmul32.scheduled.h"' in kept["matmul32.scheduled.c"]
    assert "-c matmul32.scheduled.c" in kept["matmul32.scheduled.h"]


def test_a_shorter_schedule_is_written_and_kept(tuned: Path, run: Run) -> None:
    """The best one, after two swaps that undo each other."""
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        best = store.best(scope, 1)[0]
        (swap,) = [
            c.record.trace.steps[0]
            for c in store.walk(scope)
            if len(c.record.trace) == 1
            and c.record.trace.steps[0].path == (0,)
            and c.record.trace.steps[0].transform == "reorder"
        ]
        back = replace(swap, label="for j in seq(0, 32)")
        steps = (swap, back, *best.record.trace.steps)
        longer = [Trace(steps[:n]) for n in range(1, len(steps) + 1)]
        store.add_replay(scope, best.run_id, [TuningRecord(each, None) for each in longer], {})
        found = TuningRecord(longer[-1], Outcome.CORRECT, measurement=best.record.measurement)
        store.record(scope, best.run_id, found)
        (own,) = [c.id for c in store.walk(scope) if c.record.trace == longer[-1]]
    answer = run("export", own, "--minimal", "--budget", "20", "--out", "kept")
    assert answer.code == 0, answer.err
    assert f"of {len(steps)} rewrites give the same C" in answer.err
    assert re.search(rf"^candidate \d+: \d of {len(steps)} rewrites, ", answer.err, re.MULTILINE)
    text = (tuned / "kept" / "matmul32.schedule.py").read_text()
    assert text.count("reorder_loops(p, ") < 1 + len(steps)


def test_a_run_that_gained_nothing_writes_nothing(
    run: Run, tmp_path: Path, hurried: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        return Evaluation(measurement(1.001, plan, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    monkeypatch.setattr(plans, "CONFIRM", replace(plans.CONFIRM, min_rounds=10, max_rounds=10))
    shutil.copy(MATMUL, "mm.py")
    answer = run("run", "mm.py", *SMALL)
    assert answer.code == 0, answer.err
    assert "No schedule faster than matmul32 as written was found." in answer.out
    assert "No files are written, as no schedule is faster for certain." in answer.out
    assert not Path("matmul32.schedule.py").exists()
    assert not Path("matmul32.c").exists()
    assert run("export", "1").code == 0
    python = Path("matmul32.schedule.py").read_text()
    assert "as written, without rewrites" in python
    assert "reorder" not in python
    code = Path("matmul32.c").read_text()
    procedure = load_source(MATMUL).procs["matmul32"]
    assert generate_c(procedure).source.partition("{\n")[2].strip() in code
