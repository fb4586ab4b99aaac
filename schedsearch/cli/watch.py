"""`schedsearch watch`"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from schedsearch.cli.options import DEFAULT_STORE, JsonOption, StoreOption
from schedsearch.cli.telling import say
from schedsearch.core.errors import UserError
from schedsearch.core.records import RunStatus
from schedsearch.present import format as fmt
from schedsearch.present.live import PER_SECOND, PLAIN_EVERY_S, panel, plain_line, redraws
from schedsearch.search.lookup import stored_roof
from schedsearch.search.watching import latest, progress_of, running
from schedsearch.store.database import Store
from schedsearch.store.views import Run

POLL_S = 1.0


def watch(
    once: Annotated[bool, typer.Option("--once", help="Print the state now, and end.")] = False,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Follow a search that runs in another terminal, until it ends.

    What it shows is what the search has written to its store. Ctrl-C ends the watching, not the
    search. Exit code 1 if the search failed or was interrupted. With --once or --json it prints
    the state now and ends; that no search runs is then an answer, not an error.
    """
    with Store.open(store, create=False) as opened:
        run = running(opened)
        if json_:
            print(json.dumps(_json(opened, run), indent=2))
            return
        if run is None and once:
            print(_nothing_runs(opened))
            return
        if run is None:
            raise UserError(_nothing_runs(opened))
        console = Console(highlight=False)
        for line in _intro(opened, run):
            console.print(line, markup=False, soft_wrap=True)
        if once:
            _print(console, opened, run)
            return
        try:
            ended = _follow(console, opened, run)
        except KeyboardInterrupt:
            say("no longer watching; the search goes on")
            return
        console.print(f"{ended.status.value}: {_best(opened, ended)}", soft_wrap=True)
    if ended.status is not RunStatus.FINISHED:
        raise typer.Exit(1)


def _json(store: Store, run: Run | None) -> dict[str, Any]:
    """How it goes, for programs; `run` is null if none does."""
    found: dict[str, Any] = {"schema": 1, "run": None}
    if run is None:
        return found
    state = progress_of(store, run, datetime.now(UTC))
    top = state.best
    return found | {
        "run": run.id,
        "procedure": store.workload(run.scope).proc,
        "phase": state.phase,
        "elapsed_s": state.elapsed_s,
        "budget_s": state.budget_s,
        "measured": state.measured,
        "expanded": state.expanded,
        "speedup": top.measurement.speedup.to_json() if top else None,
    }


def _follow(console: Console, store: Store, run: Run) -> Run:
    """Show it until it ends; returns how it ended."""
    if not redraws(console):
        last = -PLAIN_EVERY_S
        while run.status is RunStatus.RUNNING:
            if time.monotonic() - last >= PLAIN_EVERY_S:
                last = time.monotonic()
                _print(console, store, run)
            time.sleep(POLL_S)
            run = latest(store, run.id)
        return run
    roof = stored_roof(store, run.scope)
    rated = partial(fmt.reached, roof)
    with Live(console=console, refresh_per_second=PER_SECOND, transient=True) as live:
        while run.status is RunStatus.RUNNING:
            live.update(panel(progress_of(store, run, datetime.now(UTC)), rated))
            time.sleep(POLL_S)
            run = latest(store, run.id)
    return run


def _print(console: Console, store: Store, run: Run) -> None:
    state = progress_of(store, run, datetime.now(UTC))
    console.print(plain_line(state), markup=False, soft_wrap=True)


def _intro(store: Store, run: Run) -> list[str]:
    workload = store.workload(run.scope)
    return [
        f"run {run.id}: {fmt.kernel(workload)} from {workload.source}",
        f"on {fmt.target(store.target(run.scope, run.id))}",
    ]


def _best(store: Store, run: Run) -> str:
    top = store.best(run.scope, 1)
    if not top or top[0].record.measurement is None:
        return "nothing was measured"
    return f"best {fmt.claim(top[0].record.measurement)}"


def _nothing_runs(store: Store) -> str:
    runs = store.runs()
    if not runs:
        return f"no search has used {store.name} yet; `schedsearch run FILE` starts one"
    last, proc = runs[-1], store.workload(runs[-1].scope).proc
    return (
        f"no search is running on {store.name}; the last one, run {last.id} of {proc}, is "
        f"{last.status.value}. `schedsearch best` shows its result"
    )
