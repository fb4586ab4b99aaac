"""`schedsearch.tune_recorded`: searches for what was called, where its time goes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from schedsearch.api.arguments import read_arguments, read_budget
from schedsearch.api.candidate import Candidate
from schedsearch.api.planning import Plan, Planned, best_stored, make_plan
from schedsearch.api.watching import watched
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_flag, given_place
from schedsearch.core.numbers import duration
from schedsearch.core.store_name import DEFAULT_STORE
from schedsearch.deploy.recorded import Counted, read_recordings
from schedsearch.deploy.recorder import Calls
from schedsearch.deploy.sources import STORE, using
from schedsearch.locks.pin import lock_entry
from schedsearch.locks.place import change_lock, read_lock
from schedsearch.search import session
from schedsearch.search.result import Listener
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.setup.sharing import LEAST_S, shares
from schedsearch.store.database import Store

BUDGET_S = 600.0

Watch = Callable[[str], AbstractContextManager[Listener]]
"""Shows a search with this title."""


@dataclass(frozen=True)
class Found:
    """A kernel that was called, and the store's best schedule for it, which may be of an earlier
    search; None if nothing is faster than as written."""

    planned: Planned
    schedule: Candidate | None
    searched: bool
    """Now, not earlier."""


_NONE = {True: "nothing faster", False: "not searched"}


_IN_USE: ContextVar[tuple[ExitStack, ...]] = ContextVar("schedsearch_tuned_in_use", default=())
"""What `with tuned:` has to end, of this thread or task."""


@dataclass(frozen=True)
class Tuned:
    """What was found for recorded calls: `with tuned:` applies it, `persist` keeps it.

    `problems` say which searches failed, and why.
    """

    found: tuple[Found, ...]
    problems: tuple[str, ...] = ()
    interrupted: bool = False
    """Whether it was stopped by hand: not everything was searched."""

    @property
    def schedules(self) -> tuple[Candidate, ...]:
        """Those that were found, of this search or an earlier one."""
        return tuple(each.schedule for each in self.found if each.schedule)

    def __enter__(self) -> Tuned:
        stack = ExitStack()
        stack.enter_context(using(*self.schedules))
        _IN_USE.set((*_IN_USE.get(), stack))
        return self

    def __exit__(self, *error: object) -> None:
        *others, stack = _IN_USE.get()
        _IN_USE.set(tuple(others))
        stack.close()

    def persist(self, lock: Path | str = "schedules.lock") -> tuple[str, ...]:
        """Write the schedules into a lock file, where kernels of files beside and below it find
        them. Entries of other kernels stay. Returns what could not be written, with the reasons.

        Raises UserError if that is all, or if the file cannot be written.
        """
        path, left_out, entries = Path(lock), [], []
        if path.exists():
            read_lock(path)  # before schedules are replayed
        for each in self.found:
            best, file = each.schedule, each.planned.options.file
            try:
                if best is not None:
                    entries.append(lock_entry(best.store, best.stored, path.resolve().parent, file))
            except UserError as error:
                left_out.append(f"{each.planned.name}: {error}")
        if not entries:
            raise UserError("\n".join(["nothing to keep in a lock file", *left_out]))
        change_lock(path, lambda before: before.having(entries))
        return tuple(left_out)

    def __rich__(self) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("kernel")
        for title in ("recorded", "now", "over as written", "roofline"):
            table.add_column(title, justify="right")
        for each in self.found:
            planned, timed = each.planned, each.schedule.measurement if each.schedule else None
            seconds = timed.candidate_ns * 1e-9 if timed else planned.now_s
            table.add_row(
                planned.name,
                duration(planned.recorded_s),
                duration(seconds) if timed else _NONE[each.searched],
                f"{timed.speedup.value:.3g}x" if timed else "",
                f"{planned.roof.share(seconds):.0%}",
            )
        return table

    def __repr__(self) -> str:
        text = StringIO()
        Console(file=text, width=120).print(self)
        return text.getvalue().rstrip()

    def as_json(self) -> list[dict[str, Any]]:
        """One object for each schedule; times in seconds."""
        return [
            {
                "proc": each.workload.proc,
                "sizes": dict(each.workload.sizes),
                "candidate": each.id,
                "call_s": timed.candidate_ns * 1e-9,
                "speedup": timed.speedup.to_json(),
            }
            for each in self.schedules
            if (timed := each.measurement)
        ]


def tune_recorded(
    calls: Calls | Path | str,
    *,
    budget: float | str = BUDGET_S,
    store: Path | str | None = None,
    fp: str | None = None,
    threads: int = Options.threads,
    specialize: bool = False,
    executor: str = Options.executor,
    workers: int | None = None,
    progress: bool = True,
) -> Tuned:
    """Search for schedules of what was called, as `schedsearch tune --recorded` does.

    `calls` is what `record` yielded, or the directory of `SCHEDSEARCH_RECORD`. `budget` is seconds,
    or a text such as "10m", of all searches together; they are shared out by what each kernel can
    gain: seconds of its calls times its distance from the roofline, by its best schedule in
    `store`. The default of that is the variable `SCHEDSEARCH_STORE`, else `schedsearch.sqlite` in
    the directory, or here.
    The rest is as `tune` has it, for every search. `progress` False: silent.

    Ctrl-C ends it: what was found by then is returned, and kept in the store; the same call
    continues. Raises UserError if nothing was recorded, or nothing of it can be tuned.
    """
    if not isinstance(calls, Calls | Path | str):
        raise UserError(
            "calls are what `schedsearch.record()` yields, or the directory of a recording, not "
            f"{type(calls).__name__}"
        )
    limit = read_budget(budget)
    given = read_arguments(
        {
            "fp": fp,
            "threads": threads,
            "specialize": specialize,
            "executor": executor,
            "workers": workers,
        }
    )
    given_flag("progress", progress)
    folder = None if isinstance(calls, Calls) else Path(calls)
    where = default_store(folder) if store is None else given_place("--store", store)
    counted: Sequence[Counted]
    counted = calls.counted if isinstance(calls, Calls) else read_recordings(Path(calls)).counted
    options = Options(
        Path(),
        budget=limit,
        store=where,
        **given,
    )
    options.check()
    plan = make_plan(counted, options)
    console = Console(stderr=True, highlight=False, quiet=not progress)
    show(console, plan)

    def watch(title: str) -> AbstractContextManager[Listener]:
        console.print(title, markup=False)
        return watched(progress)

    return search(plan, watch)


def default_store(folder: Path | None) -> Path | str:
    """For what is found about a recording in `folder`."""
    return os.environ.get(STORE) or (folder / DEFAULT_STORE if folder else DEFAULT_STORE)


def show(console: Console, plan: Plan) -> None:
    """Before a search."""
    console.print(plan)
    for note in plan.notes():
        console.print(note, markup=False, soft_wrap=True)


def search(plan: Plan, watch: Watch) -> Tuned:
    """Search what can gain most first. Time that a search leaves is for the others."""
    problems: list[str] = []
    searched = 0
    interrupted = False
    for planned, seconds in _due(plan):
        searched += 1
        title = f"{planned.name}: {duration(seconds)}"
        try:
            with watch(title) as listener:
                own = replace(planned.options, budget=Budget(seconds))
                result = session.tune(own, listener)
            interrupted = result.stop is Stop.INTERRUPTED
        except UserError as error:
            problems.append(f"{planned.name}: {error}")
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            break
    store = Store.open(plan.planned[0].options.store)
    found = []
    for number, planned in enumerate(plan.planned):
        best = best_stored(store, planned.subject)
        candidate = Candidate.of(store, best) if best else None
        found.append(Found(planned, candidate, number < searched))
    return Tuned(tuple(found), tuple(problems), interrupted)


def _due(plan: Plan) -> Iterator[tuple[Planned, float]]:
    """Each with its share of what is left when its turn comes."""
    for number, planned in enumerate(plan.planned):
        left = plan.until - time.monotonic()
        if number and left < LEAST_S:
            return
        gains = [each.gain_s for each in plan.planned[number:]]
        seconds = shares(max(left, 1.0), gains)[0]
        if not seconds:
            return
        yield planned, seconds
