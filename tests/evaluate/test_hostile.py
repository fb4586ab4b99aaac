"""Candidates that misbehave in every way seen in practice: right outcome, no hang."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.records import Failure, Measurement, Outcome
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Anchor, Bench

from .hostile import SCREEN, kernel, run

pytestmark = pytest.mark.normal


def test_a_right_kernel_is_measured(bench: Bench, builder: Builder) -> None:
    result = run(bench, kernel(builder, "right(y, x);"))
    assert isinstance(result, Measurement)
    assert len(result.rounds) == 2


INCORRECT = {
    "wrong value": ("right(y, x); y[5] += 1;", ["y[5] is ", "1 elements differ", "integers"]),
    "missed write": ("for (int i = 0; i < 63; i++) y[i] = 3 * x[i];", ["y[63] is nan"]),
    "just past the end": ("right(y, x); y[64] = 0;", ["0 bytes past the end of y"]),
    "just before": ("right(y, x); y[-1] = 0;", ["4 bytes before the start of y"]),
    "further past the end": ("right(y, x); y[64 + 900] = 0;", ["3600 bytes past the end of y"]),
    "far past the end": ("right(y, x); y[64 + 4096] = 0;", ["16384 bytes past the end of y"]),
    "far before the start": ("right(y, x); y[-4096] = 0;", ["16384 bytes before the start of y"]),
    "read past the end": (
        "right(y, x); volatile float after = x[64]; (void)after;",
        ["0 bytes past the end of x"],
    ),
    "towards the pristine inputs": (
        "for (char *p = (char *)x; ; p += 4096) *p = 1;",
        ["changed the input x[0]"],
    ),
    "read before the start": (
        "right(y, x); volatile float before = x[-1]; (void)before;",
        ["4 bytes before the start of x"],
    ),
    "input changed": ("right(y, x); ((float *)x)[7] = 0.25f;", ["changed the input x[7]"]),
    "past an input": ("right(y, x); ((float *)x)[64] = 0;", ["past the end of x"]),
}


@pytest.mark.parametrize(("body", "parts"), INCORRECT.values(), ids=INCORRECT.keys())
def test_incorrect(bench: Bench, builder: Builder, body: str, parts: list[str]) -> None:
    result = run(bench, kernel(builder, body))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    for part in parts:
        assert part in result.message


def test_wrong_from_the_second_call_on(bench: Bench, builder: Builder) -> None:
    result = run(bench, kernel(builder, "right(y, x); y[0] += calls++;", "static int calls;"))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    assert "floats" in result.message


CRASH = {
    "segfault": ("*(volatile int *)8 = 1;", "SIGSEGV"),
    "illegal instruction": ("__builtin_trap();", "SIGILL"),
    "stack overflow": (
        "volatile char big[64 << 20]; for (long i = 64 << 20; i--; i -= 99) big[i] = 1;",
        "SIGSEGV",
    ),
    "abort": ("abort();", "SIGABRT"),
    "heap corruption": ("free((void *)x);", "SIG"),
    "huge allocation": ("volatile float *t = malloc(1ull << 40); t[0] = 1;", "SIGSEGV"),
    "exit": ("right(y, x); exit(0);", "exited early (code 0)"),
    "exit with a code": ("_exit(7);", "exited early (code 7)"),
    "garbage everywhere": (
        'right(y, x); for (int f = 0; f < 99; f++) (void)!write(f, "end\\nverified\\n", 13);',
        "garbage",
    ),
    "half a report": (
        'for (int f = 3; f < 99; f++) (void)!write(f, "x", 1); _exit(0);',
        "half a report",
    ),
    "flood": (
        "static char junk[1 << 16]; memset(junk, 'x', sizeof junk);"
        "for (;;) for (int f = 3; f < 99; f++) (void)!write(f, junk, sizeof junk);",
        "flooded",
    ),
}


@pytest.mark.parametrize(("body", "part"), CRASH.values(), ids=CRASH.keys())
def test_crash(bench: Bench, builder: Builder, body: str, part: str) -> None:
    result = run(bench, kernel(builder, body))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.CRASH
    assert part in result.message


def test_crash_says_what_was_going_on(bench: Bench, builder: Builder) -> None:
    body = f"right(y, x); if (calls++ > {len(bench.cases)}) abort();"
    result = run(bench, kernel(builder, body, "static int calls;"))
    assert isinstance(result, Failure)
    assert result.message == "SIGABRT, while timing"


@pytest.mark.parametrize(
    "body",
    [
        'for (;;) __asm__ volatile("");',
        "static int word; for (;;) syscall(SYS_futex, &word, 0, 0, 0);",
        'sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); for (;;) __asm__("");',
        "kill(getpid(), SIGSTOP);",
    ],
    ids=["busy", "asleep", "blocks signals", "stopped"],
)
def test_endless(bench: Bench, builder: Builder, home: Path, body: str) -> None:
    start = time.monotonic()
    result = run(bench, kernel(builder, body))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.TIMEOUT
    assert "verifying with" in result.message
    assert time.monotonic() - start < 120


def test_endless_once_it_is_timed(bench: Bench, builder: Builder, home: Path) -> None:
    body = f"right(y, x); if (calls++ > {len(bench.cases)}) for (;;);"
    result = run(bench, kernel(builder, body, "static int calls;"))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.TIMEOUT
    assert "while timing" in result.message


def test_descriptors_do_not_leak(bench: Bench, builder: Builder) -> None:
    gc.collect()  # what other tests left open is not closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    for body in ("abort();", "right(y, x);", "right(y, x); exit(0);"):
        run(bench, kernel(builder, body))
    assert len(os.listdir("/proc/self/fd")) == before


def test_far_too_slow_is_pruned_while_screening(bench: Bench, builder: Builder) -> None:
    slow = "clock_t until = clock() + 5 * CLOCKS_PER_SEC / 2; while (clock() < until);"
    artifact = kernel(builder, f"{slow} right(y, x);")
    plan = replace(SCREEN, give_up_below=50.0)
    result = bench.evaluate(artifact, plan, Anchor(bench.baseline, "baseline")).result
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.PRUNED
    assert "too slow to be of use" in result.message
