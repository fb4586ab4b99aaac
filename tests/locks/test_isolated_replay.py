"""Replay in a process of its own: what it gives, and what ends it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.locks import isolated_replay as apart
from schedsearch.locks.isolated_replay import NoReplayError, replay_isolated
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.operators import ops
from schedsearch.transforms.replay import Replayer

KERNEL = Path(__file__).parents[1] / "cli" / "kernels" / "matmul32.py"


@pytest.fixture(scope="module")
def matmul() -> Any:
    return load_source(KERNEL).procs["matmul32"]


def unroll(path: tuple[int, ...], loop: str) -> Rewrite:
    return Rewrite("unroll", 1, path, f"for {loop} in seq(0, 32)")


SPLIT = Rewrite(
    *("split", 1, (0,), "for i in seq(0, 32)"),
    (("factor", 1), ("inner", "ii"), ("outer", "i"), ("tail", "perfect")),
)
SIMPLIFY = Rewrite("simplify", 1, (), "procedure")
LONG = Trace((unroll((0, 0, 0), "k"), unroll((0, 0), "j"), unroll((0,), "i"), SIMPLIFY))
"""32,768 statements are allowed; to simplify 512 takes Exo ten seconds."""


def cuts(path: tuple[int, ...], loop: str, count: int) -> list[Rewrite]:
    """The last iteration is cut off, again and again, and with it all that is inside."""
    return [
        Rewrite("cut_loop", 1, path, f"for {loop} in seq(0, {n})", (("point", n - 1),))
        for n in range(32, 32 - count, -1)
    ]


def refused(matmul: Any, trace: Trace, seconds: float = apart.REPLAY_S) -> str:
    with pytest.raises(NoReplayError) as error:
        replay_isolated(matmul, trace, seconds)
    assert multiprocessing.active_children() == []
    return str(error.value)


def test_it_gives_what_replay_here_gives(matmul: Any) -> None:
    trace = Trace((unroll((0, 0, 0), "k"),))
    found = replay_isolated(matmul, trace)
    state = Replayer(matmul).state(trace)
    assert found.ast_key == ast_key(state.ast, state.build)
    assert found.code == generate_c(state.procedure, state.build)


@pytest.mark.normal
def test_what_takes_too_long_is_ended(matmul: Any) -> None:
    begin = time.monotonic()
    said = refused(matmul, LONG, seconds=2.0)  # a busy machine starts the process late
    assert said.startswith("replaying the schedule takes longer than 2 s, at step ")
    assert time.monotonic() - begin < 30


def test_what_needs_too_much_memory_is_ended(matmul: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "REPLAY_BYTES", 64 << 20)
    monkeypatch.setattr(apart, "generate_c", lambda *args: bytearray(1 << 30))
    assert refused(matmul, Trace()) == "the schedule asks for too much: MemoryError, at its C"


@pytest.mark.normal
def test_doubling_and_nesting_end_soon(matmul: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = refused(matmul, Trace((SPLIT,) * 1000))
    assert said.startswith("the schedule does not apply: step 61 (split(factor=1, ")
    assert "65 deep inside of each other, 64 are allowed" in said
    monkeypatch.setattr(ops, "MOST_STATEMENTS", 100)
    said = refused(matmul, Trace((*cuts((0, 0, 0), "k", 9), *cuts((0, 0), "j", 31))))
    # A nest of j has 10 loops over k then: with 5 of them, and i, it is 1 + 5 * 21.
    assert said.startswith("the schedule does not apply: step 13 (cut_loop(point=28) at 0.0 ")
    assert "cut_loop: 106 statements, 100 are allowed" in said


def test_a_child_that_is_killed_is_nobodys_fault(matmul: Any) -> None:
    def kill() -> None:
        while not (children := multiprocessing.active_children()):
            time.sleep(0.01)
        os.kill(children[0].pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(UserError, match=r"was killed by somebody else .*, at "):
        replay_isolated(matmul, LONG)
    killer.join()


def test_errors_of_our_own_are_told_apart(matmul: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(apart, "generate_c", broken)
    with pytest.raises(RuntimeError, match="replaying the schedule failed, at its C"):
        replay_isolated(matmul, Trace())
