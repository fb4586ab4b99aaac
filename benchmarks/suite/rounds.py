"""Timing of several contenders in interleaved rounds."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schedsearch.core.stats import Estimate, median_with_interval

Call = Callable[[], object]
Samples = tuple[tuple[float, ...], ...]
"""Per round, seconds per call of each sample; a round that was left out is empty."""

_SAMPLE_S = 0.010
_SAMPLES = 3
# Slower calls are sampled once a round, and not in every round: nobody waits minutes
# to know by how many per cent something is fifty times slower.
_SLOW_S, _SLOWER_S, _SLOWEST_S = 0.05, 0.25, 2.0
_ROUNDS_OF_SLOWER = 3
_LEAST_ROUNDS = 5


@dataclass(frozen=True)
class Plan:
    """Rounds are made until there are `rounds`, or `seconds` are over (but at least five)."""

    rounds: int = 20
    seconds: float = 20.0


def time_interleaved(
    calls: Mapping[str, Call], restore: Callable[[], None], plan: Plan, seed: int = 0
) -> dict[str, Samples]:
    """Samples of every contender, all in each round, in random order.

    `restore` is called before each sample, outside of its time: contenders that
    update in place do not run away.
    """
    order = random.Random(seed)
    counts: dict[str, int] = {}
    call_s: dict[str, float] = {}
    samples: dict[str, list[tuple[float, ...]]] = {name: [] for name in calls}
    gc.disable()
    try:
        for name, call in calls.items():
            counts[name], call_s[name] = _calibrate(call, restore)
        start = time.perf_counter()
        for number in range(plan.rounds):
            if number >= _LEAST_ROUNDS and time.perf_counter() - start > plan.seconds:
                break
            turns = [name for name in calls for _ in range(_samples_in(number, call_s[name]))]
            order.shuffle(turns)
            # Of the slowest, calibration is the only sample; it is long enough to count.
            heard: dict[str, list[float]] = {
                name: [call_s[name]] if number == 0 and call_s[name] > _SLOWEST_S else []
                for name in calls
            }
            for name in turns:
                heard[name].append(_sample(calls[name], restore, counts[name]))
            for name in calls:
                samples[name].append(tuple(heard[name]))
    finally:
        gc.enable()
    return {name: tuple(rounds) for name, rounds in samples.items()}


def ratio(theirs: Samples, ours: Samples) -> Estimate:
    """How many times slower `theirs` is: the median over rounds of ratios of minima."""
    return median_with_interval(
        [min(a) / min(b) for a, b in zip(theirs, ours, strict=True) if a and b]
    )


def seconds(samples: Samples) -> float:
    """Seconds per call: the median over rounds of minima."""
    return median_with_interval([min(sample) for sample in samples if sample]).value


def _samples_in(number: int, call_s: float) -> int:
    """How many samples round `number` takes of what lasts `call_s` seconds."""
    if call_s > _SLOWEST_S:
        return 0
    if call_s > _SLOWER_S:
        return 1 if number < _ROUNDS_OF_SLOWER else 0
    return 1 if call_s > _SLOW_S else _SAMPLES


def _calibrate(call: Call, restore: Callable[[], None]) -> tuple[int, float]:
    """Calls that last a sample, and the seconds of one."""
    calls = 1
    while True:
        per_call = _sample(call, restore, calls)
        if per_call * calls >= _SAMPLE_S:
            return calls, per_call
        wanted = int(1.1 * _SAMPLE_S / max(per_call, 1e-8)) + 1
        calls = min(max(wanted, calls + 1), 10 * calls)


def _sample(call: Call, restore: Callable[[], None], calls: int) -> float:
    restore()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls
