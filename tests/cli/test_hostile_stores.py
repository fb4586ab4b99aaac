"""Stores from elsewhere: whatever is in them, nothing is executed, nothing steers the terminal,
and what cannot be used ends with code 2 and a message."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.store.database import Store

from .invoke import Answer

Run = Callable[..., Answer]

COMMANDS = (
    *(["list"], ["list", "--json"], ["best"], ["best", "--json"], ["show", "2"]),
    *(["show", "2", "--c"], ["show", "2", "--json"], ["replay", "2"], ["export"]),
    *(["simulate", "schedsearch.sqlite"], ["pin"], ["report"]),
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
    assert "\x1b" not in answer.out + answer.err.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    if answer.code == 2:
        assert answer.out.count("\n") <= 20
        assert "error" in answer.err


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


MARKS = "open('executed', 'w').close()\n"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("inside/tool.py", f"import os\n{MARKS}"),
        ("inside/broken.py", f"import exo\n{MARKS}("),
        ("../outside.py", f"import exo\n{MARKS}"),
        ("../outside.txt", "import exo\n"),
    ],
)
def test_a_store_does_not_choose_what_is_executed(
    run: Run, tuned: Path, monkeypatch: pytest.MonkeyPatch, place: str, text: str
) -> None:
    home = tuned / "home"
    home.mkdir()
    (tuned / "schedsearch.sqlite").rename(home / "schedsearch.sqlite")
    monkeypatch.chdir(home)
    file = home / place
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    altered(f"UPDATE workload SET source = '{place}'")
    for command in (["replay", "2"], ["export"], ["pin"]):
        harmless(run(*command))
    assert run("replay", "2").code == 2
    assert not Path("executed").exists()


def test_a_file_elsewhere_that_is_as_it_was_may_be_loaded(
    run: Run, tuned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tuned / "home"
    home.mkdir()
    (tuned / "schedsearch.sqlite").rename(home / "schedsearch.sqlite")
    monkeypatch.chdir(home)
    altered("UPDATE workload SET source = '../mm.py'")
    assert run("replay", "2").code == 0
    (tuned / "mm.py").write_text((tuned / "mm.py").read_text() + "\n")
    answer = run("replay", "2")
    assert answer.code == 2
    assert "--file" in answer.err
    assert run("replay", "2", "--file", "../mm.py").code == 0


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
