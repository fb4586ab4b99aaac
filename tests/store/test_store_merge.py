"""Merging: nothing lost, nothing twice, whatever the order."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from store_backends import KINDS, PLACES, postgresql_url
from store_data import CODE, ROOT, SOURCE, correct, start_tree, step, target, workload
from typer.testing import CliRunner

from schedsearch.cli.main import app
from schedsearch.core.errors import UserError
from schedsearch.core.records import Keys, Outcome, TuningRecord
from schedsearch.search.merging import merge_into
from schedsearch.store import Scope, Store
from schedsearch.store.schema import (
    CandidateRow,
    CodeRow,
    MeasurementRow,
    RunRow,
    StageTimeRow,
    TargetRow,
    WorkloadRow,
)
from schedsearch.store.views import Merged

FIRST = ROOT.then(step(0))
NOTHING = Merged(0, 0, 0, 0)


def content(store: Store) -> dict[str, Any]:
    """Everything in a store, but for ids and order."""
    with store._read() as connection:
        rows = {
            table.__tablename__: [
                dict(row) for row in connection.execute(select(table.__table__)).mappings()
            ]
            for table in (
                *(WorkloadRow, TargetRow, RunRow, CandidateRow, MeasurementRow),
                *(StageTimeRow, CodeRow),
            )
        }
    runs = {row["id"]: row["uuid"] for row in rows["run"]}
    pairs = {row["id"]: row["key"] for row in rows["workload"]}
    machines = {row["id"]: row["key"] for row in rows["target"]}
    traces = {
        row["id"]: "/".join(
            (
                pairs[row["workload_id"]],
                machines[row["target_id"]],
                str(row["tree"]),
                row["trace_key"],
            )
        )
        for row in rows["candidate"]
    }
    names: dict[str, dict[Any, str]] = {
        "workload_id": pairs,
        "target_id": machines,
        "run_id": runs,
        "parent_id": traces,
        "duplicate_of": traces,
        "candidate_id": traces,
    }

    def named(row: dict[str, Any]) -> str:
        shown = {
            column: names[column].get(value, value) if column in names else value
            for column, value in row.items()
            if column != "id"
        }
        return json.dumps(shown, sort_keys=True, default=str)

    return {table: sorted(map(named, found)) for table, found in rows.items()}


def best(store: Store) -> list[list[tuple[str, float | None]]]:
    """By procedure; schedules that are equally fast are in the order of ids elsewhere."""
    found = [
        (
            store.workload(scope).proc,
            sorted((c.trace_key, c.record.speedup) for c in store.best(scope, 1000)),
        )
        for scope in store.scopes()
    ]
    return [ranked for _, ranked in sorted(found)]


# -- any two stores --------------------------------------------------------------------------

numbers = st.integers(0, 5)
speedups = st.sampled_from([0.5, 1.5, 2.0, 3.0])
steps = st.one_of(
    st.tuples(st.just("run"), st.sampled_from(["mm", "conv"]), st.booleans()),
    st.tuples(st.just("expand"), numbers, st.integers(0, 3)),
    st.tuples(st.just("measure"), numbers, speedups, st.sampled_from(["screen", "confirm"])),
    st.tuples(st.just("fail"), numbers, st.sampled_from([Outcome.INCORRECT, Outcome.CRASH])),
    st.tuples(st.just("duplicate"), numbers, numbers),
    st.tuples(st.just("finish")),
)
histories = st.lists(steps, max_size=8).map(lambda more: [("run", "mm", False), *more])


class Author:
    """Writes to a store what a history says."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.scope, self.run = Scope(0, 0), 0

    def write(self, history: list[tuple[Any, ...]]) -> Author:
        for name, *args in history:
            getattr(self, f"_{name}")(*args)
        return self

    def _run(self, proc: str, fresh: bool) -> None:
        scope = self.store.register(workload(proc), target(), f"{SOURCE}# {next(_lines)}\n")
        self.scope = self.store.afresh(scope) if fresh else scope
        self.run = self.store.start_run(
            self.scope, seed=1, strategy="beam", settings={}, environment={}
        )
        self.store.add_root(self.scope, self.run, TuningRecord(ROOT, None, Keys("root")))
        self.store.add_code([CODE])

    def _node(self, number: int) -> TuningRecord:
        nodes = self.store.load(self.scope)
        return nodes[number % len(nodes)].record

    def _expand(self, number: int, children: int) -> None:
        parent = self._node(number).trace
        kids = [
            TuningRecord(parent.then(step(n)), None, Keys(f"ast{len(parent)}{n}"), predicted=n / 3)
            for n in range(children)
        ]
        self.store.add_expansion(self.scope, self.run, parent.key, kids, {"expand": 0.5})

    def _measure(self, number: int, speedup: float, kind: str) -> None:
        trace = self._node(number).trace
        timed = correct(trace, speedup, kind)
        spent = TuningRecord(
            trace, timed.outcome, measurement=timed.measurement, stage_s=(("time", 1.0),)
        )
        self.store.record(self.scope, self.run, spent)

    def _fail(self, number: int, outcome: Outcome) -> None:
        trace = self._node(number).trace
        failed = TuningRecord(trace, outcome, message=str(outcome), stage_s=(("verify", 0.5),))
        self.store.record(self.scope, self.run, failed)

    def _duplicate(self, number: int, of: int) -> None:
        """What a build finds: the machine code of one that is no duplicate itself."""
        twin, original = self._node(number), self._node(of)
        if twin.trace == original.trace or twin.outcome or original.duplicate_of:
            return
        found = TuningRecord(
            twin.trace,
            Outcome.DUPLICATE,
            Keys(binary="same"),
            duplicate_of=original.trace.key,
            duplicate_level="binary",
            stage_s=(("build", 0.25),),
        )
        built = TuningRecord(original.trace, None, Keys(binary="same"))
        self.store.record(self.scope, self.run, built)
        self.store.record(self.scope, self.run, found)

    def _finish(self) -> None:
        self.store.finish_run(self.run, "finished", {"n": 1})


