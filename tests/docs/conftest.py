"""A reader of the documentation, at work."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cli.invoke import environment, hurry
from search.worlds import measurement

from schedsearch.cli import main as command
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Failure
from schedsearch.evaluate.run.bench import Anchor, Bench, Evaluation
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.search.setup.trust import remember
from schedsearch.store.database import Store

from .pages import ROOT
from .reader import FEW, SHORT_RUN, Reader, small


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the examples, made small."""
    home = tmp_path_factory.mktemp("workshop")
    for example in (ROOT / "examples").glob("*.py"):
        (home / example.name).write_text(small(example.read_text()))
    return home


def gain_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules are verified, and said to be twice as fast as what was written: readers go on with
    a schedule that was found, however good the compiler is and busy the machine."""
    evaluate = Bench.evaluate

    def gained(bench: Bench, candidate: Artifact, plan: TimingPlan, anchor: Anchor) -> Evaluation:
        found = evaluate(bench, candidate, plan, anchor)
        if isinstance(found.result, Failure):
            return found
        speedup = 1.0 if candidate.code_key == bench.baseline.code_key else 2.0
        return replace(found, result=measurement(speedup, plan, anchor))

    monkeypatch.setattr(Bench, "evaluate", gained)


@pytest.fixture
def reader(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", f"{workshop}-cache")  # a page empties it
    hurry(monkeypatch)
    gain_always(monkeypatch)

    def call(*args: str) -> int:
        monkeypatch.setattr(sys, "argv", ["schedsearch", *args])
        with pytest.raises(SystemExit) as ended:
            command.main()
        return int(ended.value.code or 0)

    monkeypatch.chdir(workshop)
    if not Path("schedules.lock").exists():
        assert call("run", "gemv.py", *SHORT_RUN, "--transforms", ",".join(FEW)) == 0
        assert call("pin") == 0
    with Store.open("schedsearch.sqlite", create=False) as store:
        [scope] = store.scopes()
        [root] = [c.id for c in store.load(scope) if not c.record.trace.steps]
        [best] = [c.id for c in store.best(scope, 2) if c.id != root][:1]
    home = tmp_path / "here"
    shutil.copytree(workshop, home)
    remember(home / "gemv.py", digest((home / "gemv.py").read_text()))  # as if tuned here
    monkeypatch.chdir(home)
    return Reader(home, (best, root), call)
