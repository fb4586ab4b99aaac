"""Sanitizer builds of a run's winners: AddressSanitizer and UndefinedBehaviorSanitizer, and, for
kernels with threads, ThreadSanitizer.

They find faults that no output shows: accesses outside of temporaries, memory used after it was
freed, undefined arithmetic, and races that did not happen this time. A kernel is compiled for them
with little optimisation (every access of the C is still there) and called in every verification
case by a harness that has the sanitizer's library; around the arrays memory is poisoned. Threads
are our own (runtime/threads.c).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core import ast as q
from schedsearch.core.errors import DiskError, UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome, TimingKind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.runtime_text import runtime_source
from schedsearch.evaluate.oracle.counts import never_entered
from schedsearch.evaluate.oracle.harness import (
    Case,
    Placement,
    own_sources,
    shared_sources,
)
from schedsearch.evaluate.oracle.reach import Reach
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.findings import BUT, Check, Finding
from schedsearch.evaluate.run.reports import Verdict
from schedsearch.evaluate.run.runner import Limits, run_harness, was_killed
from schedsearch.evaluate.run.timing import TimingPlan

_COMPILE_S = 120.0
_RUN_S = 120.0
# Limit of the one call at a size where a baseline call takes too long (`bench.Part`).
SLOW_RUN_S = 15.0
# Sanitizers reserve terabytes of address space, and have threads of their own.
_ADDRESS_BYTES = 1 << 62
_THREADS = 64
_FILE_BYTES = 1 << 20  # messages
_MESSAGE = 1 << 16

_FOUND = re.compile(r"(?:runtime error|SUMMARY: \w+Sanitizer): (.*)")
# The library found its place in memory taken (by address space randomisation), or may not
# look at its own process.
_NOT_HERE = re.compile(r"\w+Sanitizer.*")


_MEMORY = ("memory and undefined behaviour", "address,undefined")
_RACES = ("data races", "thread")
COVERAGE = "all code is run"
NOTHING_MORE = Reach()


@dataclass(frozen=True)
class Inspector:
    """Checks kernels of one workload: its procedure, its own C, and how it is built. Where a
    baseline call takes too long, the call at that size has `slow_s` seconds."""

    proc: q.Proc
    unscheduled: GeneratedC
    bench: Bench
    builder: Builder
    slow_s: float = SLOW_RUN_S

    def inspect(self, code: GeneratedC, reach: Reach = NOTHING_MORE) -> tuple[Check, ...]:
        """The sanitizers' verdict on a verified kernel, called by the bench's cases and the calls
        of `reach`, and whether these calls run all of its code. It never raises for faults of the
        kernel.
        """
        called = Artifact("", "", code.key, reach.bindings)
        cases = self.bench.for_kernel(called).cases
        own = replace(self, bench=replace(self.bench, cases=cases))
        checks = own._memory_and_coverage(code, reach)
        if "#pragma omp" in code.source:
            checks.append(own._check(code, *_RACES))
        return tuple(checks)

    def _memory_and_coverage(self, code: GeneratedC, reach: Reach) -> list[Check]:
        unreached: set[int] = set()
        memory = self._check(counting(code), *_MEMORY, unreached)
        if memory.verdict is not Finding.PASSED:
            return [memory]
        lines = blocks(code.source)
        opening = [number for number, _ in _opening(code.source)]
        never = never_entered(code.source, reach.counts)
        unreached -= {opening.index(number) for number in never if number in opening}
        if len(unreached) <= reach.dead:
            return [memory, Check(COVERAGE, Finding.PASSED, _dead(len(unreached)))]
        left = ", ".join(f"`{lines[number]}`" for number in sorted(unreached)[:3])
        if memory.detail:
            return [memory, Check(COVERAGE, Finding.NOT_CHECKED, f"{left}: {memory.detail}")]
        return [memory, Check(COVERAGE, Finding.FAILED, f"no call runs {left}")]

    def _check(
        self, code: GeneratedC, what: str, sanitizers: str, unreached: set[int] | None = None
    ) -> Check:
        """Blocks that were not run are added to `unreached`, if the kernel counts."""
        compiler = self.builder.compiler
        if sanitizers == "thread" and compiler.kind != "gcc":
            return Check(what, Finding.NOT_CHECKED, f"needs gcc, the target has {compiler.kind}")
        found = self._run(code, what, sanitizers, unreached)
        if found.verdict is not Finding.FAILED:
            return found
        own = self._run(self.unscheduled, what, sanitizers)
        if own.verdict is Finding.FAILED:
            detail = f"{self.proc.name} as written fails it too: {own.detail}"
            return Check(what, Finding.NOT_CHECKED, detail)
        return found

    def _run(
        self, code: GeneratedC, what: str, sanitizers: str, unreached: set[int] | None = None
    ) -> Check:
        kernel = self.builder.instrumented(code, sanitizers, _COMPILE_S)
        if isinstance(kernel, Failure):
            return Check(what, Finding.NOT_CHECKED, _why_not_built(kernel.message))
        own = own_sources(self.proc, self.unscheduled)
        shared = {**shared_sources(), "threads.c": runtime_source("threads.c")}
        # Undefined behaviour is looked for in the kernel alone.
        flags = (f"-fsanitize={sanitizers.split(',')[0]}", "-DSANITIZED", "-rdynamic", "-O1")
        try:
            program = self.builder.executable(own, _COMPILE_S, flags, shared)
        except DiskError:
            raise
        except UserError as error:
            return Check(what, Finding.NOT_CHECKED, _why_not_built(str(error)))
        return self._judge(program, kernel, what, unreached)

    def _judge(self, program: Path, kernel: Path, what: str, unreached: set[int] | None) -> Check:
        """The verdict over all calls; slow ones run one by one after the others have passed."""
        called = [case for case in self.bench.cases if not case.timed]
        fast = [case for case in called if not case.uncalled]
        slow = {case.binding: case for case in called if case.uncalled}
        left: set[int] | None = None
        found = Check(what, Finding.PASSED)
        end: float | None = None  # of the slow ones
        for cases in (fast, *([case] for case in slow.values())):
            if not cases:
                continue
            if cases is not fast and end is None:
                end = time.monotonic() + self.slow_s
            limit_s = _RUN_S if end is None else end - time.monotonic()
            own: set[int] = set()
            more = self._called(program, kernel, what, cases, limit_s, own)
            if more.verdict is Finding.NOT_CHECKED and left is not None:
                found = replace(found, detail=f"{BUT} {cases[0].binding}: {more.detail}")
                break
            if more.verdict is not Finding.PASSED:
                return more
            left = own if left is None else left & own
        if unreached is not None:
            unreached |= left or set()
        return found

    def _called(
        self,
        program: Path,
        kernel: Path,
        what: str,
        called: Sequence[Case],
        run_s: float,
        unreached: set[int],
    ) -> Check:
        """In these calls, which have `run_s` seconds; blocks that none has run are added."""
        if run_s <= 0:
            return Check(what, Finding.NOT_CHECKED, "no time was left")
        cases = [replace(case, placement=Placement.FOR_TIMING) for case in called]
        plan = TimingPlan(TimingKind.SCREEN, 1, 1)
        heard = Verdict(cases, self.bench.fields, plan, "", 1.0, self.bench.cache)
        limits = Limits(run_s, run_s, _ADDRESS_BYTES, _FILE_BYTES, _THREADS)

        def job(nonce: str) -> str:
            head = [nonce, "evaluate", str(kernel), str(kernel)]
            return self.bench.job(head, limits, math.ceil(run_s), cases)

        files = [kernel, *(case.expected for case in cases)]
        failure = run_harness(program, job, limits, heard.handle, words=_MESSAGE, files=files)
        if heard.difference:
            return Check(what, Finding.FAILED, heard.difference)
        if failure is None:
            unreached.update(heard.unreached)
            return Check(what, Finding.PASSED)
        found = _FOUND.search(failure.message)
        if found is not None:
            detail = re.sub(r"\S*<stdin>:", "line ", found.group(1))
            return Check(what, Finding.FAILED, f"{detail}, while {heard.stage}")
        if was_killed(failure) or failure.outcome is Outcome.TIMEOUT or heard.verifying < 0:
            impossible = _NOT_HERE.search(failure.message)
            reason = impossible.group() if impossible else heard.error or failure.message[:200]
            return Check(what, Finding.NOT_CHECKED, reason)
        return Check(what, Finding.FAILED, f"{failure.message[:200]}, while {heard.stage}")


def _dead(count: int) -> str:
    many = "1 block is" if count == 1 else f"{count} blocks are"
    return f"{many} never run, whatever the call" if count else ""


def _why_not_built(message: str) -> str:
    if "cannot find" in message and "san" in message:
        return "the compiler's sanitizer libraries are not installed (Debian: libgcc-12-dev)"
    first, *more = message.splitlines()
    return f"{first} {more[0]}" if more and first.endswith(":") else first


# A block is the body of a loop or a branch, as Exo prints them. Each sets a flag when it begins;
# the harness reports the flags that are not set at the end.
_GUARD = re.compile(r"^ *#ifndef (HAVE_\w+)$")
_OPENS = re.compile(r"^ *(?:for \(.*\)|if \(.*\)|} else) \{$")


def blocks(source: str) -> tuple[str, ...]:
    """The lines that open the blocks of a kernel, in the order of their numbers."""
    return tuple(line.strip(" {") for _, line in _opening(source))


def _opening(source: str) -> Iterator[tuple[int, str]]:
    """Their numbers, without text that is there twice and compiled once."""
    guards, skipped = set[str](), False
    for number, line in enumerate(source.splitlines()):
        if guard := _GUARD.match(line):
            skipped = guard[1] in guards
            guards.add(guard[1])
        elif line.strip() == "#endif":
            skipped = False
        elif not skipped and _OPENS.match(line):
            yield number, line


def counting(code: GeneratedC) -> GeneratedC:
    """`code` with a flag per block: `for (..) {  ->  for (..) { schedsearch_reached[7] = 1;`."""
    lines, opening = code.source.splitlines(), [*_opening(code.source)]
    for block, (number, line) in enumerate(opening):
        lines[number] = f"{line} schedsearch_reached[{block}] = 1;"
    head = f"unsigned char schedsearch_reached[{len(opening) + 1}];"
    head += f"\nconst unsigned schedsearch_blocks = {len(opening)};"
    source = "\n".join([head, *lines, ""])
    return replace(code, source=source, key=digest(f"{code.key} counting"))
