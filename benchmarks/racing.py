"""`python -m benchmarks.racing`: does a race find the fastest of many close schedules?

Many candidates with known speeds are screened, then the fastest are chosen by one of two
schemes with as many rounds in total: the first three by their screenings are confirmed
(as before there was a race), or those that are close race and the winner is confirmed
(`schedsearch.search.race`, the code that runs use). Timings are synthetic: a round's
ratio is lognormal with occasional slow samples, and every screening shares a drift with
the others of its minute, because anchors were measured at other times. Sizes of both are
those measured on shared virtual machines: medians of 15 rounds differ by 0.4 % in the
middle and by 2.3 % in one case of ten.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from schedsearch.core.records import Measurement, Round
from schedsearch.search.race import CONTENDERS, HEATS, field, survivors

CANDIDATES = 100
SCREEN_ROUNDS = 3
CONFIRM_ROUNDS = 15
NOISE = 0.015
"""Standard deviation of the logarithm of one round's ratio."""
SLOW, SLOW_BY = 0.1, 0.1
"""How often a round is disturbed, and by how much on average."""
DRIFT, MINUTE = 0.015, 20
"""Of anchors: standard deviation of the logarithm, and candidates that share one."""

GAPS = (0.005, 0.01, 0.02, 0.05)


class Scheme(StrEnum):
    """How rounds are spent after screening."""

    CONFIRM_ONLY = "confirm the first three"
    RACE = "race, then confirm one"


@dataclass(frozen=True)
class Chance:
    """Over many trials: how often the fastest was named, how much slower on average the
    named one is (`lost`, relative), and rounds after screening."""

    scheme: Scheme
    found: float
    lost: float
    rounds: float


Screened = list[tuple[str, Measurement]]
"""Numbers of candidates with their screenings, the fastest first."""


@dataclass(frozen=True)
class Machine:
    """Times candidates; `speeds` are true speed-ups over a common reference."""

    speeds: Sequence[float]
    rng: np.random.Generator

    def screen(self) -> Screened:
        drifts = self.rng.normal(0.0, DRIFT, CANDIDATES // MINUTE)
        found = [
            (str(number), self.time(number, "screen", SCREEN_ROUNDS, drifts[number // MINUTE]))
            for number in range(CANDIDATES)
        ]
        return sorted(found, key=lambda item: middle(item[1]), reverse=True)

    def time(self, number: int, kind: str, rounds: int, drift: float = 0.0) -> Measurement:
        noise = self.rng.normal(0.0, NOISE, rounds)
        slow = self.rng.exponential(SLOW_BY, rounds) * (self.rng.random(rounds) < SLOW)
        sign = self.rng.choice([-1.0, 1.0], rounds)  # the candidate's sample, or the anchor's
        ratios = self.speeds[number] * np.exp(noise + sign * slow + drift)
        own = 1e6 / self.speeds[number]
        samples = tuple(Round((own,), (own * float(ratio),)) for ratio in ratios)
        return Measurement(kind, samples, calls=1, reference="anchor")


def chances(gap: float, trials: int, seed: int) -> tuple[Chance, Chance]:
    """Both schemes on the same screenings: the fastest candidate is 1, the next is slower by
    an exponential of mean `gap`, and so on."""
    results: dict[Scheme, list[tuple[bool, float, int]]] = {scheme: [] for scheme in Scheme}
    for trial in range(trials):
        rng = np.random.default_rng((seed, trial))
        slower = np.cumsum(rng.exponential(gap, CANDIDATES - 1))
        machine = Machine(rng.permutation([1.0, *np.exp(-slower)]).tolist(), rng)
        screened = machine.screen()
        by_race = raced(machine, screened)
        by_confirming = confirmed(machine, screened, as_many=by_race[1])
        for scheme, (number, rounds) in (
            (Scheme.CONFIRM_ONLY, by_confirming),
            (Scheme.RACE, by_race),
        ):
            speed = machine.speeds[number]
            results[scheme].append((speed == 1.0, 1.0 - speed, rounds))
    before, now = (
        Chance(scheme, *(float(np.mean(column)) for column in zip(*found, strict=True)))
        for scheme, found in results.items()
    )
    return before, now


def raced(machine: Machine, screened: Screened) -> tuple[int, int]:
    """The winner of the race, and the rounds it took, with its confirmation; if there is
    none, the best of those that are confirmed."""
    racing = field(screened)
    if not racing:
        return confirmed(machine, screened, CONFIRM_ROUNDS * CONTENDERS)
    pooled: dict[str, Measurement] = {}
    rounds = CONFIRM_ROUNDS
    for heat in HEATS:
        if len(racing) < 2:
            break
        rounds += heat.rounds * len(racing)
        for key in racing:
            again = machine.time(int(key), heat.plan.kind, heat.rounds)
            pooled[key] = pooled[key].pooled(again) if key in pooled else again
        racing = survivors({key: pooled[key] for key in racing}, heat.left)
    return int(racing[0]), rounds


def confirmed(machine: Machine, screened: Screened, as_many: int) -> tuple[int, int]:
    """The fastest of the first `CONTENDERS`, which share `as_many` rounds."""
    rounds = max(CONFIRM_ROUNDS, round(as_many / CONTENDERS))
    keys = [key for key, _ in screened[:CONTENDERS]]
    timed = {key: middle(machine.time(int(key), "confirm", rounds)) for key in keys}
    return int(max(timed, key=lambda key: timed[key])), rounds * CONTENDERS


def middle(measurement: Measurement) -> float:
    """The speed-up, without its interval."""
    return float(np.median([round_.speedup for round_ in measurement.rounds]))


def run(
    trials: Annotated[int, typer.Option(min=1, help="Searches simulated per gap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the simulated machine.")] = 0,
    json_: Annotated[Path | None, typer.Option("--json", help="Also write all of it here.")] = None,
) -> None:
    """How often the fastest of a hundred close schedules is named, with and without a race, with
    as many timing rounds after screening.

    A gap is how much slower the next schedule is on average: the smaller, the harder.
    Simulated with the noise of shared virtual machines; no kernel is run.
    """
    table = Table(title="The fastest of 100 schedules", title_justify="left")
    for title in ("gap", "scheme", "named", "slower than the fastest", "rounds"):
        table.add_column(title, justify="left" if title == "scheme" else "right")
    rows = []
    for gap in GAPS:
        for chance in chances(gap, trials, seed):
            rows.append({"gap": gap, **asdict(chance)})
            table.add_row(
                f"{gap:.1%}",
                chance.scheme,
                f"{chance.found:.0%}",
                f"{chance.lost:.2%}",
                f"{chance.rounds:.0f}",
            )
    Console(highlight=False).print(table)
    if json_:
        json_.write_text(json.dumps({"schema": 1, "trials": trials, "rows": rows}, indent=1))


if __name__ == "__main__":
    typer.run(run)
