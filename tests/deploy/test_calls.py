"""Right calls compute, wrong ones are refused and change nothing."""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import signal
import sys
import threading
import time
import traceback
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import cache
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.deploy.kernel import Kernel
from schedsearch.deploy.no_forks import no_forks

from .calls import SPOILERS, SUBJECTS, Call
from .procs import kernels

pytestmark = pytest.mark.normal  # kernels and their callers are compiled

SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(sorted(SUBJECTS))


@cache
def kernel(name: str) -> Kernel:
    return schedsearch.kernel(SUBJECTS[name].proc)


def perform(name: str, call: Call) -> None:
    kernel(name)(*call.arrays.values(), **call.controls)


@settings(max_examples=400)
@given(NAMES, SEEDS)
def test_right_calls_compute_what_numpy_does(name: str, seed: int) -> None:
    call = SUBJECTS[name].make(np.random.default_rng(seed))
    expected = deepcopy({**call.arrays, **call.controls})
    SUBJECTS[name].compute(expected)
    perform(name, call)
    for each, value in call.arrays.items():
        np.testing.assert_allclose(value, expected[each], rtol=1e-5, atol=1e-5)


def check_refused(name: str, spoiler: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spoiled = SPOILERS[spoiler](SUBJECTS[name].make(rng), rng)
    if spoiled is None:
        return
    call, named = spoiled
    before = call.contents
    with pytest.raises((TypeError, ValueError)) as refused:
        perform(name, call)
    said = str(refused.value)
    assert f"argument {named}:" in said or (named in said and "wanted" in said), said
    assert "got" in said
    assert call.contents == before
    assert np.all([np.isfinite(a).all() for a in call.arrays.values() if hasattr(a, "tobytes")])


WRONG = (NAMES, st.integers(0, len(SPOILERS) - 1), SEEDS)


@settings(max_examples=1000)
@given(*WRONG)
def test_wrong_calls_are_refused(name: str, spoiler: int, seed: int) -> None:
    check_refused(name, spoiler, seed)


@pytest.mark.slow
@settings(max_examples=20_000)
@given(*WRONG)
def test_many_wrong_calls_are_refused(name: str, spoiler: int, seed: int) -> None:
    check_refused(name, spoiler, seed)


@pytest.mark.parametrize("spoiler", SPOILERS, ids=lambda spoiler: spoiler.__name__)
def test_every_spoiler_spoils_something(spoiler: Any) -> None:
    rng = np.random.default_rng(1)
    assert any(spoiler(subject.make(rng), rng) for subject in SUBJECTS.values() for _ in range(9))


def test_messages_name_argument_wanted_and_came() -> None:
    a, b, c = (np.zeros(s, "f4") for s in ((3, 4), (4, 5), (3, 5)))
    with pytest.raises(
        TypeError, match=r"argument A: wanted float32 array of shape \(M, K\); got "
    ):
        kernel("matmul")(c, a.astype("f8"), b)
    with pytest.raises(
        ValueError, match=r"B: wanted shape \(K, N\) with M=3, N=5, K=4; got .*\(3, 5\)"
    ):
        kernel("matmul")(c, a, b[:3])
    square = np.zeros((3, 3), "f4")
    with pytest.raises(ValueError, match=r"C: wanted an output apart .* got memory of B too"):
        kernel("matmul")(square, np.zeros((3, 3), "f4"), square)


def test_what_a_type_cannot_hold_is_refused() -> None:
    y, x = np.zeros((2, 2)), np.ones((2, 2))
    narrow = [np.zeros(4, "f4"), np.ones(4, "f4")]
    single = schedsearch.kernel(kernels.single)
    for number in (1e300, -1e300, 10**300):
        with pytest.raises(ValueError, match=r"argument a: wanted .* got .*0"):
            single(number, *narrow)
    single(np.inf, *narrow)
    assert np.isinf(narrow[0]).all()
    kernel("windows")(1e300, y, x)
    assert (y == 1e300).all()


class Interrupted:
    def __index__(self) -> int:
        raise KeyboardInterrupt

    def __dlpack__(self, **options: Any) -> Any:
        raise MemoryError


def test_interrupts_are_no_refusals() -> None:
    a, b, c = (np.ones(s, "f4") for s in ((3, 4), (4, 5), (3, 5)))
    with pytest.raises(KeyboardInterrupt):
        kernel("matmul")(c, a, b, M=Interrupted())
    with pytest.raises(MemoryError):
        kernel("matmul")(c, Interrupted(), b)


def test_conditions_on_strides_say_what_came() -> None:
    with pytest.raises(ValueError, match=r"got n=8, y\.strides=\(2,\)"):
        kernel("blocks")(np.zeros(16, "f4")[::2], np.zeros(8, "f4"), np.zeros(1, "f4"))


def test_arguments_by_name_and_sizes_that_are_given() -> None:
    a, b, c = (np.ones(s, "f4") for s in ((3, 4), (4, 5), (3, 5)))
    kernel("matmul")(c, B=b, A=a, K=4, M=np.int64(3))
    assert (c == 5).all()
    with pytest.raises(
        TypeError, match="argument C: wanted one value; got one by position and one"
    ):
        kernel("matmul")(c, a, b, C=c)


class OnlyDlpack:
    """An array without the buffer protocol."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_other_buffers_and_dlpack() -> None:
    y = bytearray(3)
    kernel("bytes_up")(2, y, b"\x01\x02\x03")
    assert y == b"\x03\x04\x05"
    floats = array("f", range(8))
    total = array("f", [0])
    kernel("blocks")(np.zeros(8, "f4"), floats, total)
    assert total[0] == 28
    y = np.zeros(2, "u1")
    kernel("bytes_up")(2, OnlyDlpack(y), OnlyDlpack(np.ones(2, "u1")))
    assert (y == 3).all()


def test_windows_that_interleave_lie_apart() -> None:
    whole = np.arange(24.0).reshape(4, 6)
    even, odd = whole[:, ::2], whole[:, 1::2]
    expected = even + 2 * odd
    kernel("windows")(2.0, even, odd)
    assert (even == expected).all()
    with pytest.raises(ValueError, match="argument y: wanted an output apart"):
        kernel("windows")(2.0, whole[:, :3], whole[:, 2:5])


def in_threads(count: int, work: Any) -> None:
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()


@pytest.mark.parametrize("static", [False, True])
def test_two_threads_get_no_wrong_element(static: bool) -> None:
    """The first calls come at the same time too."""
    called = schedsearch.kernel(kernels.through_static if static else kernels.matmul)

    def products(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(20):
            a = rng.integers(0, 9, (8, 8)).astype("f4")
            expected, c, b = a @ a.T, np.zeros((8, 8), "f4"), a.T.copy()
            for _ in range(2500):
                c[...] = 0
                called(c, a, b)
                assert (c == expected).all()

    def copies(number: int) -> None:
        """Calls that take long enough to meet."""
        x = np.random.default_rng(number).uniform(size=(20_000, 64)).astype("f4")
        y = np.zeros_like(x)
        for _ in range(20):
            called(y, x)
            assert (y == x[:, ::-1]).all()

    in_threads(2, copies if static else products)


def test_a_child_forked_during_a_call_with_static_memory_can_call() -> None:
    assert ends_of_forks(kernels.through_static, repeat(500)) == {0}


def test_a_child_forked_during_a_first_call_can_call() -> None:
    """Each size has a first call."""
    assert ends_of_forks(kernels.through_static, count(2)) == {0}


def test_a_child_forked_while_schedules_are_looked_for_can_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cached properties have locks."""
    looked = threading.Event()

    def look_long(start: Path) -> None:
        looked.set()
        time.sleep(0.3)

    monkeypatch.setattr("schedsearch.deploy.sources.find_lock", look_long)
    called = schedsearch.kernel(kernels.through_static)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(lambda: called(*np.zeros((2, 3, 64), "f4")))
        looked.wait()
        assert end_of_fork(lambda: called(*np.zeros((2, 1, 64), "f4"))) == 0
        working.result()


def test_a_child_can_call_though_its_fork_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python drops what is raised before a fork, and forks."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with no_forks():
            held.set()
            done.wait()

    def interrupt() -> None:
        raise KeyboardInterrupt

    here = threading.get_ident()

    def interrupt_the_fork() -> None:
        while "_before" not in [each.name for each in stack_of(here)]:
            time.sleep(0.01)
        signal.pthread_kill(here, signal.SIGUSR1)

    called, arrays = schedsearch.kernel(kernels.through_static), np.zeros((2, 1, 64), "f4")
    before = signal.signal(signal.SIGUSR1, lambda number, frame: interrupt())
    with ThreadPoolExecutor(2) as pool:
        pool.submit(hold)
        held.wait()
        monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
        interrupting = pool.submit(interrupt_the_fork)
        try:
            assert end_of_fork(lambda: called(*arrays)) == 0
        finally:
            done.set()
    interrupting.result()
    signal.signal(signal.SIGUSR1, before)
    assert end_of_fork(lambda: called(*arrays)) == 0
    called(*arrays)


def stack_of(thread: int) -> traceback.StackSummary:
    """What a thread is in."""
    return traceback.extract_stack(sys._current_frames()[thread])


def ends_of_forks(procedure: Any, sizes: Iterator[int]) -> set[int]:
    """How children end that make a call, while another thread makes calls with these sizes."""
    called, done = schedsearch.kernel(procedure), threading.Event()

    def call(n: int) -> None:
        called(np.zeros((n, 64), "f4"), np.zeros((n, 64), "f4"))

    def work() -> None:
        for n in sizes:
            if done.is_set():
                return
            call(n)

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        try:
            return {end_of_fork(lambda: call(1)) for _ in range(50)}
        finally:
            done.set()
            working.result()


def end_of_fork(call: Callable[[], None], seconds: float = 120) -> int:
    """How a child ends that makes a call; it has far longer than that takes on a loaded machine,
    where it may be the first to compile the kernel."""
    if not (child := os.fork()):
        faulthandler.dump_traceback_later(seconds, exit=True)  # it says where the child hangs
        try:
            call()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def test_threads_run_while_a_kernel_does() -> None:
    """The interpreter is free during a call: of one that is long enough for a busy machine to let
    another thread run meanwhile."""
    kernel("matmul")(*np.ones((3, 4, 4), "f4"))  # the first call compiles
    assert any(runs_beside(np.ones((3, n, n), "f4")) for n in (400, 800, 1600))


def runs_beside(arrays: Any) -> bool:
    """Whether this thread runs before another ends the call on these arrays."""
    begun, finished = threading.Event(), list[bool]()

    def work() -> None:
        begun.set()
        kernel("matmul")(*arrays)
        finished.append(True)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # a thread that holds the interpreter keeps it
    try:
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        beside = not finished
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    return beside


def test_nothing_leaks() -> None:
    """Neither of 1e5 calls, nor of refused ones, nor of kernels."""
    a, b, c = (np.zeros((4, 4), "f4") for _ in range(3))
    wrong = b.astype("f8")

    def calls(count: int) -> None:
        for _ in range(count):
            kernel("matmul")(c, a, b)
        for _ in range(count // 20):
            with pytest.raises(TypeError):
                kernel("matmul")(c, a, wrong)

    calls(2000)
    gc.collect()
    before = [sys.getrefcount(each) for each in (a, b, c, wrong, None)]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(100_000)
    gc.collect()
    after = [sys.getrefcount(each) for each in (a, b, c, wrong, None)]
    assert after[:4] == before[:4]
    assert abs(after[4] - before[4]) < 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 4096  # KB


@pytest.mark.slow
def test_a_million_calls_leak_nothing() -> None:
    """By position, by name, windows, DLPack, numbers, and refused ones of most kinds."""
    matmul, windows, up, row = (kernel(n) for n in ("matmul", "windows", "bytes_up", "row"))
    a, b, c = np.ones((3, 4), "f4"), np.ones((4, 5), "f4"), np.zeros((3, 5), "f4")
    whole = np.zeros((4, 6))
    even, odd, left, right = whole[:, ::2], whole[:, 1::2], whole[:, :3], whole[:, 2:5]
    y, x, double = np.zeros(4, "u1"), np.ones(4, "u1"), b.astype("f8")
    out, rows = np.zeros(4, "i4"), np.ones((3, 4), "i4")
    frozen = c.copy()
    frozen.flags.writeable = False
    right_calls: list[Any] = [
        lambda: matmul(c, a, b),
        lambda: matmul(c, B=b, A=a, K=4),
        lambda: windows(2.0, even, odd),
        lambda: up(2, OnlyDlpack(y), OnlyDlpack(x)),
        lambda: row(out, rows, k=2, twice=True),
    ]
    wrong_calls: list[Any] = [
        lambda: matmul(c, a, double),
        lambda: matmul(c, a, b[:3]),
        lambda: matmul(frozen, a, b),
        lambda: matmul(c, a),
        lambda: matmul(c, a, b, no_such=1),
        lambda: windows(2.0, left, right),
        lambda: windows("1", even, odd),
        lambda: row(out, rows, k=2**40, twice=True),
        lambda: row(out, rows, k=3, twice=True),
        lambda: up(2, OnlyDlpack(y), object()),
    ]

    def calls(count: int) -> None:
        for _ in range(count // 10):
            for call in right_calls:
                call()
                call()
        for _ in range(count // 1000):
            for call in wrong_calls:
                with pytest.raises((TypeError, ValueError)):
                    call()

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    given = (a, b, c, whole, even, odd, y, x, double, out, rows, frozen)
    calls(20_000)
    gc.collect()
    before = [sys.getrefcount(each) for each in given]
    blocks, bytes_ = sys.getallocatedblocks(), resident()
    calls(1_000_000)
    gc.collect()
    assert [sys.getrefcount(each) for each in given] == before
    assert sys.getallocatedblocks() - blocks < 500  # one in a thousand calls would be 1000
    assert resident() - bytes_ < 2 << 20


@pytest.mark.parametrize(
    ("k", "error", "said"),
    [
        (-(2**31) - 1, TypeError, "argument k: wanted an integer of 32 bits; got int -2147483649"),
        (-(2**31), ValueError, "wanted k >= 0"),
        (2**31 - 1, ValueError, r"wanted .*k.*; got .*k=2147483647"),
        (2**31, TypeError, "argument k: wanted an integer of 32 bits; got int 2147483648"),
        (2**63, TypeError, "argument k: wanted an integer of 32 bits"),
        (-(2**64), TypeError, "argument k: wanted an integer of 32 bits"),
    ],
)
def test_control_values_have_32_bits(k: int, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        kernel("row")(np.zeros(4, "i4"), np.ones((3, 4), "i4"), k=k, twice=False)


def test_a_kernel_that_is_dropped_is_freed() -> None:
    dropped = schedsearch.kernel(kernels.scaled)
    x, y = np.ones(4, "f4"), np.zeros(4, "f4")
    dropped(x, y)
    variants = dropped._variants
    count = sys.getrefcount(variants)
    del dropped
    gc.collect()
    assert sys.getrefcount(variants) <= count - 2  # the kernel's, and its functions'


def test_only_exo_procedures_become_kernels() -> None:
    with pytest.raises(UserError, match="made of an Exo procedure, not of function"):
        schedsearch.kernel(lambda: None)
