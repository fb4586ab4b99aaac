"""Killed processes, and several at once."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import store_writer
from store_backends import PLACES
from store_data import ROOT, start

from schedsearch.core.records import Outcome
from schedsearch.store import RunStatus, Store, process

pytestmark = pytest.mark.slow

KILLS = {"sqlite": 20, "postgresql": 5}
"""A server starts a process per connection, and is asked twice per kill."""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that start fast: the slow imports are done once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["alembic.command", "numpy", "sqlalchemy.dialects.sqlite"])
    return context


@pytest.fixture(params=sorted(PLACES))
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file or a URL of a store not made yet."""
    return PLACES[request.param](tmp_path)


def run_all(context: ForkServerContext, *calls: tuple[Callable[..., None], tuple[Any, ...]]) -> Any:
    """Run the calls at the same time, each with a pipe as last argument; what each sent."""
    started = []
    for function, args in calls:
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=function, args=(*args, send), daemon=True)
        child.start()
        send.close()
        started.append((child, receive))
    answers = [receive.recv() for _, receive in started]
    for child, _ in started:
        child.join()
        assert child.exitcode == 0
    return answers


def write_until_killed(context: ForkServerContext, where: str, alive_s: float) -> list[Any]:
    """What a writing process acknowledged before it was killed, seconds after it was ready."""
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=store_writer.write_forever, args=(where, send), daemon=True)
    child.start()
    send.close()
    assert receive.recv() == "ready"
    time.sleep(alive_s)
    child.kill()
    child.join()
    acknowledged = []
    while True:
        try:
            acknowledged.append(receive.recv())
        except EOFError:
            return acknowledged


