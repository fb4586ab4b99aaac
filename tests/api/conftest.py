from __future__ import annotations

from pathlib import Path

import pytest
from search.worlds import measurement

from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact
from schedsearch.evaluate.bench import Anchor, Bench, Evaluation, TimingPlan


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kinds of what was measured; every answer is made up from the code's key."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log: list[str] = []

    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        log.append(plan.kind)
        speedup = 0.5 + int(digest(candidate.code_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    return log