_lines = count()
"""Each registration has a source text of its own."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path | None], Path]:
    """Copies of a closed store, or of an empty one: faster than making it."""
    directory = tmp_path_factory.mktemp("stores")
    empty = directory / "empty.sqlite"
    Store.open(empty).close()
    serial = count()

    def copy(of: Path | None = None) -> Path:
        return Path(shutil.copy(of or empty, directory / f"{next(serial)}.sqlite"))

    return copy


def merged(into: Path, *others: Path, copy: Callable[[Path | None], Path]) -> Path:
    joint = copy(into)
    with Store.open(joint) as store:
        for other in others:
            with Store.frozen(other) as opened:
                store.merge(opened)
    return joint


def seen(path: Path) -> tuple[dict[str, Any], list[Any]]:
    with Store.open(path) as store:
        return content(store), best(store)


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(common=histories, one=histories, other=histories)
def test_the_order_of_merging_makes_no_difference(
    copies: Callable[[Path | None], Path],
    common: list[tuple[Any, ...]],
    one: list[tuple[Any, ...]],
    other: list[tuple[Any, ...]],
) -> None:
    """Two copies of a store that went different ways."""
    origin = copies(None)
    with Store.open(origin) as store:
        Author(store).write(common)
    a, b = copies(origin), copies(origin)
    for path, history in ((a, one), (b, other)):
        with Store.open(path) as store:
            Author(store).write(history)
    joint = merged(a, b, copy=copies)
    assert seen(joint) == seen(merged(b, a, copy=copies))
    assert seen(joint) == seen(merged(joint, a, b, joint, copy=copies)), "again adds nothing"
    with Store.open(joint) as store:
        check_tree(store)


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@given(earlier=histories, later=st.lists(steps, max_size=6))
def test_an_older_copy_adds_nothing_and_is_brought_up(
    copies: Callable[[Path | None], Path],
    earlier: list[tuple[Any, ...]],
    later: list[tuple[Any, ...]],
) -> None:
    path = copies(None)
    with Store.open(path) as store:
        author = Author(store).write(earlier)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        old = copies(path)
        author.write(later)
    assert seen(merged(path, old, copy=copies)) == seen(path)
    assert seen(merged(old, path, copy=copies)) == seen(path)


def check_tree(store: Store) -> None:
    """What the contract and a search that continues rely on."""
    for scope in store.scopes():
        for tree in store.trees(scope):
            known = {c.id: c for c in store.load(tree)}
            by_key = {c.trace_key: c for c in known.values()}
            for c in known.values():
                if c.parent_id is not None:
                    assert c.parent_id < c.id
                    assert c.record.trace.parent == known[c.parent_id].record.trace
                if (original := c.record.duplicate_of) is not None:
                    assert by_key[original].record.duplicate_of is None


# -- by example ------------------------------------------------------------------------------


@pytest.fixture(params=KINDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "into").mkdir()
    return PLACES[request.param](tmp_path / "into")


@pytest.fixture
def into(where: str) -> Iterator[Store]:
    with Store.open(where) as store:
        yield store


@pytest.mark.normal
def test_each_kind_of_database_takes_from_each(into: Store, where: str, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with Store.open(other) as store:
        Author(store).write(
            [
                *(("run", "mm", False), ("expand", 0, 3), ("measure", 1, 2.0, "confirm")),
                *(("duplicate", 3, 2), ("fail", 2, Outcome.CRASH), ("run", "conv", True)),
            ]
        )
        expected = content(store)
    with Store.frozen(other) as opened:
        assert merge_into(into, opened) == Merged(2, 5, 1, 0)
        assert merge_into(into, opened) == NOTHING
    assert content(into) == expected
    with Store.open(tmp_path / "back.sqlite") as back:
        with Store.frozen(where) as opened:
            merge_into(back, opened)
        assert content(back) == expected


@pytest.mark.normal
def test_the_other_store_stays_as_it_is(into: Store, tmp_path: Path) -> None:
    first_revision = Path(__file__).parent / "data" / "revision_0001.sql"
    other = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.executescript(first_revision.read_text())
    before = other.read_bytes()
    with Store.frozen(other) as opened:
        assert merge_into(into, opened).runs == 1
    with Store.frozen(other) as opened:
        assert merge_into(into, opened) == NOTHING, "its runs have the same identity each time"
    assert other.read_bytes() == before


@pytest.mark.normal
def test_a_database_of_an_earlier_revision_is_not_migrated(tmp_path: Path) -> None:
    url = postgresql_url(tmp_path)
    with Store.open(url) as store, store._write() as connection:
        connection.exec_driver_sql("UPDATE schedsearch_version SET version_num = '0007'")
    with pytest.raises(UserError, match="earlier schedsearch; bring it up"), Store.frozen(url):
        pass


@pytest.mark.normal
def test_only_what_met_is_expanded_again(into: Store, tmp_path: Path) -> None:
    """A tree that another store says nothing of keeps its marks, whichever transforms it had."""
    marked = [_widened(into, "mm"), _widened(into, "conv")]
    with Store.open(tmp_path / "other.sqlite") as other:
        _widened(other, "conv")
        merge_into(into, other)
    assert [into.load(scope)[0].expanded for scope in marked] == [True, False]


def _widened(store: Store, proc: str) -> Scope:
    """A tree that is searched with one transform, then with two."""
    scope = store.register(workload(proc), target(), SOURCE)
    for names in (["a"], ["a", "b"]):
        more = {"strategy": "s", "settings": {"transforms": names}, "environment": {}}
        run = store.start_run(scope, seed=1, **more)
    store.add_root(scope, run, TuningRecord(ROOT, None))
    store.add_expansion(scope, run, ROOT.key, [], {})
    return scope


@pytest.mark.normal
def test_timings_that_do_not_compare_are_not_merged(into: Store, tmp_path: Path) -> None:
    start_tree(into)
    with Store.open(tmp_path / "cold.sqlite") as cold:
        scope, _ = start_tree(cold)
        cold.start_run(scope, seed=1, strategy="beam", settings={"cache": "cold"}, environment={})
    before = content(into)
    with (
        Store.frozen(tmp_path / "cold.sqlite") as other,
        pytest.raises(UserError, match="timed with cold and with warm caches; nothing was"),
    ):
        merge_into(into, other)
    assert content(into) == before


@pytest.mark.normal
def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        with Store.open(f"{name}.sqlite") as store:
            scope, run = start_tree(store)
            store.record(scope, run, correct(FIRST, 2.0))
    command = ["merge", "a.sqlite", "b.sqlite", "--store", "all.sqlite", "--json"]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output
    counts = {"runs": 1, "measurements": 1}
    assert json.loads(answer.output) == {
        "schema": 1,
        "into": "all.sqlite",
        "merged": [
            {"store": "a.sqlite", "candidates": 4, "changed": 0, **counts},
            {"store": "b.sqlite", "candidates": 0, "changed": 0, **counts},
        ],
    }
    text = CliRunner().invoke(app, command[:-1]).output
    assert text.splitlines()[0] == (
        "a.sqlite: 0 runs, 0 candidates and 0 measurements added, 0 candidates changed"
    )
    missing = CliRunner().invoke(app, ["merge", "c.sqlite"])
    assert isinstance(missing.exception, UserError)
