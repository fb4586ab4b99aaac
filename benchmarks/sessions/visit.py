"""One session: what `run` does at its end, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options
from schedsearch.store.database import Store
from schedsearch.store.views import StoredCandidate
from schedsearch.study.schedule import opened
from schedsearch.study.stepping import Stepper, by_hand

PLACES = (1, 2, 3, 4, 5, 10, 20, 40)
"""Of `best` that are timed: the first five are often equal, and then have no order to be wrong."""
PROCESSES = 7
"""In which each of the top is timed: a kernel is some percent faster or slower in each, by where
its arrays lie. One alone found gemvs 5 % apart that the next found equal."""
SILENT = Listener(lambda _: None, lambda *_: None, lambda _: None)


def search(file: Path, proc: str, store: Path, seconds: float) -> None:
    """A run, the first or one that continues; inline, so that it leaves a core to others."""
    tune(Options(file, proc, {}, Budget(seconds), store, executor="inline"), SILENT)


def confirm(store: Path) -> None:
    """Time the best against the procedure as written once more."""
    first, *_ = _top(store)
    with _by_hand(store, first) as stepper:
        stepper.measure(first.record.trace)


def podium(store: Path) -> list[float]:
    """Those at `PLACES` of `best`, each timed against the first, interleaved, the median of
    `PROCESSES`: how many times as fast they are."""
    first, *others = _top(store)
    found: dict[str, list[float]] = {each.record.trace.key: [] for each in others}
    with _by_hand(store, first) as stepper:
        for _ in range(PROCESSES):
            for each in others:
                stepper.measure(each.record.trace, first)
                timed = stepper.standing(each.record.trace).measurements[-1]
                found[each.record.trace.key].append(timed.ratio.value)
    return [1.0, *map(median, found.values())]


def _top(store: Path) -> list[StoredCandidate]:
    with Store.open(store, create=False) as opened_store:
        [scope] = opened_store.scopes()
        ranked = [c for c in opened_store.best(scope, PLACES[-1]) if c.record.trace.steps]
    return [ranked[place - 1] for place in PLACES if place <= len(ranked)]


@contextmanager
def _by_hand(store: Path, candidate: StoredCandidate) -> Iterator[Stepper]:
    """A run in which nothing is searched."""
    with opened(store, candidate.id) as schedule:
        options = schedule.options(Budget(0.0))
    with by_hand(options, lambda _: None) as stepper:
        yield stepper


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["search", file, proc, store, seconds]:
            search(Path(file), proc, Path(store), float(seconds))
        case ["confirm", store]:
            confirm(Path(store))
        case ["podium", store]:
            print(*podium(Path(store)))
