"""Reports of the harness about a candidate, and the result that follows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from schedsearch.core.records import Failure, Measurement, Outcome, Round
from schedsearch.evaluate.arguments.layout import Buffer
from schedsearch.evaluate.build.host import host_state
from schedsearch.evaluate.oracle.agreement import Power
from schedsearch.evaluate.oracle.harness import Case, Field
from schedsearch.evaluate.run.sandbox import NO_SANDBOX, Sandbox, parse_sandbox
from schedsearch.evaluate.run.timing import Cache, Sampling, TimingPlan


class Enclosures:
    """Collects the reports while cases are evaluated: bytes written of each, how much each tells,
    by name of the output, and the times of baseline calls, if any."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.bytes: list[int] = []
        self.powers: list[dict[str, Power]] = [{} for _ in cases]
        self.call_ns: dict[int, float] = {}
        self.difference = ""
        self.error = ""

    def handle(self, words: list[str]) -> None:
        """Take one report."""
        match words:
            case ["power", number, position, written, defined, sharp, rough]:
                power = Power(int(written), int(defined), int(sharp), int(rough))
                buffer = _buffer(self.cases, number, position)
                self.powers[int(number)][buffer.name] = power
            case ["called", number, elapsed]:
                self.call_ns[int(number)] = float(elapsed)
            case ["mismatch", *_]:
                self.difference = _mismatch(self.cases, words)
            case ["enclosed", number, size]:
                _expect(int(number) == len(self.bytes))
                self.bytes.append(int(size))
            case ["outside", number, position, offset, size]:
                where = _outside(_buffer(self.cases, number, position), int(offset), int(size))
                self.error = f"it {where}"
            case ["error", *message]:
                self.error = " ".join(message)


@dataclass
class Verdict:
    """Collects the reports of one evaluation (the `report` calls in runtime/).

    Only their order makes a measurement of them: every case verified, in turn, then timed.
    `earlier` are the rounds of processes before this one, `sampling` what they calibrated.
    """

    cases: Sequence[Case]
    fields: Sequence[Field]
    plan: TimingPlan
    anchor_key: str
    anchor_speedup: float
    cache: Cache
    earlier: Sequence[Round] = ()
    sampling: Sampling | None = None
    scale: float = 1.0  # of the anchor's times
    host: tuple[tuple[str, str], ...] = field(default_factory=host_state)
    begun_at: float = field(default_factory=time.perf_counter)
    verified_at: float | None = None
    stage: str = "loading the kernel"
    verifying: int = -1
    unreached: list[int] = field(default_factory=list)  # blocks of a kernel that counts
    call_ns: dict[int, float] = field(default_factory=dict)  # of cases, one call each
    sandbox: Sandbox = NO_SANDBOX
    difference: str = ""
    error: str = ""
    calls: int = 0
    clock: str = ""
    rounds: list[Round] = field(default_factory=list)
    instructions: list[int] = field(default_factory=list)  # a call of each kernel, if counted

    def handle(self, words: list[str]) -> str | None:
        """Take one report; answers `g` or `s` after a round. Raises ValueError or IndexError for a
        report that the harness never sends, or not at that point.
        """
        match words:
            case ["verifying", number]:
                # Again, if the kernel has threads.
                _expect(0 <= int(number) in (self.verifying, self.verifying + 1))
                self.verifying = int(number)
                self.stage = f"verifying with {self._case(int(number))}"
            case ["called", number, elapsed]:
                _expect(int(number) == self.verifying)
                self.call_ns.setdefault(int(number), float(elapsed))
            case ["sandbox", *layers]:
                self.sandbox = parse_sandbox(layers)
            case ["mismatch", *_]:
                self.difference = _mismatch(self.cases, words)
            case ["touched", number, position, offset, size]:
                buffer = _buffer(self.cases, number, position)
                where = _touched(buffer, int(offset), int(size))
                self.difference = f"{where}, with {self._case(int(number))}"
            case ["outside", number, position, offset, size]:
                buffer = _buffer(self.cases, number, position)
                inside = 0 <= int(offset) < int(size)  # of an array that cannot be written
                where = (_touched if inside else _outside)(buffer, int(offset), int(size))
                self.difference = f"{where}, with {self._case(int(number))}"
            case ["config", number, position, expected, got]:
                self.difference = (
                    f"{self.fields[int(position)].name} is {got}, expected {expected}, "
                    f"with {self._case(int(number))}"
                )
            case ["changed", *what]:
                self.difference = f"changed {' '.join(what)}, while {self.stage}"
            case ["unreached", block]:
                self.unreached.append(int(block))
            case ["instructions", side, count]:
                _expect(self.verified_at is not None and int(side) == len(self.instructions))
                self.instructions.append(int(count))
            case ["verified"]:
                _expect(self.verifying == len(self.cases) - 1 and self.verified_at is None)
                self.verified_at = time.perf_counter()
                self.stage = "timing"
            case ["calls", calls, anchors, samples, clock]:
                _expect(self.verified_at is not None and self.calls == 0)
                _expect(min(int(calls), int(anchors), int(samples)) > 0)
                self.calls, self.clock = int(calls), clock
                self.sampling = Sampling(int(samples), (int(calls), int(anchors)))
            case ["round", *samples]:
                ns = tuple(map(float, samples))
                _expect(self.calls > 0 and all(0 < each < math.inf for each in ns))
                half = len(ns) // 2
                scaled = tuple(self.scale * each for each in ns[half:])
                self.rounds.append(Round(ns[:half], scaled))
                so_far = (*self.earlier, *self.rounds)
                more = self._stays() and self.plan.wants_more(so_far, self.anchor_speedup)
                return "g" if more else "s"
            case ["error", *message]:
                self.error = " ".join(message)
        return None

    def _stays(self) -> bool:
        """Whether another round may be of this process."""
        if not self.plan.fresh:
            return True
        assert self.verified_at is not None, "its rounds follow"
        verify_s = self.verified_at - self.begun_at
        return time.perf_counter() - self.verified_at < verify_s

    def result(self, failure: Failure | None) -> Measurement | Failure:
        """The outcome, given how the child ended."""
        if self.difference:
            return Failure(Outcome.INCORRECT, self.difference)
        if failure is not None:
            cause = self.error or failure.message
            return Failure(failure.outcome, f"{cause}, while {self.stage}")
        if self.verified_at is None or not self.rounds:
            return Failure(Outcome.CRASH, f"ended without a measurement, while {self.stage}")
        align = "/".join(f"{case.offset}" for case in self.cases if case.timed)
        found = ("align", align), ("clock", self.clock), ("cache", self.cache)
        host = tuple(sorted((*self.host, *found)))
        return Measurement(
            self.plan.kind,
            tuple(self.rounds),
            self.calls,
            host,
            self.anchor_key,
            self.anchor_speedup,
        )

    def _case(self, number: int) -> str:
        return str(self.cases[number])


