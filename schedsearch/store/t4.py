"""Measured candidates in T4, the results format of the autotuning community.

Kernel Tuner writes it (`store_output_file`), and AutoTuningAssociation's
autotuning_methodology compares strategies from such files and has its JSON schema
(`schemas/T4.json`). One result per configuration that took a compiler's or the measuring
slot's time; a configuration is the trace. All times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedsearch.core.records import Outcome
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate, Timed

SCHEMA_VERSION = "1.1.0"

_INVALIDITY: Mapping[Outcome, tuple[str, str]] = {
    Outcome.CORRECT: ("correct", ""),
    Outcome.INCORRECT: ("correctness", "RuntimeFailedConfig"),
    Outcome.UNVERIFIED: ("constraints", "InvalidConfig"),
    Outcome.CRASH: ("runtime", "RuntimeFailedConfig"),
    Outcome.REFUSED: ("runtime", "RuntimeFailedConfig"),
    Outcome.TIMEOUT: ("timeout", "RuntimeFailedConfig"),
    Outcome.PRUNED: ("timeout", "RuntimeFailedConfig"),
    Outcome.CODEGEN_ERROR: ("compile", "CompilationFailedConfig"),
    Outcome.COMPILE_ERROR: ("compile", "CompilationFailedConfig"),
}
"""`invalidity`, and the text that stands for a time where there is none, as Kernel Tuner has
it. What Exo refuses and duplicates are no configurations; pruned ones were given up on."""


def t4_results(store: Store, scope: Scope) -> dict[str, Any]:
    """The document of one scope, in the order in which candidates were first measured; those
    that failed before come last, in the order of their ids (no time is kept of them)."""
    first: dict[int, Timed] = {}
    for timed in store.timeline(scope):
        first.setdefault(timed.candidate_id, timed)
    tried = [c for c in store.walk(scope) if c.record.outcome in _INVALIDITY]
    place = {candidate_id: number for number, candidate_id in enumerate(first)}
    tried.sort(key=lambda candidate: (place.get(candidate.id, len(place)), candidate.id))
    runs = store.runs(scope)
    target = store.target(scope, runs[-1].id)
    return {
        "schema_version": SCHEMA_VERSION,
        "metadata": {
            "autotuner": "schedsearch",
            "autotuner_version": str(runs[-1].environment.get("schedsearch", "")),
            "device": target.cpu,
            "platform": f"{target.compiler.kind} {target.compiler.version}",
            "timestamp": runs[0].started_at.isoformat(),
            "timeunit": "milliseconds",
        },
        "results": [_result(candidate, first.get(candidate.id)) for candidate in tried],
    }


def _result(candidate: StoredCandidate, timed: Timed | None) -> dict[str, Any]:
    record, measurement = candidate.record, candidate.record.measurement
    assert record.outcome is not None, "it was tried"
    invalidity, failure = _INVALIDITY[record.outcome]
    spent = {stage: 1e3 * seconds for stage, seconds in record.stage_s}
    correct = record.outcome is Outcome.CORRECT and measurement is not None
    measurements: list[dict[str, Any]] = [{"name": "time", "value": failure, "unit": "ms"}]
    runtimes: list[float] = []
    if correct and measurement is not None:
        speedup = measurement.speedup
        runtimes = [1e-6 * ns for each in measurement.rounds for ns in each.candidate_ns]
        measurements = [
            {"name": "time", "value": 1e-6 * measurement.candidate_ns, "unit": "ms"},
            {"name": "speedup", "value": speedup.value, "unit": ""},
        ]
        if speedup.bounded:
            measurements += [
                {"name": "speedup_low", "value": speedup.low, "unit": ""},
                {"name": "speedup_high", "value": speedup.high, "unit": ""},
            ]
    timestamp = {"timestamp": timed.at.isoformat()} if timed else {}
    return {
        **timestamp,
        "configuration": {"trace": record.trace.dumps()},
        "objectives": ["time"],
        "times": {
            "compilation_time": spent.get("build", 0.0),
            "framework": spent.get("codegen", 0.0),
            "validation": spent.get("verify", 0.0),
            "benchmark": spent.get("time", 0.0),
            "runtimes": runtimes,
        },
        "invalidity": invalidity,
        "correctness": int(correct),
        "measurements": measurements,
    }
