"""Kernels that reach for the machine: each gets a verdict and leaves nothing; the run goes on.

Whatever would do harm if the sandbox were not there is written so that it fails by itself:
signal 0, times that are no times, mounts of nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedsearch.core.records import Failure, Measurement, Outcome
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan

from .hostile import kernel, run

pytestmark = pytest.mark.normal


def check_the_run_goes_on(bench: Bench) -> None:
    assert isinstance(run(bench, bench.baseline), Measurement)


REFUSED = {
    "socket": ("socket(AF_INET, SOCK_STREAM, 0);", "socket()"),
    "unix socket": ("int pair[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, pair);", "socketpair()"),
    "fork": ("if (fork() == 0) for (;;) pause();", "clone()"),
    "vfork": ("if (vfork() == 0) _exit(0);", "vfork()"),
    "fork bomb": ("for (;;) fork();", "clone()"),
    "sleeps": ("usleep(1);", "clock_nanosleep()"),
    "waits for a signal": ("pause();", "pause()"),
    "daemon": ("if (fork() == 0) { setsid(); if (fork() == 0) for (;;) pause(); }", "clone()"),
    "new session": ("setsid();", "setsid()"),
    "program": ('execl("/bin/true", "true", (char *)0);', 'execve("/bin/true")'),
    "shell": ('(void)!system("touch made");', "with signals blocked"),
    "pipe from a shell": ('popen("touch made", "r");', "pipe2()"),
    "writes a file": ('fputs("x", fopen("made", "w"));', 'openat("made")'),
    "appends to a file": ('fputs("x", fopen("precious", "a"));', 'openat("precious")'),
    "empties a file": ('open("precious", O_RDONLY | O_TRUNC);', 'openat("precious")'),
    "fills the disk": ('for (FILE *f = fopen("made", "w");;) fputs("xx", f);', 'openat("made")'),
    "unnamed file": ('open(".", 020200002, 0600);', 'openat(".")'),
    "creates the old way": ('syscall(SYS_creat, "made", 0600);', 'creat("made")'),
    "shared memory": ('shm_open("/made", O_CREAT | O_RDWR, 0600);', 'openat("/dev/shm/made")'),
    "memory file": ('memfd_create("made", 0);', "memfd_create()"),
    "deletes": ('unlink("precious");', 'unlink("precious")'),
    "deletes a path with a line break": ('unlink("a\\nend");', 'unlink("a?end")'),
    "renames": ('rename("precious", "made");', 'rename("precious")'),
    "truncates": ('(void)!truncate("precious", 0);', 'truncate("precious")'),
    "makes a directory": ('mkdir("made", 0700);', 'mkdir("made")'),
    "makes a link": ('(void)!symlink("precious", "made");', 'symlink("made")'),
    "changes a mode": ('chmod("precious", 0);', 'chmod("precious")'),
    "signals its parent": ("kill(getppid(), 0);", "kill()"),
    "signals everyone": ("kill(-1, 0);", "kill()"),
    "traces": ("ptrace(PTRACE_TRACEME, 0, 0, 0);", "ptrace()"),
    "mounts": ('mount("", "", "", 0, 0);', "mount"),
    "new namespace": ("unshare(0);", "unshare()"),
    "sets the clock": (
        "struct timespec t = {-1, -1}; syscall(SYS_clock_settime, 0, &t);",
        "clock_settime()",
    ),
    "raises a limit": (
        "struct rlimit r = {RLIM_INFINITY, RLIM_INFINITY}; setrlimit(RLIMIT_AS, &r);",
        "prlimit64()",
    ),
    "real-time priority": ("struct sched_param p = {-1}; sched_setscheduler(0, 1, &p);", "sched_"),
    "lives on without its parent": ("prctl(PR_SET_PDEATHSIG, 0);", "prctl()"),
    "other user": ("(void)!setuid(12345);", "setuid()"),
    "closes its standard output": ("right(y, x); fclose(stdout);", "close()"),
    "closes everything": ("right(y, x); for (int f = 0; f < 99; f++) close(f);", "close()"),
    "closes a range": ("right(y, x); syscall(SYS_close_range, 3, 99, 0);", "close_range()"),
    "replaces its channel": ("right(y, x); for (int f = 3; f < 20; f++) dup2(1, f);", "dup2()"),
    "takes over refusals": ("signal(SIGSYS, SIG_IGN);", "rt_sigaction()"),
    "outlives the alarm": ("signal(SIGALRM, SIG_IGN);", "rt_sigaction()"),
    "hides refusals": (
        "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); socket(1, 1, 0);",
        "with signals blocked",
    ),
    "from a thread": (
        "pthread_t t; pthread_create(&t, 0, (void *)fork, 0); pthread_join(t, 0);",
        "clone()",
    ),
    "thread bomb": (
        "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 16384);"
        "for (pthread_t t;;) pthread_create(&t, &a, sleeper, 0);",
        "threads, and may have",
    ),
}


@pytest.mark.parametrize(("body", "part"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(bench: Bench, builder: Builder, home: Path, body: str, part: str) -> None:
    result = run(bench, kernel(builder, body))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.REFUSED, result.message
    assert part in result.message
    assert result.message.endswith(", while verifying with integers")
    check_the_run_goes_on(bench)


def test_refused_while_it_is_loaded(bench: Bench, builder: Builder, home: Path) -> None:
    before = '__attribute__((constructor)) static void early(void) { unlink("precious"); }'
    result = run(bench, kernel(builder, "right(y, x);", before))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.REFUSED
    assert result.message == (
        'the kernel called unlink("precious"); the sandbox refused it, while loading the kernel'
    )


CRASH = {
    "division by zero": ('__asm__ volatile("idivl %0" :: "r"(0), "a"(1), "d"(0));', "SIGFPE"),
    "endless recursion": (
        "volatile char here[4096]; here[0] = 1; triple(ctxt, y, x); here[1] = 1;",
        "SIGSEGV",
    ),
    # Not by malloc: it fills what it returns while kernels are verified, and time may end first.
    "allocates all it can": (
        "for (;;) *(volatile char *)mmap(0, 1 << 26, PROT_WRITE, "
        "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;",
        "SIG",
    ),
    "jumps into nowhere": ("static jmp_buf nowhere; longjmp(nowhere, 1);", "SIG"),
    "a signal without a name": ("kill(getpid(), 40);", "signal 40"),
    "exits in a thread": (
        "pthread_t t; pthread_create(&t, 0, (void *)exit, 0); for (;;);",
        "exited early (code 0)",
    ),
}


@pytest.mark.parametrize(("body", "part"), CRASH.values(), ids=CRASH.keys())
def test_crash(bench: Bench, builder: Builder, home: Path, body: str, part: str) -> None:
    result = run(bench, kernel(builder, body))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.CRASH, result.message
    assert part in result.message
    check_the_run_goes_on(bench)


def test_more_static_memory_than_there_may_be(bench: Bench, builder: Builder, home: Path) -> None:
    body = "big[(long)x[0]] = 1; y[0] = big[5];"
    result = run(bench, kernel(builder, body, "static char big[1ull << 40];"))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.CRASH
    assert "cannot load the kernel" in result.message


CHANGED = {
    "rounding mode": ("fesetround(FE_UPWARD);", "the floating-point mode"),
    "denormals": ("__builtin_ia32_ldmxcsr(0x9fc0);", "the floating-point mode (MXCSR)"),
    "x87 precision": (
        'short word = 0x27f; __asm__ volatile("fldcw %0" :: "m"(word));',
        "the floating-point mode (x87)",
    ),
    "x87 stack": ('__asm__ volatile("fld1");', "the x87 register stack"),
    "MMX without emms": ('__asm__ volatile("pxor %mm0, %mm0");', "the x87 register stack"),
    "direction flag": ('__asm__ volatile("std");', "the direction flag"),
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="registers of x86-64")
@pytest.mark.parametrize(("body", "part"), CHANGED.values(), ids=CHANGED.keys())
def test_state_that_others_depend_on(
    bench: Bench, builder: Builder, home: Path, body: str, part: str
) -> None:
    result = run(bench, kernel(builder, f"right(y, x); {body}"))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    assert result.message.startswith(f"changed {part}")
    assert result.message.endswith(", while verifying with integers")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="registers of x86-64")
def test_kernels_get_the_floating_point_mode_of_a_caller(
    bench: Bench, builder: Builder, home: Path
) -> None:
    """While they are verified and while they are timed: denormal numbers are not flushed."""
    body = "if (__builtin_ia32_stmxcsr() & 0xffc0 ^ 0x1f80) abort(); right(y, x);"
    assert isinstance(run(bench, kernel(builder, body)), Measurement)


def test_state_changed_once_it_is_timed(bench: Bench, builder: Builder, home: Path) -> None:
    late = len(bench.cases) + 6
    body = f"right(y, x); if (++calls == {late}) fesetround(FE_UPWARD);"
    result = run(bench, kernel(builder, body, "static int calls;"))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.INCORRECT
    assert "while timing" in result.message


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs another core")
def test_moving_to_another_core(bench: Bench, builder: Builder, home: Path) -> None:
    body = "right(y, x); cpu_set_t all; memset(&all, 255, sizeof all);"
    result = run(bench, kernel(builder, f"{body} sched_setaffinity(0, sizeof all, &all);"))
    assert isinstance(result, Failure)
    assert result.message.startswith("changed the cores it runs on")


HARMLESS = {
    "reads the clock": "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); time(0);",
    "reads a file": 'FILE *f = fopen("/proc/self/stat", "r"); if (!f) abort(); fclose(f);',
    "prints": 'fputs("here\\n", stdout); fputs("here\\n", stderr); fflush(0);',
    "allocates": "volatile char *p = malloc(1 << 24); p[1 << 23] = 1; free((void *)p);",
    "its own signals": "signal(SIGUSR1, SIG_IGN); raise(SIGUSR1);",
    "jumps": "jmp_buf here; if (setjmp(here) == 0) longjmp(here, 1);",
    "a thread": "pthread_t t; pthread_create(&t, 0, (void *)getpid, 0); pthread_join(t, 0);",
    "asks what this system may lack": "if (syscall(SYS_io_uring_enter) != -1) abort();",
}


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless(bench: Bench, builder: Builder, home: Path, body: str) -> None:
    result = run(bench, kernel(builder, f"{body} right(y, x);"))
    assert isinstance(result, Measurement), result


@pytest.mark.parametrize("rounds", [40, 90])
def test_many_rounds(bench: Bench, builder: Builder, home: Path, rounds: int) -> None:
    """Each has copies of the code, whose descriptors are kept open."""
    plan = TimingPlan("confirm", rounds, rounds, sample_ns=1e4)
    anchor = Anchor(bench.baseline, "baseline")
    result = bench.evaluate(kernel(builder, "right(y, x);"), plan, anchor).result
    assert isinstance(result, Measurement), result
    assert len(result.rounds) == rounds
    closing = "right(y, x); for (int f = 6; f < 400; f++) close(f);"
    refused = bench.evaluate(kernel(builder, closing), plan, anchor).result
    assert isinstance(refused, Failure)
    assert refused.outcome is Outcome.REFUSED


SNIPPETS = [
    *(body for body, _ in REFUSED.values() if "for (;;)" not in body),
    *HARMLESS.values(),
    "right(y, x);",
    "y[64] = 0;",
    "abort();",
    "exit(0);",
    "*(volatile int *)8 = 1;",
    "__builtin_trap();",
    "fesetround(FE_UPWARD);",
    'for (int f = 3; f < 99; f++) (void)!write(f, "end\\n", 4);',
    "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0);",
    "memset(__builtin_frame_address(0), 0, 4096);",
    "kill(getpid(), SIGSTOP);",
]


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    body=st.lists(st.sampled_from(SNIPPETS), min_size=2, max_size=5),
    first_at=st.integers(0, 6),
)
def test_whatever_comes_together(
    bench: Bench, builder: Builder, home: Path, body: list[str], first_at: int
) -> None:
    """From some call on: while it is verified, or while it is timed."""
    blocks = " ".join(f"{{ {snippet} }}" for snippet in body)
    started = f"right(y, x); if (calls++ >= {first_at}) {{ {blocks} }}"
    run(bench, kernel(builder, started, "static int calls;"))
    check_the_run_goes_on(bench)