def _buffer(cases: Sequence[Case], number: str, position: str) -> Buffer:
    buffer = cases[int(number)].layout[int(position)]
    if not isinstance(buffer, Buffer):
        raise ValueError(f"argument {position} is not a buffer")
    return buffer


def _outside(buffer: Buffer, offset: int, size: int) -> str:
    if offset < 0:
        return f"accessed memory {-offset} bytes before the start of {buffer.name}"
    return f"accessed memory {offset - size} bytes past the end of {buffer.name}"


def _touched(buffer: Buffer, offset: int, size: int) -> str:
    if offset < 0:
        return f"wrote {-offset} bytes before the start of {buffer.name}"
    if offset >= size:
        return f"wrote {offset - size} bytes past the end of {buffer.name}"
    flat = offset * buffer.elements // size
    if buffer.index(flat) is None:
        return f"wrote between the rows of {buffer.name}, at element {flat}"
    return f"changed the input {_element(buffer, flat)}"


def _mismatch(cases: Sequence[Case], words: list[str]) -> str:
    _, number, position, flat, count, got, low, high = words
    return (
        f"{_element(_buffer(cases, number, position), int(flat))} is {float(got):.9g}, expected "
        f"{_expected(float(low), float(high))}; {count} elements differ, with {cases[int(number)]}"
    )


def _expected(low: float, high: float) -> str:
    if low > high:
        return "some result"
    return f"{low:.9g}" if low == high or math.isnan(low) else f"{low:.9g} to {high:.9g}"


def _expect(in_order: bool) -> None:
    if not in_order:
        raise ValueError("it does not follow from those before")


def _element(buffer: Buffer, flat: int) -> str:
    index = buffer.index(flat)
    return f"{buffer.name}{list(index)}" if index else buffer.name
