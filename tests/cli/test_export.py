"""What `export` writes besides Exo Python and C: JSON that rebuilds the kernel, and T4."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from search.worlds import measurement

from schedsearch.core.records import Artifact, Outcome, TuningRecord
from schedsearch.core.trace import Trace
from schedsearch.evaluate.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.timing import TimingPlan
from schedsearch.search import plans
from schedsearch.store.database import Store
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.loader import load_source
from schedsearch.transforms.replay import Replayer

from .invoke import MATMUL, SMALL, Answer

pytestmark = [pytest.mark.normal, pytest.mark.usefixtures("hurried")]

Run = Callable[..., Answer]


def numbers(*names: str) -> dict[str, Any]:
    return {name: {"type": "number", "minimum": 0} for name in names}


# The properties of T4 results as AutoTuningAssociation/autotuning_methodology has them in
# schemas/T4.json (version 1.1.0), all of ours required and no others allowed.
RESULT = {
    "type": "object",
    "properties": {
        "timestamp": {"type": "string"},
        "configuration": {"type": "object", "minProperties": 1},
        "objectives": {"const": ["time"]},
        "times": {
            "type": "object",
            "properties": {
                **numbers("compilation_time", "framework", "validation", "benchmark"),
                "runtimes": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}},
            },
            "additionalProperties": False,
        },
        "invalidity": {
            "enum": ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]
        },
        "correctness": {"enum": [0, 1]},
        "measurements": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": ["number", "string", "array"]},
                    "unit": {"type": "string"},
                },
                "required": ["name", "value", "unit"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["configuration", "objectives", "times", "invalidity", "correctness"],
    "additionalProperties": False,
}
T4 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "schema_version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
        "metadata": {
            "type": "object",
            "properties": {
                **{
                    name: {"type": "string", "minLength": 1}
                    for name in ("platform", "device", "autotuner", "autotuner_version")
                },
                "timestamp": {"type": "string"},
                "timeunit": {"enum": ["nanoseconds", "microseconds", "milliseconds", "seconds"]},
            },
            "additionalProperties": False,
        },
        "results": {"type": "array", "items": RESULT},
    },
    "required": ["schema_version", "metadata", "results"],
    "additionalProperties": False,
}


def t4(run: Run, home: Path) -> dict[str, Any]:
    answer = run("export", "--t4", "results.json")
    assert answer.code == 0, answer.err
    assert answer.out == "results.json\n"
    found: dict[str, Any] = json.loads((home / "results.json").read_text())
    jsonschema.validate(found, T4)
    return found


def test_every_measured_candidate_is_a_t4_result(tuned: Path, run: Run) -> None:
    results = t4(run, tuned)["results"]
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        measured = {c.record.trace: c for c in store.walk(scope) if c.measurements}
        order = [timed.candidate_id for timed in store.timeline(scope)]
    by_trace = {Trace.loads(each["configuration"]["trace"]): each for each in results}
    assert by_trace.keys() >= measured.keys()
    assert len(by_trace) == len(results)
    for trace, candidate in measured.items():
        measurement = candidate.record.measurement
        assert measurement is not None
        values = {each["name"]: each["value"] for each in by_trace[trace]["measurements"]}
        assert values["time"] == pytest.approx(measurement.candidate_ns * 1e-6)
        assert values["speedup"] == pytest.approx(measurement.speedup.value)
        assert min(by_trace[trace]["times"]["runtimes"]) <= values["time"]
        assert by_trace[trace]["invalidity"] == "correct"
    ids = [measured[trace].id for trace in by_trace if trace in measured]
    assert ids == list(dict.fromkeys(order))


def test_a_wrong_candidate_has_no_time_in_t4(tuned: Path, run: Run) -> None:
    with Store.open(tuned / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        best = store.best(scope, 1)[0]
        wrong = TuningRecord(best.record.trace, Outcome.INCORRECT, message="found later")
        store.record(scope, best.run_id, wrong)
    for each in t4(run, tuned)["results"]:
        if Trace.loads(each["configuration"]["trace"]) == best.record.trace:
            assert (each["invalidity"], each["correctness"]) == ("correctness", 0)
            (time,) = each["measurements"]
            assert time["value"] == "RuntimeFailedConfig"
            break
    else:
        pytest.fail("it is missing")


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


def test_t4_where_it_cannot_be_written(tuned: Path, run: Run) -> None:
    answer = run("export", "--t4", tuned / "missing" / "t4.json")
    assert answer.code == 2
    assert "No such file" in answer.err


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


def test_a_run_that_gained_nothing_writes_the_procedure(
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
    assert "written, as written, without rewrites:\n  matmul32.schedule.py" in answer.out
    python = Path("matmul32.schedule.py").read_text()
    assert "as written, without rewrites" in python
    assert "reorder" not in python
    code = Path("matmul32.c").read_text()
    procedure = load_source(MATMUL).procs["matmul32"]
    assert generate_c(procedure).source.partition("{\n")[2].strip() in code
