"""One session: what `run` does at its end, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from schedsearch.search.again import options_again
from schedsearch.search.budget import Budget
from schedsearch.search.options import Options
from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.stepping import Stepper
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate

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
    scope, first, *_ = _top(store)
    with _ByHand(store, scope) as stepper:
        stepper.measure(first.record.trace)


def podium(store: Path) -> list[float]:
    """Those at `PLACES` of `best`, each timed against the first, interleaved, the median of
    `PROCESSES`: how many times as fast they are."""
    scope, first, *others = _top(store)
    found: dict[str, list[float]] = {each.record.trace.key: [] for each in others}
    with _ByHand(store, scope) as stepper:
        for _ in range(PROCESSES):
            for each in others:
                stepper.measure(each.record.trace, first)
                timed = stepper.standing(each.record.trace).measurements[-1]
                found[each.record.trace.key].append(timed.ratio.value)
    return [1.0, *map(median, found.values())]


def _top(store: Path) -> tuple[Scope, StoredCandidate, *tuple[StoredCandidate, ...]]:
    with Store.open(store, create=False) as opened:
        [scope] = opened.scopes()
        ranked = [c for c in opened.best(scope, PLACES[-1]) if c.record.trace.steps]
    first, *others = (ranked[place - 1] for place in PLACES if place <= len(ranked))
    return scope, first, *others


class _ByHand:
    """A run in which nothing is searched."""

    def __init__(self, store: Path, scope: Scope) -> None:
        with Store.open(store, create=False) as opened:
            options = options_again(opened, store, scope, Budget(0.0), None, ())
        self._stepper = Stepper(options, SILENT)

    def __enter__(self) -> Stepper:
        return self._stepper

    def __exit__(self, *_: object) -> None:
        self._stepper.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["search", file, proc, store, seconds]:
            search(Path(file), proc, Path(store), float(seconds))
        case ["confirm", store]:
            confirm(Path(store))
        case ["podium", store]:
            print(*podium(Path(store)))
