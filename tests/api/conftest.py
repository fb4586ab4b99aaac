from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from search.worlds import measurement

from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact
from schedsearch.evaluate.bench import Anchor, Bench, Evaluation, TimingPlan
from schedsearch.evaluate.roofline import Roof
from schedsearch.search import jobs, session

ROOF = Roof(8192 / 140e9, 1e-9, peak=140.0, kind="f32", bandwidth=160.0, level="L1")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared: what is compiled once need not be compiled again."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def scripted(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kinds of what was measured; every answer is made up from the code's key."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setattr(session, "roof_of", lambda *subject: ROOF)
    for module in (session, jobs):  # nothing is timed: no need to wait for others who measure
        monkeypatch.setattr(module, "measuring_slot", lambda *waiting: nullcontext())
    log: list[str] = []

    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        log.append(plan.kind)
        speedup = 0.5 + int(digest(candidate.code_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    return log
