"""Ctrl-C ends a search, also where other code swallows it."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import z3

from schedsearch.core.interrupts import deferred_interrupts, noticed_interrupts, raised_interrupts
from schedsearch.transforms.exo.compat import prepare

pytestmark = pytest.mark.normal


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    signal.sigtimedwait([], 0.01)  # give it a moment to arrive


@pytest.fixture(autouse=True)
def default_handler() -> None:
    prepare()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_swallows_the_exception_does_not_hide_it() -> None:
    with noticed_interrupts() as noticed:
        assert not noticed.is_set()
        try:
            press_ctrl_c()
        except BaseException:
            pass  # as Exo does
        assert noticed.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_is_raised_as_ever() -> None:
    with pytest.raises(KeyboardInterrupt), noticed_interrupts():
        press_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_comes_while_an_object_is_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    """Python prints such exceptions, and goes on."""
    deleted = []

    class Solver:
        def __del__(self) -> None:
            deleted.append(self)
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt), raised_interrupts():
        Solver()
    assert deleted
    assert capsys.readouterr().err == ""


def test_an_error_that_was_made_of_it() -> None:
    def rewrite() -> None:
        try:
            press_ctrl_c()
        except KeyboardInterrupt as error:
            raise ValueError("this rewrite is illegal") from error

    with pytest.raises(KeyboardInterrupt), raised_interrupts():
        rewrite()


def test_the_solver_does_not_take_it_for_itself() -> None:
    """Loading the transforms tells z3 so; by default it answers `unknown` and goes on."""
    a, b, c = z3.Ints("a b c")
    solver = z3.Solver()
    solver.set("timeout", 60_000)
    solver.add(a**3 + b**3 == c**3, a > 10, b > 10, c > 10)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solver.check()
    timer.join()


def test_another_handler_stays() -> None:
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    with noticed_interrupts():
        press_ctrl_c()
    assert seen == [1]


def test_deferred_ones_arrive_at_the_end() -> None:
    def interrupted() -> None:
        with deferred_interrupts():
            press_ctrl_c()
            done.append("all")

    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_deferred_ones_are_noticed() -> None:
    with noticed_interrupts() as noticed:
        with pytest.raises(KeyboardInterrupt), deferred_interrupts():
            press_ctrl_c()
        assert noticed.is_set()


def test_nothing_is_deferred_in_other_threads() -> None:
    def enter() -> None:
        with deferred_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[object] = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
