from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from schedsearch.cli import main as command
from schedsearch.core.keys import digest
from schedsearch.search.setup.trust import remember

from .invoke import MATMUL, SMALL, Answer, environment, hurry, invoke


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """The command in this process, in an empty directory."""
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def call(*args: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["schedsearch", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            command.main()
        written = capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Answer(code or 0, written.out, written.err)

    return call


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@cache
def tuned_once(base: Path) -> tuple[Path, Answer]:
    """In `base`: once for the tests of several folders."""
    home = base / "tuned"
    home.mkdir()
    shutil.copy(MATMUL, home / "mm.py")
    return home, invoke(home, ["run", "mm.py", *SMALL])


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A directory in which a copy of the kernel was tuned a little, and what was said."""
    return tuned_once(tmp_path_factory.getbasetemp())


@pytest.fixture
def tuned(first: tuple[Path, Answer], tmp_path: Path) -> Path:
    """A copy of that directory, here, as if it had been tuned here."""
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    remember(tmp_path / "mm.py", digest((tmp_path / "mm.py").read_text()))
    return tmp_path
