"""Replaying a recording: which would have been named fastest, had rounds been given out so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.racing.recording import Recording
from schedsearch.core.records import Measurement, TimingKind
from schedsearch.search.engine.confirmation import CONTENDERS, HEAT, HEATS, field, survivors
from schedsearch.search.engine.plans import CONFIRM, SCREEN

Screened = list[tuple[str, Measurement]]
"""Numbers of leaders with their screenings, the fastest first."""


@dataclass
class Session:
    """The end of one made-up search: every leader was screened in one of some passes, and is
    timed again in others, which all share as they would the same minutes. The last quarter
    of the passes says how good a choice was: nobody who chooses has seen it."""

    recording: Recording
    rng: np.random.Generator
    processes: int = 0
    rounds: int = 0

    def __post_init__(self) -> None:
        order = self.rng.permutation(self.recording.passes).tolist()
        quarter = len(order) // 4
        self._earlier, self._later = order[:quarter], order[-quarter:]
        self._fresh = iter(order[quarter:-quarter])

    def screened(self) -> Screened:
        """What the search saw: a few rounds each, at different times."""
        found = []
        for leader in range(self.recording.leaders):
            number = self.rng.choice(self._earlier)
            screening = self.recording.measured(
                TimingKind.SCREEN, number, leader, SCREEN.max_rounds
            )
            found.append((str(leader), screening))
        return sorted(found, key=lambda item: item[1].middle, reverse=True)

    def time(self, keys: list[str], kind: TimingKind, rounds: int) -> dict[str, Measurement]:
        """Time each of these in a new process, as many rounds as there are of one."""
        number = next(self._fresh)
        found = {key: self.recording.measured(kind, number, int(key), rounds) for key in keys}
        self.processes += len(keys)
        self.rounds += sum(len(m.rounds) for m in found.values())
        return found

    def log_speedup(self, leader: int) -> float:
        """As the unseen passes have it."""
        return float(np.log(np.median(self.recording.pass_speedups[self._later, leader])))

    @property
    def seconds(self) -> float:
        each = self.recording
        return self.processes * each.process_s + self.rounds * each.round_s


Scheme = Callable[[Session, Screened], str]


def trust_screening(session: Session, screened: Screened) -> str:
    """The first is the best, says its screening."""
    return screened[0][0]


def confirm_first(session: Session, screened: Screened) -> str:
    """The first few are measured again, in one process each."""
    keys = [key for key, _ in screened[:CONTENDERS]]
    return survivors(session.time(keys, TimingKind.CONFIRM, CONFIRM.max_rounds), 1)[0]


def equal_rounds(session: Session, screened: Screened) -> str:
    """As many visits as a whole race has, shared evenly by those who would race."""
    racing = field(screened)
    if not racing:
        return confirm_first(session, screened)
    visits = sum(min(len(racing), left) for left in (len(racing), *HEATS[:-1]))
    pooled: dict[str, Measurement] = {}
    for _ in range(max(1, round(visits / len(racing)))):
        _heat(session, racing, pooled)
    return survivors(pooled, 1)[0]


def race(session: Session, screened: Screened) -> str:
    """As a run does it (`schedsearch.search.engine.confirmation`)."""
    racing = field(screened)
    if not racing:
        return confirm_first(session, screened)
    pooled: dict[str, Measurement] = {}
    for left in HEATS:
        if len(racing) < 2:
            break
        _heat(session, racing, pooled)
        racing = survivors({key: pooled[key] for key in racing}, left)
    return racing[0]


def _heat(session: Session, racing: list[str], pooled: dict[str, Measurement]) -> None:
    for key, again in session.time(racing, HEAT.kind, HEAT.max_rounds).items():
        pooled[key] = pooled[key].pooled(again) if key in pooled else again


def halving_within(session: Session, screened: Screened) -> str:
    """The race as it was: whose intervals reach the leader's, eight at most; 3, 5 and 8
    rounds, each heat in one process."""
    leader = screened[0][1]
    least = leader.ratio.low * leader.reference_speedup
    racing = [key for key, m in screened if m.ratio.high * m.reference_speedup >= least][:8]
    pooled: dict[str, Measurement] = {}
    for rounds, left in ((3, 4), (5, 2), (8, 1)):
        if len(racing) < 2:
            break
        for key, again in session.time(racing, HEAT.kind, rounds).items():
            pooled[key] = pooled[key].pooled(again) if key in pooled else again
        racing = survivors({key: pooled[key] for key in racing}, left)
    return racing[0]


SCHEMES: dict[str, Scheme] = {
    "believe the screening": trust_screening,
    f"confirm the first {CONTENDERS}": confirm_first,
    "race in few processes": halving_within,
    "everyone the same": equal_rounds,
    "race": race,
}


@dataclass(frozen=True)
class Mean:
    """Over all trials, and half of its 95 % interval."""

    value: float
    within: float

    @staticmethod
    def of(values: list[float]) -> Mean:
        data = np.array(values)
        return Mean(float(data.mean()), 1.96 * float(data.std()) / sqrt(len(data)))


@dataclass(frozen=True)
class Chance:
    """How a scheme does: how often the fastest was named, how much slower the named one is
    (`lost`, log speed-up), and what it took after the search."""

    scheme: str
    found: Mean
    lost: Mean
    rounds: Mean
    seconds: Mean


def chances(recording: Recording, trials: int, seed: int) -> list[Chance]:
    """All schemes on the same screenings."""
    best = int(recording.speedups.argmax())
    results: dict[str, list[tuple[float, ...]]] = {name: [] for name in SCHEMES}
    for trial in range(trials):
        for name, scheme in SCHEMES.items():
            session = Session(recording, np.random.default_rng((seed, trial)))
            chosen = int(scheme(session, session.screened()))
            lost = session.log_speedup(best) - session.log_speedup(chosen)
            results[name].append((chosen == best, lost, session.rounds, session.seconds))
    return [
        Chance(name, *(Mean.of(list(column)) for column in zip(*rows, strict=True)))
        for name, rows in results.items()
    ]
