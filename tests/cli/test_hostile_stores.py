"""Stores from elsewhere: whatever is in them, nothing is executed, nothing steers the terminal,
and what cannot be used ends with code 2 and a message."""

from __future__ import annotations

import json
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.locks.entry import Lock
from schedsearch.locks.place import read_lock, write_lock
from schedsearch.search.setup.trust import remember
from schedsearch.store.database import Store

from .invoke import Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]

COMMANDS = (
    *(["list"], ["list", "--json"], ["best"], ["best", "--json"], ["show", "2"]),
    *(["show", "2", "--c"], ["show", "2", "--json"], ["replay", "2"], ["export"]),
    *(["pin"], ["report"]),
    *(["merge", "schedsearch.sqlite", "--store", "all.sqlite"], ["list", "--store", "all.sqlite"]),
    ["gc", "--store", "schedsearch.sqlite", "--keep", "1"],
)
FEW = (["list"], ["show", "2"], ["export"])
NESTED = "[" * 50_000

REFUSED = {
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON run BEGIN DELETE FROM candidate; END",
    "a view": "CREATE VIEW v AS SELECT load_extension('x') FROM run",
    "a view in place of a table": "ALTER TABLE candidate RENAME TO other;"
    "CREATE VIEW candidate AS SELECT * FROM other",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(a)",
    "no table": "DROP TABLE candidate",
    "no JSON": "UPDATE candidate SET rewrite = '{' WHERE parent_id IS NOT NULL",
    "JSON of another kind": "UPDATE candidate SET rewrite = '[1]' WHERE parent_id IS NOT NULL",
    "deep JSON": f"UPDATE candidate SET rewrite = '{NESTED}' WHERE parent_id IS NOT NULL",
    "a number without end": "UPDATE candidate SET rewrite = "
    f"replace(rewrite, '\"version\":1', '\"version\":{'9' * 5000}') WHERE parent_id IS NOT NULL",
    "a label of two lines": "UPDATE candidate SET rewrite = json_set(rewrite, '$.label', "
    "'for' || char(10) || 'import os') WHERE parent_id IS NOT NULL",
    "a rewrite that is no text": "UPDATE candidate SET rewrite = x'00ff' "
    "WHERE parent_id IS NOT NULL",
    "its own parent": "UPDATE candidate SET parent_id = id WHERE parent_id IS NOT NULL",
    "parents in a circle": "UPDATE candidate SET parent_id = "
    "(SELECT max(id) FROM candidate) WHERE parent_id IS NOT NULL",
    "a parent that is not there": "UPDATE candidate SET parent_id = 999999 "
    "WHERE parent_id IS NOT NULL",
    "an outcome nobody knows": "UPDATE candidate SET outcome = 'fine'",
    "a kind of timing nobody knows": "UPDATE measurement SET kind = 'x', "
    "samples = json_set(samples, '$.kind', 'x')",
    "times that are none": "UPDATE measurement SET samples = "
    "json_set(samples, '$.rounds', json('[[[1e999],[1.0]]]'))",
    "no rounds": "UPDATE measurement SET samples = json_set(samples, '$.rounds', json('[]'))",
    "a CPU of two lines": "UPDATE target SET description = "
    "json_set(description, '$.cpu', 'zen5' || char(10) || 'raise SystemExit(3)')",
    "a target that is none": "UPDATE target SET description = '[]'",
    "sizes that are none": "UPDATE workload SET sizes = '3'",
    "a workload that is not there": "UPDATE run SET workload_id = 7; "
    "UPDATE candidate SET workload_id = 7",
    "a date that is none": "UPDATE run SET started_at = 'yesterday'",
    "a run that is none": "UPDATE run SET settings = '[]', environment = '3'",
}


def altered(statements: str) -> None:
    with closing(sqlite3.connect("schedsearch.sqlite")) as connection:
        connection.executescript(statements)
        connection.commit()


def harmless(answer: Answer) -> None:
    assert answer.code in (0, 2)
    assert "Traceback" not in answer.err
    assert "sqlalche.me" not in answer.out + answer.err
    assert "\x1b" not in answer.out + answer.err.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    if answer.code == 2:
        assert answer.out.count("\n") <= 20
        assert "error" in answer.out + answer.err or "not repaired" in answer.out


@pytest.mark.parametrize("statements", REFUSED.values(), ids=REFUSED.keys())
def test_what_no_search_writes_is_refused(run: Run, tuned: Path, statements: str) -> None:
    altered(statements)
    codes = []
    for command in FEW:
        answer = run(*command)
        harmless(answer)
        codes.append(answer.code)
    assert 2 in codes
    assert not list(tuned.glob("*.schedule.py")) or (tuned / "matmul32.c").exists()


