"""`pytest --schedsearch`, as users run it: in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from cli.invoke import Answer, environment

from schedsearch.locks import pytest_plugin

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
ROOT = Path(__file__).parents[2]


def pytest_in(home: Path, *options: str) -> Answer:
    command = [sys.executable, "-m", "pytest", "-p", "schedsearch.locks.pytest_plugin", *options]
    env = environment(home) | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=200)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def pinned(tuned: Path, run: Run) -> Path:
    assert run("pin").code == 0
    return tuned


def test_entries_are_tests_of_their_own(pinned: Path) -> None:
    said = pytest_in(pinned, "--schedsearch-correct-only", "-v")
    assert said.code == 0, said.out
    assert re.search(r"schedules.lock::matmul32 of mm.py for .* PASSED", said.out)


def test_a_failure_says_what_and_where_and_nothing_of_the_plugin(pinned: Path) -> None:
    source = pinned / "mm.py"
    source.write_text(source.read_text().replace("for i in", "for row in").replace("[i,", "[row,"))
    said = pytest_in(pinned, "--schedsearch-correct-only")
    assert said.code == 1, said.out
    assert re.search(r"mm.py:\d+: stale\nthe procedure has changed since it was pinned: ", said.out)
    assert "Traceback" not in said.out
    assert "runtest" not in said.out


def test_what_is_for_another_machine_is_skipped(pinned: Path) -> None:
    lock = pinned / "schedules.lock"
    text = lock.read_text()
    lock.write_text(re.sub(r'^isa = ".*"$', 'isa = "neon"', text, flags=re.MULTILINE))
    said = pytest_in(pinned, "--schedsearch", "-rs")
    assert said.code == 0, said.out
    assert re.search(r"SKIPPED .* do not run on this", said.out)


def test_a_broken_lock_file_is_an_error_of_collecting_it(tmp_path: Path) -> None:
    (tmp_path / "schedules.lock").write_text("schema = 99\n")
    said = pytest_in(tmp_path, "--schedsearch")
    assert said.code == 2
    assert "has schema 99; this schedsearch reads schema 1" in said.out


def test_it_is_off_and_costs_nothing_without_the_option(tmp_path: Path) -> None:
    (tmp_path / "schedules.lock").write_text("schema = 99\n")
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_nothing():\n"
        "    assert 'schedsearch.locks.pytest_plugin' in sys.modules\n"
        "    assert not {'exo', 'numpy', 'ray', 'schedsearch.core.errors'} & set(sys.modules)\n"
    )
    said = pytest_in(tmp_path)
    assert said.code == 0, said.out


def test_it_is_declared_to_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["pytest11"]
    assert declared == {"schedsearch": "schedsearch.locks.pytest_plugin"}
    assert import_module(declared["schedsearch"]) is pytest_plugin
