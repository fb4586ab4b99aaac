"""`schedsearch tune`"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.api.arguments import read_budget
from schedsearch.api.planning import make_plan
from schedsearch.api.recorded import BUDGET_S, Tuned, default_store, search, show
from schedsearch.cli.options import (
    INTERRUPTED,
    KERNEL,
    OUTPUT,
    SEARCH,
    ExecutorOption,
    FilesOption,
    FpOption,
    JsonOption,
    ThreadsOption,
    WorkersOption,
)
from schedsearch.cli.telling import say, told
from schedsearch.core.store_name import STORE, without_password
from schedsearch.deploy.recorded import read_recordings
from schedsearch.locks.place import read_lock
from schedsearch.present.files import require_folder
from schedsearch.present.live import make_view
from schedsearch.search.result import Listener
from schedsearch.search.setup.options import Options


def tune(
    recorded: Annotated[
        Path,
        typer.Option(
            "--recorded",
            metavar="DIR",
            help="Directory that programs recorded their calls in.",
            rich_help_panel=KERNEL,
        ),
    ],
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time for all searches together: 90, 90s, 10m, 1h.",
            rich_help_panel=SEARCH,
        ),
    ] = f"{BUDGET_S / 60:g}m",
    lock: Annotated[
        Path | None,
        typer.Option(
            "--lock",
            metavar="FILE",
            help="Also write what was found into this lock file, e.g. schedules.lock.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="STORE",
            envvar=STORE,
            help="Tuning store. Default: schedsearch.sqlite in DIR.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    fp: FpOption = None,
    threads: ThreadsOption = Options.threads,
    specialize: Annotated[
        bool,
        typer.Option(
            "--specialize",
            help="Compile the recorded sizes in as constants.",
            rich_help_panel=KERNEL,
        ),
    ] = False,
    workers: WorkersOption = None,
    executor: ExecutorOption = Options.executor,
    file: FilesOption = None,
    json_: JsonOption = False,
) -> None:
    """Search for schedules of the kernels that a program calls, where its time goes.

    First run the program with SCHEDSEARCH_RECORD=DIR in its environment: calls
    and seconds of its kernels are kept there by sizes, no data. The budget is
    shared out by what each kernel can gain: its seconds times its distance from
    the roofline. Ctrl-C keeps what was found; the same command continues, and
    counts from the best schedules there are. If a search fails, the others go on,
    and the exit code is 1.

    Example: [bold]schedsearch tune --recorded calls --budget 10m --lock schedules.lock[/]
    """
    if lock is not None:
        require_folder("--lock", lock)
        if lock.exists():
            read_lock(lock)  # before the budget is spent
    options = Options(
        Path(),
        budget=read_budget(budget),
        store=store or default_store(recorded),
        fp=fp,
        threads=threads,
        specialize=specialize,
        executor=executor,
        workers=workers,
    )
    console, progress = (Console(stderr=to, highlight=False) for to in (json_, True))
    found = read_recordings(recorded)
    for each in found.damaged:
        progress.print(f"skipped: {each}", markup=False, soft_wrap=True)

    @contextmanager
    def watch(title: str) -> Iterator[Listener]:
        progress.print(title, markup=False)
        view = make_view(progress)
        try:
            yield Listener(view.phase, view.started, view.progress)
        finally:
            view.stop()

    try:
        # Users' files may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr), told() as tell:
            plan = make_plan(found.counted, options, file or (), tell)
        planned = plan.as_json()
        show(console, plan)
        with redirect_stdout(sys.stderr):
            tuned = search(plan, watch)
    except KeyboardInterrupt:
        say("interrupted; the same command continues")
        raise typer.Exit(INTERRUPTED) from None
    for problem in tuned.problems:
        progress.print(problem, markup=False, soft_wrap=True)
    console.print(tuned)
    if json_:
        print(json.dumps({"plan": planned, "found": tuned.as_json()}, indent=2))
    if lock and tuned.schedules:
        with redirect_stdout(sys.stderr):
            left_out = tuned.persist(lock)
        for each in left_out:
            progress.print(f"not in {lock}: {each}", markup=False, soft_wrap=True)
    for line in _next(tuned, lock, str(options.store)):
        console.print(line, markup=False, soft_wrap=True)
    if tuned.interrupted:
        raise typer.Exit(INTERRUPTED)
    if tuned.problems:
        raise typer.Exit(1)


def _next(tuned: Tuned, lock: Path | None, store: str) -> Iterator[str]:
    """What to do now."""
    if tuned.interrupted:
        yield "interrupted; what was found is kept, the same command continues"
    if not tuned.schedules:
        if not tuned.problems:
            yield "nothing faster was found; a larger --budget goes on from here"
        return
    if lock is not None:
        yield f"written: {lock}; kernels of files beside and below it run these schedules"
        return
    name = without_password(store)
    pin = shlex.join(["schedsearch", "pin", "--store", name])
    yield f"to use them: SCHEDSEARCH_STORE={shlex.quote(name)} in the program's environment, or"
    yield f"{pin}, which writes schedules.lock"