def check_store(where: str, acknowledged: list[Any]) -> None:
    with Store.open(where) as store:
        scope, _ = start(store)
        tree = store.load(scope)
        by_key = {c.trace_key: c for c in tree}
        kids = Counter(c.parent_id for c in tree)
        for c in tree:
            assert kids[c.id] == (store_writer.CHILDREN if c.expanded else 0)
        runs = {run.id for run in store.runs()}
        for what, key in acknowledged:
            if what == "run":
                assert key in runs
            else:
                assert what != "expanded" or by_key[key].expanded
                assert what != "measured" or by_key[key].record.outcome is Outcome.CORRECT
                assert key in by_key
        expanded = sum(c.expanded for c in tree)
        assert store.stage_seconds(scope).get("expand", 0.0) == 0.5 * expanded
    if "://" in where:
        return
    with closing(sqlite3.connect(where)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_killed_at_any_moment(context: ForkServerContext, where: str) -> None:
    moments = random.Random(0)
    acknowledged = []
    place, longest_s = ("postgresql", 1.0) if "://" in where else ("sqlite", 0.4)
    for _ in range(KILLS[place]):
        acknowledged += write_until_killed(context, where, moments.uniform(0.0, longest_s))
        check_store(where, acknowledged)
    all_kinds = {"run", "root", "expanded", "measured"}
    while (kinds := {what for what, _ in acknowledged}) != all_kinds and longest_s < 100.0:
        longest_s *= 2  # the machine is busy
        acknowledged += write_until_killed(context, where, longest_s)
        check_store(where, acknowledged)
    assert kinds == all_kinds


@pytest.mark.parametrize("place", sorted(PLACES))
def test_killed_while_creating(context: ForkServerContext, tmp_path: Path, place: str) -> None:
    """Whatever is left beside, the store opens; no store is left half made."""
    moments = random.Random(1)
    for n in range(KILLS[place]):
        (tmp_path / str(n)).mkdir()
        where = PLACES[place](tmp_path / str(n))
        write_until_killed(context, where, moments.uniform(0.0, 0.06))
        check_store(where, [])


def test_processes_that_create_the_same_store_share_it(
    context: ForkServerContext, where: str, tmp_path: Path
) -> None:
    processes = 4
    together = context.Barrier(processes)
    call = (store_writer.open_at_once, (where, together))
    answers = run_all(context, *[call] * processes)
    assert {scope for scope, _ in answers} == {answers[0][0]}
    assert sorted(run for _, run in answers) == list(range(1, processes + 1))
    Store.open(where).close()  # SQLite leaves its log if the last two close at the same moment
    assert {p.name for p in tmp_path.iterdir()} <= {"tuning.sqlite"}


def test_two_processes_write_at_once(context: ForkServerContext, where: str) -> None:
    together = context.Barrier(2)
    won = run_all(
        context,
        (store_writer.grow, (where, "first", together)),
        (store_writer.grow, (where, "second", together)),
    )
    assert not set(won[0]) & set(won[1])
    assert len(won[0]) + len(won[1]) == 30
    with Store.open(where) as store:
        by_proc = {store.workload(scope).proc: scope for scope in store.scopes()}
        for name, measurements in (("first", 1), ("second", 1), ("shared", 2)):
            scope = by_proc[name]
            assert store.outcomes(scope) == {None: 61, Outcome.CORRECT: 30}
            assert store.stage_seconds(scope) == {"expand": 30.0}
            measured = [c for c in store.load(scope) if c.record.outcome]
            assert {len(c.measurements) for c in measured} == {measurements}


def test_a_run_of_a_dead_process_is_interrupted(context: ForkServerContext, where: str) -> None:
    dead = context.Process(target=store_writer.die_running, args=(where,))
    dead.start()
    dead.join()
    with Store.open(where) as store:
        scope, alive = start(store)
        first, second = store.runs(scope)
        assert first.status is RunStatus.INTERRUPTED
        assert (second.id, second.status) == (alive, RunStatus.RUNNING)
        store.finish_run(first.id, "failed", {})
        assert store.runs(scope)[0].status is RunStatus.FAILED


def test_a_process_is_told_from_one_with_its_pid() -> None:
    own = process.token(os.getpid())
    assert own is not None
    assert not process.is_dead(own)
    boot, pid, started, host = own.split("/")
    assert process.is_dead(f"{boot}/{pid}/{int(started) - 1}/{host}")
    assert process.is_dead(f"another-boot/{pid}/{started}/{host}")


def test_a_process_of_an_earlier_version_is_of_this_host() -> None:
    boot, pid, started, _ = (process.token(os.getpid()) or "").split("/")
    assert not process.is_dead(f"{boot}/{pid}/{started}")
    assert process.is_dead(f"another-boot/{pid}/{started}")
    assert process.host(f"{boot}/{pid}/{started}") == ""


def test_a_process_elsewhere_is_taken_to_live(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(where) as store:
        monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
        scope, _ = start(store)
        monkeypatch.undo()
        monkeypatch.setattr(process, "token", lambda pid: None)
        (run,) = store.runs(scope)
    assert (run.host, run.status) == ("elsewhere", RunStatus.RUNNING)


def test_a_dead_process_has_no_token(context: ForkServerContext) -> None:
    child = context.Process(target=ROOT.dumps)
    child.start()
    pid = child.pid
    child.join()
    assert pid is not None
    assert process.token(pid) is None


def test_an_interrupt_anywhere_in_a_transaction_leaves_no_lock(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each line that SQLAlchemy and the store execute, beside a connection that then writes."""
    monkeypatch.setattr("schedsearch.store.sqlite.LOCK_TIMEOUT_S", 0)
    line = 0
    with Store.open(where) as store, Store.open(where) as beside:
        while interrupted_at(line, partial(store.add_code, [])):
            beside.add_code([])
            line += 3
    assert line > 300


def interrupted_at(line: int, call: Callable[[], None]) -> bool:
    """Make a call, and interrupt it at the start of its n-th line; False if it has fewer.
    The traceback lives on, with what its frames hold."""
    reached = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal reached
        reached += event == "line"
        if reached > line:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt as interrupt:
        KEPT.append(interrupt)
    finally:
        sys.settrace(before)
    return reached > line


KEPT: list[KeyboardInterrupt] = []