def dump(store: str) -> list[str]:
    with closing(sqlite3.connect(store)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize("statements", REFUSED.values(), ids=REFUSED.keys())
def test_merging_takes_all_or_nothing(run: Run, tuned: Path, statements: str) -> None:
    """What spoils its store spoils no other."""
    shutil.copy("schedsearch.sqlite", "own.sqlite")
    with closing(sqlite3.connect("own.sqlite")) as connection:
        connection.execute("DELETE FROM measurement")
        connection.execute("UPDATE workload SET key = 'another'")
        connection.commit()
    before = dump("own.sqlite")
    altered(statements)
    answer = run("merge", "schedsearch.sqlite", "--store", "own.sqlite")
    harmless(answer)
    assert answer.code == 2
    assert dump("own.sqlite") == before


SHOWN = {
    "escape sequences": "UPDATE candidate SET message = char(27) || '[31mred' || char(7); "
    "UPDATE code SET source = source || char(27) || ']0;title' || char(7)",
    "a name that steers": "UPDATE workload SET proc = char(27) || '[2J' || char(155)",
    "markup": "UPDATE workload SET proc = '[bold red]x[/nothing]'; "
    "UPDATE target SET description = json_set(description, '$.cpu', '[link=x]y[/z]')",
    "SQL in a name": "UPDATE workload SET proc = 'x''; DROP TABLE candidate; --'",
    "markup in stages": "UPDATE candidate SET stage_s = '{\"[/x]\": 1.0}', binary_key = '[/x]'",
    "an unknown transform": "UPDATE candidate SET rewrite = "
    "json_set(rewrite, '$.transform', '../../etc/passwd') WHERE parent_id IS NOT NULL",
    "unknown arguments": "UPDATE candidate SET rewrite = "
    "json_set(rewrite, '$.args', json('{\"a\": true}')) WHERE parent_id IS NOT NULL",
    "C that includes": """UPDATE code SET source = '#include "/etc/passwd"', header = '!'""",
    "a source elsewhere": "UPDATE workload SET source = '/etc/passwd', source_text = '!'",
    "a source of a long name": f"UPDATE workload SET source = '{'a' * 5000}'",
    "a source with a NUL": "UPDATE workload SET source = 'a' || char(0) || 'b'",
}


@pytest.mark.parametrize("statements", SHOWN.values(), ids=SHOWN.keys())
def test_what_is_shown_does_nothing(run: Run, tuned: Path, statements: str) -> None:
    altered(statements)
    for command in FEW:
        harmless(run(*command))
    assert run("list").code == 0
    with Store.open(tuned / "schedsearch.sqlite") as store:
        assert store.scopes()


def test_no_command_obeys_a_store(run: Run, tuned: Path) -> None:
    altered("; ".join(SHOWN.values()))
    for command in COMMANDS:
        harmless(run(*command))


SUMMARIES = {
    "noise": '"a"',
    "reference": "3",
    "inspection": '{"checks": [[1, 2]]}',
    "roof": "[3]",
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_of_another_kind_is_refused(run: Run, tuned: Path, name: str) -> None:
    altered(f"UPDATE run SET summary = json_set(summary, '$.{name}', json('{SUMMARIES[name]}'))")
    answer = run("report")
    harmless(answer)
    assert answer.code == 2


MARKS = "open({mark!r}, 'w').close()\n"
EXECUTING = (
    *(["report"], ["show", "2"], ["show", "2", "--c"], ["explain", "2"], ["compare", "1", "2"]),
    *(["replay", "2"], ["export"], ["export", "2"], ["pin"], ["pin", "2"], ["check"]),
    *(["check", "--repair", "--budget", "1"], ["export", "2", "--minimal", "--budget", "1"]),
    *(["explain", "2", "--measure"], ["compare", "1", "2", "--measure"]),
)


@pytest.fixture
def planted(
    tuned: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder from elsewhere: a store and a lock file whose source, with the text they say it
    has, does more than define a procedure. None of it may be executed."""
    assert run("pin").code == 0
    folder = tmp_path_factory.mktemp("elsewhere")
    mark = folder.parent / f"{folder.name}-executed"
    text = (tuned / "mm.py").read_text() + MARKS.format(mark=str(mark))
    (folder / "mm.py").write_text(text)
    sha = digest(text)
    altered(f"UPDATE workload SET source_sha = '{sha}', source_text = '{folder / 'mm.py'}'")
    for name in ("schedsearch.sqlite", "schedules.lock"):
        shutil.move(tuned / name, folder / name)
    (entry,) = read_lock(folder / "schedules.lock").entries
    own = replace(entry, workload=replace(entry.workload, source_sha=sha))
    write_lock(folder / "schedules.lock", Lock((own,)))
    yield folder
    assert not mark.exists()


def executes_nothing(run: Run, *more: str) -> None:
    for command in EXECUTING:
        answer = run(*command, *more)
        harmless(answer)
        if command[0] not in ("show", "report"):
            assert answer.code == 2, (command, answer)
            said = " ".join((answer.out + answer.err).split())
            assert "--file " in said or "--instructions " in said, (command, answer)


def test_a_file_beside_the_store_is_not_executed(
    run: Run, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planted)
    executes_nothing(run)


def test_nor_one_that_is_named_from_elsewhere(
    run: Run, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planted)
    altered(f"UPDATE workload SET source = '{planted / 'mm.py'}'")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    shutil.copy(planted / "schedules.lock", ".")
    (tmp_path / "mine" / "mm.py").write_text((planted / "mm.py").read_text())
    executes_nothing(run, "--store", str(planted / "schedsearch.sqlite"))


def test_nor_one_that_is_in_a_record_that_others_can_write(
    run: Run, planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planted)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    remember(planted / "mm.py", digest((planted / "mm.py").read_text()))
    (tmp_path / "state" / "schedsearch" / "tuned").chmod(0o777)
    executes_nothing(run)
    assert "may be forged" in run("replay", "2").err


def test_nor_one_that_others_can_write(
    run: Run, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(planted)
    remember(planted / "mm.py", digest((planted / "mm.py").read_text()))
    (planted / "mm.py").chmod(0o666)
    executes_nothing(run)
    assert "can be written by everybody" in run("replay", "2").err


def test_nor_instruction_sets_and_compilers(
    run: Run, planted: Path, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a kernel that the user did tune."""
    monkeypatch.chdir(planted)
    mark = planted.parent / f"{planted.name}-executed"
    (planted / "mine.py").write_text(f"import exo\n{MARKS.format(mark=str(mark))}")
    (planted / "cc").write_text(f'#!/bin/sh\ntouch {mark}\nexec gcc "$@"\n')
    (planted / "cc").chmod(0o755)
    named = {"name": "mine", "digest": "0" * 32, "path": str(planted / "mine.py")}
    altered(
        f"UPDATE workload SET source = '{tuned / 'mm.py'}';"
        "UPDATE target SET description = json_set(description, '$.compiler.path', "
        f"'{planted / 'cc'}', '$.instructions[0]', json('{json.dumps(named)}'))"
    )
    for command in (["pin", "2"], ["explain", "2", "--measure"], ["export", "--minimal"]):
        answer = run(*command)
        harmless(answer)
        assert answer.code == 2
        assert f"--instructions {planted / 'mine.py'}" in answer.err
    altered("UPDATE target SET description = json_remove(description, '$.instructions')")
    for command in (["explain", "2", "--measure"], ["export", "2", "--minimal"]):
        harmless(run(*command))


def test_what_was_tuned_is_executed_and_what_is_named(
    run: Run, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tuned / "home"
    home.mkdir()
    (tuned / "schedsearch.sqlite").rename(home / "schedsearch.sqlite")
    monkeypatch.chdir(home)
    altered("UPDATE workload SET source = '../mm.py'")
    assert run("replay", "2").code == 0
    (tuned / "mm.py").write_text((tuned / "mm.py").read_text() + "\n")
    answer = run("replay", "2", "--store", "schedsearch.sqlite")
    assert answer.code == 2
    typed = "schedsearch replay 2 --store schedsearch.sqlite --file ../mm.py"
    assert answer.err.splitlines()[-1] == f"  {typed}"
    assert run(*shlex.split(typed)[1:]).code == 0


@pytest.mark.parametrize(
    ("command", "name"), [("run", "mm.py"), ("replay", "2"), ("explain", "2"), ("export", "2")]
)
def test_only_what_is_tuned_is_recorded(run: Run, tuned: Path, command: str, name: str) -> None:
    """To have looked at a file once, with --file, is not to have tuned it."""
    file = tuned / "mm.py"
    file.write_text(file.read_text() + "\n")
    more = ["--budget", "1", "--trials", "1", "--executor", "inline"] if command == "run" else []
    more += ["--transforms", "reorder,fission"] if command == "run" else ["--file", "mm.py"]
    answer = run(command, name, *more)
    assert answer.code == 0, answer.err
    assert run("replay", "2").code == (0 if command == "run" else 2)


def test_a_page_that_was_overwritten(run: Run, tuned: Path) -> None:
    file = Path("schedsearch.sqlite")
    content = bytearray(file.read_bytes())
    for start in range(8192, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    file.write_bytes(content)
    for command in COMMANDS:
        answer = run(*command)
        harmless(answer)
        assert answer.code == 2
    with pytest.raises(UserError):
        Store.open(file)
