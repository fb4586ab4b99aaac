"""Timing of several contenders in interleaved rounds.

As far as Python goes like the harness's own protocol (`schedsearch/evaluate`): short samples
that last equally long, the first call of a sample not timed, new copies of compiled code and
arrays elsewhere in memory in each round. Not so: beside libraries of Python, calls go through
Python (below 1 us).
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from schedsearch.core.stats import Estimate, median_with_interval

Samples = tuple[tuple[float, ...], ...]
"""Per round, seconds per call of each sample; a round that was left out is empty."""

_SAMPLE_S = 0.002
_SAMPLES = 15
# Calls up to this length set how long all samples last. Slower calls are sampled once a round,
# and not in every round: to learn that a peer is 50 and not 51 times slower is worth no minutes.
SLOW_S, _SLOWER_S, _SLOWEST_S = 0.05, 0.25, 2.0
_ROUNDS_OF_SLOWER = 3
_TRIES = 3
_LEAST_ROUNDS = 5
_SETTLE_S = 0.03
"""After a call, threads of libraries look for more work on their core: OpenBLAS's for 2^26 cycles,
OpenMP's for about a millisecond. The next contender needs these cores."""


@dataclass(frozen=True)
class Plan:
    """Rounds are made until there are `rounds`, or `seconds` are over (but at least five)."""

    rounds: int = 20
    seconds: float = 20.0


class Sampled(Protocol):
    """A contender that can be timed."""

    def sample(self, calls: int, *, warm: bool) -> float:
        """Seconds per call of some calls in a row, from the arrays' start; `warm`: after one
        that is not timed."""

    def renew(self) -> None:
        """Put the arrays elsewhere in memory, and the code, if it is ours to load."""


def clock_of(threads: int) -> str:
    """`cpu` for one thread, whose clock other programs do not move on; `wall` for several, and
    where the CPU's clock counts ticks, as in processes whose CPU time is limited."""
    readings = [time.process_time_ns() for _ in range(200)]
    fine = all(earlier < later for earlier, later in pairwise(readings))
    return "cpu" if threads == 1 and fine else "wall"


def time_interleaved(
    contenders: Mapping[str, Sampled], plan: Plan, seed: int = 0, threads: int = 1
) -> dict[str, Samples]:
    """Samples of every contender, all in each round, in random order. With several threads, all of
    a contender's samples of a round come in a row, once the threads of the one before sleep."""
    order = random.Random(seed)
    samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    settle_s = _SETTLE_S if threads > 1 else 0.0
    call_s = {name: _calibrate(each, settle_s) for name, each in contenders.items()}
    lasting = max([_SAMPLE_S, *(s for s in call_s.values() if s <= SLOW_S)])
    counts = {name: max(1, round(lasting / s)) for name, s in call_s.items()}
    most = max(_TRIES, int(_SAMPLES * _SAMPLE_S / lasting))
    start = time.perf_counter()
    for number in range(plan.rounds):
        if number >= _LEAST_ROUNDS and time.perf_counter() - start > plan.seconds:
            break
        if number > 0:
            for each in contenders.values():
                each.renew()
        wanted = {name: _samples_in(number, call_s[name], most) for name in contenders}
        turns = [name for name, count in wanted.items() for _ in range(count)]
        order.shuffle(turns)
        if settle_s:
            turns.sort(key=list(dict.fromkeys(turns)).index)
        # The slowest have no sample but their calibration, which is long enough to count.
        heard: dict[str, list[float]] = {
            name: [call_s[name]] if number == 0 and call_s[name] > _SLOWEST_S else []
            for name in contenders
        }
        for name, before in zip(turns, [None, *turns], strict=False):
            if settle_s and name != before:
                time.sleep(settle_s)
            warm = call_s[name] <= SLOW_S
            heard[name].append(contenders[name].sample(counts[name], warm=warm))
        for name in contenders:
            samples[name].append(tuple(heard[name]))
    return {name: tuple(rounds) for name, rounds in samples.items()}


def ratios(theirs: Samples, ours: Samples) -> list[float]:
    """How many times slower `theirs` is in each round: of minima."""
    return [min(a) / min(b) for a, b in zip(theirs, ours, strict=True) if a and b]


def ratio(theirs: Samples, ours: Samples) -> Estimate:
    """The median over rounds."""
    return median_with_interval(ratios(theirs, ours))


def seconds(samples: Samples) -> float:
    """Seconds per call: the median over rounds of minima."""
    return median_with_interval([min(sample) for sample in samples if sample]).value


def _samples_in(number: int, call_s: float, most: int) -> int:
    """The number of samples in round `number` of a call that lasts `call_s` seconds."""
    if call_s > _SLOWEST_S:
        return 0
    if call_s > _SLOWER_S:
        return 1 if number < _ROUNDS_OF_SLOWER else 0
    return 1 if call_s > SLOW_S else most


def _calibrate(contender: Sampled, settle_s: float) -> float:
    """Seconds of one call, from a sample that lasts long enough: the least of several, or one that
    is disturbed would decide how often all are called."""
    time.sleep(settle_s)
    calls = 1
    while True:
        per_call = contender.sample(calls, warm=calls > 1)
        for _ in range(1, _TRIES):
            if per_call * calls <= _SLOWER_S:
                per_call = min(per_call, contender.sample(calls, warm=True))
        if per_call * calls >= _SAMPLE_S:
            return per_call
        wanted = int(1.1 * _SAMPLE_S / max(per_call, 1e-8)) + 1
        calls = min(max(wanted, calls + 1), 10 * calls)
