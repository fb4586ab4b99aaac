"""`schedsearch explain` and `compare`"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli.options import (
    DEFAULT_STORE,
    INTERRUPTED,
    MEASUREMENT,
    OUTPUT,
    CandidateArgument,
    FileOption,
    InstructionsOption,
    JsonOption,
    StoreOption,
    candidate_argument,
)
from schedsearch.cli.telling import say, told
from schedsearch.core.errors import UserError
from schedsearch.present import format as fmt
from schedsearch.present.assembly import Assembly
from schedsearch.present.compared import compared
from schedsearch.present.diff import Diff
from schedsearch.present.explained import Explained, explained
from schedsearch.store.database import Store
from schedsearch.study.hot import counters, hot
from schedsearch.study.measure import Steps, measure_pair, measure_steps
from schedsearch.study.schedule import Schedule, opened


def explain(
    candidate_id: CandidateArgument,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print Markdown, for a review.", rich_help_panel=OUTPUT),
    ] = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Time each step against the one before, where the store has only predictions or "
            "what was measured apart; takes seconds a step.",
            rich_help_panel=MEASUREMENT,
        ),
    ] = False,
    asm: Annotated[
        bool,
        typer.Option(
            "--asm",
            help="Show the machine code of the hottest loops beside the C and Exo lines that it "
            "comes from, what an iteration does, and what limits the kernel.",
            rich_help_panel=MEASUREMENT,
        ),
    ] = False,
    count: Annotated[
        bool,
        typer.Option(
            "--counters",
            help="Count instructions, cycles, cache misses and branch misses of a call: by perf, "
            "else by valgrind, else by an estimate; the output says which.",
            rich_help_panel=MEASUREMENT,
        ),
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Show step by step what each rewrite did to the loop nest and to the speed.

    Effects are measured where the search measured the schedule up to a step, or one with
    the same machine code; else they are the cost estimate's, marked with ~. In the table, =
    marks steps that make no difference, ? those whose rounds do not tell. With --measure
    every step is timed against the one before; Ctrl-C stops and keeps what was measured.

    --asm and --counters answer another question: why the kernel is as fast as it is. They print
    the hottest loops or the counters instead of the steps, and say what limits the kernel.
    """
    if asm or count:
        if measure:
            raise UserError("--measure times the steps: use it without --asm and --counters")
        with opened(store, candidate_id, file, instructions) as schedule:
            with redirect_stdout(sys.stderr):
                found_hot = hot(schedule)
                counted = counters(schedule, found_hot) if count else None
            machine = Assembly(found_hot, counted, asm)
            _print(schedule, machine, markdown, json_)
        return
    timed = None
    with opened(store, candidate_id, file, instructions) as schedule:
        if measure:
            # The user's file may print; standard output is for the result alone.
            with redirect_stdout(sys.stderr), told() as tell:
                timed = measure_steps(schedule, tell)
        found = explained(schedule)
    _print(schedule, found, markdown, json_)
    if timed is not None:
        say(_said(timed))
        if timed.interrupted:
            raise typer.Exit(INTERRUPTED)


def _print(schedule: Schedule, found: Explained | Assembly, markdown: bool, json_: bool) -> None:
    if json_:
        workload = schedule.workload
        head = {"candidate": schedule.id, "procedure": workload.proc}
        head |= {"sizes": dict(workload.sizes)}
        print(json.dumps(head | found.to_json(), indent=2))
    elif markdown:
        print(found.markdown)
    else:
        Console(highlight=False).print(found.terminal)


def _said(steps: Steps) -> str:
    if not steps.wanted:
        return "nothing to measure: every step is known"
    stopped = "interrupted; " if steps.interrupted else ""
    return f"{stopped}{steps.timed} of {fmt.count(steps.wanted, 'step')} measured, and kept"


def compare(
    first: Annotated[int, candidate_argument("A", "A candidate, as `best` prints it.")],
    second: Annotated[int, candidate_argument("B", "Another of the same procedure.")],
    c: Annotated[
        bool, typer.Option("--c", help="Print the difference of their C as well.")
    ] = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Time the two now, interleaved; the measurement is kept as others."
        ),
    ] = False,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Show what two schedules have in common, where they part, and which one is faster.

    That is known from what the search measured, at different times unless it timed one against
    the other; with --measure it is tested now.
    """
    now = None
    with Store.open(store, create=False) as opened_store:
        one, other = (
            Schedule.of(opened_store, opened_store.candidate(each), file, instructions or ())
            for each in (first, second)
        )
        if measure:
            try:
                with redirect_stdout(sys.stderr), told() as tell:
                    now = measure_pair(one, other, tell)
            except KeyboardInterrupt:
                say("interrupted before the two were compared")
                raise typer.Exit(INTERRUPTED) from None
        found = compared(one, other, now)
    if json_:
        print(json.dumps(found.to_json(), indent=2))
        return
    console = Console(highlight=False)
    console.print(found.terminal)
    if c:
        texts = [each.generate().source for each in (one, other)]
        titles = (f"candidate {first}", f"candidate {second}")
        difference = Diff(texts[0], texts[1], titles, "c")
        console.print(f"\n{difference!r}", markup=False, soft_wrap=True)
