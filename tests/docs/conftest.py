"""A reader of the documentation, at work."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from cli.invoke import environment, hurry

from schedsearch.cli import main as command
from schedsearch.core.keys import digest
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


@pytest.fixture
def reader(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", f"{workshop}-cache")  # a page empties it
    hurry(monkeypatch)

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
