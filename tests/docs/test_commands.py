"""Every command that the documentation shows does what it says, or is listed with the reason
why it is not run. Of both, all options exist.

Each page is followed from top to bottom, as a reader does, in a directory where a small kernel
was tuned and pinned. Budgets are short and arrays small.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import typer

from schedsearch.cli import main as command

from .pages import PAGES, README, ROOT, blocks, commands
from .reader import FEW, SHORT_RUN, Reader, small

NOT_RUN = {
    "pip install": "needs the network, and would change this environment",
    "schedsearch doctor": "measures this machine for half a minute; tests/cli runs it",
    "schedsearch watch": "follows a search that is running; tests/cli has one",
    "schedsearch ui": "serves a page until Ctrl-C; tests/cli/test_ui.py runs it",
    "jupyter lab": "waits for a browser; tests/notebooks executes the notebooks",
    "mkdocs serve": "waits for a browser; test_site.py builds the site",
    "make": "sets up an environment for minutes; `make test` is what runs this",
    "postgresql://": "needs a server; tests/store has one where it is installed",
    "python -m benchmarks": "minutes to an hour; tests/benchmarks runs them with small budgets",
    "python examples/applications": "minutes; tests/deploy/test_applications.py runs them small",
    "python -m fuzz": "half an hour; tests/fuzz runs it with few pairs",
    "pytest --schedsearch": "tests/locks/test_pytest_plugin.py runs it",
    "pytest tests/": "tests themselves",
    "cmake": "tests/deploy/test_library.py runs it",
    "export PKG_CONFIG_PATH": "is for the shell",
    "gcc program.c": "needs a shell; tests/deploy/test_library.py runs it",
}
"""Reasons, by how commands begin or what they contain."""

SHORT = {
    "run exhaustive": "--executor inline --trials 3 --budget 150s --transforms reorder",
    "run": " ".join(SHORT_RUN),
    "tune": "--executor inline --budget 16s",
    "check --repair": "--budget 5s",
    "check": "--correct-only",
    "export --minimal": "--budget 2s",
}
"""What is added to commands that have these words, the first that fits; of equal options the
last one counts."""


NEEDED = {"--target neon": "aarch64-linux-gnu-gcc"}
"""Programs that commands need which contain this."""


def follow(reader: Reader, words: list[str]) -> None:
    if "=" in words[0]:
        name, _, value = words[0].partition("=")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, value)
            follow(reader, words[1:])
        return
    if words[0] in ("python", "gcc"):
        program = sys.executable if words[0] == "python" else words[0]
        subprocess.run([program, *words[1:]], check=True, stdout=subprocess.DEVNULL)
        return
    assert words[0] == "schedsearch", f"{words}: say in NOT_RUN why it is not run"
    words = shortened(words[1:], reader.ids)
    if words[0] == "merge":  # stores of others: copies of ours
        for other in words[1 : words.index("--store")]:
            shutil.copy("schedsearch.sqlite", other)
    assert reader.call(*words) == 0


def shortened(words: list[str], ids: tuple[int, int]) -> list[str]:
    words = [small(word) for word in words]
    words = [{"42": str(ids[0]), "57": str(ids[1])}.get(word, word) for word in words]
    words = [name for word in words for name in matching(word)]
    fitting = (SHORT[which] for which in SHORT if set(which.split()) <= set(words))
    words += next(fitting, "").split()
    if words[0] == "run" and "--transforms" not in words:
        words += ["--transforms", ",".join(FEW)]
    return words


def matching(word: str) -> list[str]:
    if not word.startswith("benchmarks/"):
        return [word]
    return [str(path) for path in sorted(ROOT.glob(word))[:1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != README and commands(p)], ids=lambda page: page.name
)
def test_a_page_can_be_followed(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        reader.save(block)
    left_out = []
    for words in commands(page):
        if missing := [p for part, p in NEEDED.items() if part in " ".join(words) and not which(p)]:
            left_out.append(f"{' '.join(words)} needs {', '.join(missing)}")
        elif reason_not_to_run(words) is None:
            follow(reader, words)
    if left_out:
        pytest.skip(f"all else was followed: {'; '.join(left_out)}")


@pytest.mark.normal
def test_readme_shows_what_is_run_elsewhere() -> None:
    shown = [words for page in PAGES if page != README for words in commands(page)]
    for words in commands(README):
        assert words in shown or reason_not_to_run(words), words


def reason_not_to_run(words: list[str]) -> str | None:
    line = " ".join(words)
    for part, reason in NOT_RUN.items():
        if line.startswith(part) or (part.endswith("//") and part in line):
            return reason
    return None


@pytest.mark.normal
def test_every_reason_is_needed() -> None:
    lines = [" ".join(words) for page in PAGES for words in commands(page)]
    for part in NOT_RUN:
        assert any(part in line for line in lines), part


@pytest.mark.normal
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # by runpy
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_exist(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of benchmarks, and of what is not run."""
    for words in commands(page):
        if words[0] == "schedsearch":
            known = typer.main.get_command(command.app).get_command(None, words[1])
        elif " ".join(words).startswith("python -m benchmarks."):
            known = benchmark(words[2], words[3:], monkeypatch)
        else:
            continue
        names = {name for param in known.params for name in (*param.opts, *param.secondary_opts)}
        for word in words[2:]:
            if word.startswith("--"):
                assert word.split("=")[0] in names, " ".join(words)


def benchmark(module: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command that `python -m MODULE` would run."""
    made: list[typer.Typer] = []
    monkeypatch.setattr(typer.Typer, "__call__", lambda app: made.append(app))
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    [app] = made
    found = typer.main.get_command(app)
    return found.get_command(None, words[0]) if hasattr(found, "commands") else found
