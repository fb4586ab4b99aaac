"""Where the values of options come from: the command line, a variable, pyproject.toml."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from schedsearch.cli import main, settings
from schedsearch.core.errors import UserError
from schedsearch.store.database import Store

from .invoke import Answer

Run = Callable[..., Answer]

ALL = typer.main.get_command(main.app).commands


def write(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.schedsearch]\n{text}\n")


def empty(where: Path) -> Path:
    where.parent.mkdir(exist_ok=True)
    Store.open(where).close()
    return where


def named(run: Run, *args: str | Path) -> str:
    """The store that the command uses: none has runs."""
    answer = run("list", *args)
    assert answer.code == 2
    return answer.err.removeprefix("error: ").split(" is empty;")[0]


@pytest.mark.normal
def test_an_option_wins_over_the_variable_and_that_over_the_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("schedsearch", "file", "variable", "option"):
        empty(tmp_path / f"{name}.sqlite")
    assert named(run) == "schedsearch.sqlite"
    write(tmp_path, 'store = "file.sqlite"')
    assert named(run) == str(tmp_path / "file.sqlite")
    monkeypatch.setenv("SCHEDSEARCH_STORE", "variable.sqlite")
    assert named(run) == "variable.sqlite"
    assert named(run, "--store", "option.sqlite") == "option.sqlite"


@pytest.mark.normal
def test_a_store_can_be_a_url_of_a_file(run: Run, tmp_path: Path) -> None:
    empty(tmp_path / "own.sqlite")
    assert named(run, "--store", "sqlite:///own.sqlite") == "own.sqlite"
    assert named(run, "--store", f"sqlite:///{tmp_path}/own.sqlite") == f"{tmp_path}/own.sqlite"


def test_the_nearest_file_counts_and_its_paths_are_relative_to_it(tmp_path: Path) -> None:
    write(tmp_path, 'store = "s.sqlite"\nbudget = 90\ncc = "clang"')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    found = {"store": str(tmp_path / "s.sqlite"), "budget": "90", "cc": "clang"}
    assert settings.defaults("run", inner) == found
    assert settings.defaults("best", inner) == {"store": found["store"]}
    write(tmp_path / "a", 'store = "postgresql://h/d"\ntarget = "t.toml"')
    (tmp_path / "a" / "t.toml").touch()
    own = {"store": "postgresql://h/d", "target": str(tmp_path / "a" / "t.toml")}
    assert settings.defaults("run", inner) == own
    (inner / "pyproject.toml").write_text("[project]\n")
    assert settings.defaults("run", inner) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('stroe = "x"', "key 'stroe' is unknown; .*Did you mean 'store'"),
        ("fp = true", "fp in .* is True; write what --fp takes"),
        ('store = ["x"]', "write what --store takes"),
        ("store", "cannot be read"),
        (f"store = {'[' * 5000}", "cannot be read: its lists or tables are nested too deeply"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, text)
    with pytest.raises(UserError, match=words):
        settings.defaults("list", tmp_path)


@pytest.mark.parametrize("key", settings.COMMANDS_OF)
def test_every_key_is_an_option_of_its_commands(key: str) -> None:
    for command in settings.COMMANDS_OF[key]:
        (option,) = (each for each in ALL[command].params if f"--{key}" in each.opts)
        assert option.name == key


def test_what_reads_the_variable_of_a_store_reads_the_file() -> None:
    reading = {
        name
        for name, command in ALL.items()
        for option in command.params
        if option.name == "store" and option.envvar == "SCHEDSEARCH_STORE"
    }
    assert reading == set(settings.COMMANDS_OF["store"])


@pytest.mark.normal
def test_a_default_of_the_file_is_checked_as_the_option_is(run: Run, tmp_path: Path) -> None:
    write(tmp_path, 'fp = "srict"')
    answer = run("run", "absent.py")
    assert answer.code == 2
    assert "Did you mean 'strict'" in answer.err
    assert f"{tmp_path / 'pyproject.toml'}, [tool.schedsearch]: --fp 'srict'" in answer.err
    typed = run("run", "absent.py", "--fp", "srict")
    assert "error: --fp 'srict'" in typed.err
    assert json.dumps(answer.out) == '""'


@pytest.mark.normal
def test_watching_where_nothing_runs_is_an_answer(run: Run, tmp_path: Path) -> None:
    empty(tmp_path / "schedsearch.sqlite")
    once = run("watch", "--once")
    assert (once.code, once.err) == (0, "")
    assert "no search has used schedsearch.sqlite yet" in once.out
    told = run("watch", "--json")
    assert (told.code, json.loads(told.out)) == (0, {"schema": 1, "run": None})
    assert run("watch").code == 2
