from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from search.worlds import ROOF, measurement

from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search import baseline, session
from schedsearch.search.engine import ending as closing
from schedsearch.search.engine.confirmation import not_inspected
from schedsearch.search.workers import jobs


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared: what is compiled once need not be compiled again."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def scripted(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kinds of what was measured; every answer is made up from the code's key. Nothing is
    inspected: what `tests/evaluate` shows of sanitizers takes seconds each."""
    return script(home, monkeypatch)


def script(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What `scripted` does, also for what tests share."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setattr(baseline, "roof_of", lambda *subject: ROOF)
    monkeypatch.setattr(session, "once", lambda *inspected: not_inspected)
    # Nothing is timed: no need to wait for others who measure.
    for module in (baseline, closing, jobs):
        monkeypatch.setattr(module, "measuring_slot", lambda *waiting: nullcontext())
    log: list[str] = []

    def evaluate(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        log.append(plan.kind)
        speedup = 0.5 + int(digest(candidate.code_key)[:4], 16) / 0x8000
        return Evaluation(measurement(speedup, plan, anchor), 0.0, 0.0)

    monkeypatch.setattr(Bench, "evaluate", evaluate)
    return log
