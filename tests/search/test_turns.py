"""Nothing is computed while kernels are timed on every core, and both get their turn."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from schedsearch.core.records import Target
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.build.host import measuring_cores, probe_target, usable_cores
from schedsearch.search.workers import core_sharing as turns
from schedsearch.search.workers.core_sharing import (
    AnyTime,
    MeasuringPlace,
    SharedTurn,
    make_turn,
    measuring_slot,
)


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other runs on this machine are not this test's business."""
    monkeypatch.setattr(turns, "slot_file", lambda what="measuring": tmp_path / what)
    monkeypatch.setattr(turns, "common_file", lambda what: tmp_path / f"common-{what}")


@pytest.fixture(scope="module")
def target() -> Target:
    return probe_target(find_compiler(), default_flags())


@pytest.fixture
def measured() -> Iterator[tuple[threading.Event, threading.Event]]:
    """A thread that measures once: set when it has begun, and to be set for it to end."""
    begun, end = threading.Event(), threading.Event()

    def measure() -> None:
        with measuring_slot():
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=measure)
    thread.start()
    yield begun, end
    end.set()
    thread.join()


def test_turns_are_taken_where_no_core_is_left(target: Target) -> None:
    four = replace(target, cores=4)
    assert isinstance(make_turn(replace(four, threads=4)), SharedTurn)
    assert isinstance(make_turn(replace(four, threads=3)), AnyTime)
    assert isinstance(make_turn(replace(four, cores=1, threads=1)), SharedTurn)


def test_computing_waits_for_measuring_to_end(
    measured: tuple[threading.Event, threading.Event],
) -> None:
    begun, end = measured
    assert begun.wait(60)
    computed = threading.Event()

    def compute() -> None:
        with SharedTurn():
            computed.set()

    thread = threading.Thread(target=compute)
    thread.start()
    assert not computed.wait(0.2)
    end.set()
    assert computed.wait(60)
    thread.join()


def test_several_compute_together_and_measuring_waits_for_all() -> None:
    with SharedTurn(), SharedTurn():
        begun = threading.Event()

        def measure() -> None:
            with measuring_slot():
                begun.set()

        thread = threading.Thread(target=measure)
        thread.start()
        assert not begun.wait(0.2)
    assert begun.wait(60)
    thread.join()


def is_free(what: str) -> bool:
    with turns.slot_file(what).open("a") as slot:
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_long_turn_is_offered_to_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now))
    turn, begun = SharedTurn(), threading.Event()

    def measure() -> None:
        with measuring_slot():
            begun.set()

    with turn:
        thread = threading.Thread(target=measure)
        thread.start()
        while is_free("measuring"):
            time.sleep(0.01)
        now = turns.TURN_S
        turn.offer()
        assert not begun.wait(0.2), "too early"
        now = 1.1 * turns.TURN_S
        turn.offer()
        assert begun.is_set()
    thread.join()


def test_who_has_measured_comes_after_who_waits() -> None:
    """Two that measure again and again, as runs do. Each measures until the other waits."""
    order: list[int] = []
    both = threading.Barrier(2)

    def measure(number: int) -> None:
        both.wait(60)
        for _ in range(10):
            with measuring_slot():
                order.append(number)
                patience = time.monotonic() + 60
                while is_free("next") and order.count(1 - number) < 10:
                    assert time.monotonic() < patience, "the other never waits"
                    time.sleep(0.01)

    threads = [threading.Thread(target=measure, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == 10 * order[:2]
    assert set(order) == {0, 1}


def test_workers_leave_the_measuring_cores(target: Target) -> None:
    cores = usable_cores()
    try:
        MeasuringPlace.of(replace(target, threads=len(cores))).leave()
        assert usable_cores() == cores, "there are no others"
        replace(MeasuringPlace.of(target), machine="another").leave()
        assert usable_cores() == cores, "nobody measures here"
        MeasuringPlace.of(target).leave()
        assert len(cores) == 1 or not set(usable_cores()) & set(cores[-1:])
    finally:
        os.sched_setaffinity(0, cores)


def test_measuring_cores_are_distinct_and_as_many_as_threads() -> None:
    for threads in range(1, len(usable_cores()) + 1):
        assert len(set(measuring_cores(threads))) == threads


@pytest.mark.parametrize("lock", ["measuring", "next"])
def test_who_waits_says_for_whom(lock: str) -> None:
    """Also one behind another that waits."""
    heard: list[str] = []
    with ExitStack() as other:
        other.enter_context(turns._slot(lock))

        def told(text: str) -> None:
            heard.append(text)
            other.close()

        with measuring_slot(told):
            pass
    assert heard == [f"waiting for process {os.getpid()} to end its measurement"]
