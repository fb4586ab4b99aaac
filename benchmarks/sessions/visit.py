"""One session: what `run` does at its end, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from schedsearch.search.again import options_again
from schedsearch.search.budget import Budget
from schedsearch.search.options import Options
from schedsearch.search.result import Listener
from schedsearch.search.session import tune
from schedsearch.search.stepping import Stepper
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate

TOP = 5
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
    """The five that `best` names first, each timed against the first, interleaved: how many times
    as fast they are."""
    scope, first, *others = _top(store)
    found = [1.0]
    with _ByHand(store, scope) as stepper:
        for each in others:
            stepper.measure(each.record.trace, first)
            found.append(stepper.standing(each.record.trace).measurements[-1].ratio.value)
    return found


def _top(store: Path) -> tuple[Scope, StoredCandidate, *tuple[StoredCandidate, ...]]:
    with Store.open(store, create=False) as opened:
        [scope] = opened.scopes()
        first, *others = (c for c in opened.best(scope, TOP) if c.record.trace.steps)
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
