"""The protocol, against programs that speak it badly."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import pytest

from schedsearch.core.records import Failure, Outcome
from schedsearch.evaluate.run.runner import Limits, run_harness, was_killed

LIMITS = Limits(wall_s=5, silence_s=5, address_bytes=1 << 30, file_bytes=1 << 20, threads=8)


def speak(
    tmp_path: Path, script: str, wall_s: float = 5, given_up: Event | None = None
) -> tuple[Failure | None, list[list[str]]]:
    """Run a Python program in place of the harness; `say` and `nonce` are there for it."""
    program = tmp_path / "program"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys, time\nchannel = int(sys.argv[1])\n"
        "nonce = input()\n"
        "def say(text): os.write(channel, f'{nonce} {text}\\n'.encode())\n" + script
    )
    program.chmod(0o755)
    heard: list[list[str]] = []

    def handle(words: list[str]) -> str | None:
        heard.append(words)
        return "g" if words[0] == "ask" else str(int("x")) if words[0] == "bad" else None

    limits = replace(LIMITS, wall_s=wall_s)
    failure = run_harness(program, lambda nonce: f"{nonce}\n", limits, handle, given_up=given_up)
    return failure, heard


def test_success_is_end_and_a_clean_exit(tmp_path: Path) -> None:
    failure, heard = speak(tmp_path, "say('one 1'); say('two'); say('end')")
    assert failure is None
    assert heard == [["one", "1"], ["two"]]


def test_questions_are_answered(tmp_path: Path) -> None:
    failure, heard = speak(tmp_path, "say('ask'); say(os.read(channel, 1).decode()); say('end')")
    assert failure is None
    assert heard == [["ask"], ["g"]]


def test_a_child_that_somebody_kills_is_told_from_one_that_crashes(tmp_path: Path) -> None:
    killed, _ = speak(tmp_path, "os.kill(os.getpid(), 9)")
    assert killed is not None
    assert was_killed(killed)
    crashed, _ = speak(tmp_path, "os.kill(os.getpid(), 11)")
    assert crashed is not None
    assert not was_killed(crashed)


BAD = {
    "nothing": ("", "exited early"),
    "no end": ("say('one')", "exited early"),
    "end, then failure": ("say('end'); sys.exit(9)", "code 9"),
    "more after the end": ("say('end'); say('one')", "garbage"),
    "wrong nonce": ("os.write(channel, b'0123456789abcdef end\\n')", "garbage"),
    "no words": ("os.write(channel, nonce.encode() + b'\\n')", "garbage"),
    "binary": ("os.write(channel, bytes(range(256)) + b'\\n')", "garbage"),
    "unfinished line": ("say('end'); os.write(channel, nonce.encode())", "half a report"),
    "unreadable number": ("say('bad'); say('end')", "malformed report"),
    "stderr is quoted": ("sys.stderr.write('it broke'); sys.exit(1)", "it broke"),
    "dies with our answer unread": ("say('ask'); say('ask'); time.sleep(.2)", "exited early"),
    "closes the channel": ("say('end'); os.close(channel); sys.exit(3)", "code 3"),
}


@pytest.mark.parametrize(("script", "part"), BAD.values(), ids=BAD.keys())
def test_anything_else_is_a_crash(script: str, part: str, tmp_path: Path) -> None:
    failure, _ = speak(tmp_path, script)
    assert failure is not None
    assert failure.outcome is Outcome.CRASH
    assert part in failure.message


@pytest.mark.normal
@pytest.mark.parametrize(
    "script",
    ["time.sleep(99)", "say('end'); time.sleep(99)", "os.close(channel); time.sleep(99)"],
    ids=["silent", "after the end", "channel closed"],
)
def test_wall_clock_limit(script: str, tmp_path: Path) -> None:
    start = time.monotonic()
    failure, _ = speak(tmp_path, script, wall_s=0.5)
    assert failure is not None
    assert failure.outcome is Outcome.TIMEOUT
    assert time.monotonic() - start < 50


@pytest.mark.normal
def test_a_child_ends_when_it_is_given_up(tmp_path: Path) -> None:
    given_up, start = Event(), time.monotonic()
    Timer(0.3, given_up.set).start()
    failure, _ = speak(tmp_path, "say('one'); time.sleep(99)", wall_s=60, given_up=given_up)
    assert failure is not None
    assert failure.message == "given up"
    assert time.monotonic() - start < 50


def test_grandchildren_that_hold_the_channel_do_not_delay_the_result(tmp_path: Path) -> None:
    script = "say('end')\nif os.fork() == 0: time.sleep(99)"
    start = time.monotonic()
    failure, _ = speak(tmp_path, script, wall_s=60)
    assert failure is None
    assert time.monotonic() - start < 50
