"""`schedsearch check`"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli.against import AgainstOption
from schedsearch.cli.options import (
    DEFAULT_STORE,
    INTERRUPTED,
    MEASUREMENT,
    OUTPUT,
    CcOption,
    FilesOption,
    InstructionsOption,
    OnlyOption,
    StoreOption,
    TargetOption,
)
from schedsearch.cli.parse import parse_seconds, parse_share
from schedsearch.cli.telling import say, told
from schedsearch.core.errors import UserError
from schedsearch.core.interrupts import noticed_interrupts
from schedsearch.core.text_file import write_text
from schedsearch.frontends.files import require_modules
from schedsearch.locks import github
from schedsearch.locks.check import CheckOptions
from schedsearch.locks.check import check as check_entries
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.github import markdown
from schedsearch.locks.junit import junit_xml
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import choose
from schedsearch.locks.result import Checked, exit_code
from schedsearch.locks.table import as_json, show
from schedsearch.peers.against import parse_against
from schedsearch.present.files import require_folder

REPAIR = "Repair"
"""The panel of what is for --repair."""


def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="LOCK|KERNEL|DIR",
            help="Default: all of the schedules.lock found from here upwards.",
        ),
    ] = None,
    only: OnlyOption = None,
    correct_only: Annotated[
        bool,
        typer.Option(
            "--correct-only",
            help="Time nothing: for machines that cannot.",
            rich_help_panel=MEASUREMENT,
        ),
    ] = False,
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="PERCENT",
            help="Slowdown allowed before a check fails.",
            rich_help_panel=MEASUREMENT,
        ),
    ] = "2.5%",
    against: AgainstOption = None,
    cc: CcOption = None,
    target: TargetOption = None,
    file: FilesOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
    json_: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            dir_okay=False,
            help="Write results as JSON.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            dir_okay=False,
            help="Write results as JUnit XML.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    markdown_: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            dir_okay=False,
            help="Write results as Markdown.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Fit schedules to procedures that have changed, search from there, and write "
            "the lock file anew; nothing is checked.",
            rich_help_panel=REPAIR,
        ),
    ] = False,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time to search for each repaired entry: 90, 90s, 2m.",
            rich_help_panel=REPAIR,
        ),
    ] = "30s",
) -> None:
    """Check that locked schedules still apply, are right, and are as fast as the pinned C.

    For CI, hosted runners too: every entry of schedules.lock (see `pin`) is replayed on today's
    source, for two minutes at most, and verified. If its C compiles to other machine code than
    the pinned C does here, both are timed, interleaved; where that is too noisy to tell, their
    instructions are counted. --against shows each beside what you would use instead, which
    decides nothing.

    A lock file does not choose what is executed: what you tuned on this machine is, and the
    kernels and directories that you name, as in `schedsearch check .` or with --file.

    Exit codes: 0 passed, 1 slower than pinned (or the schedule does not apply any more),
    2 usage or configuration, 3 inconclusive, 4 wrong result, 5 nothing runs on this machine,
    6 stale (the procedure has changed), 70 an error of schedsearch, 130 interrupted. In a
    GitHub workflow, annotations are printed and the step's summary is written.
    """
    require_modules(paths or ())
    files = {"--json": json_, "--junit": junit, "--markdown": markdown_}
    for option, out in files.items():
        if out is not None:
            require_folder(option, out)
    requests, slowdown = parse_against(against or []), parse_share("--tolerance", tolerance)
    if requests and (correct_only or repair):
        other = "--repair" if repair else "--correct-only"
        raise UserError(f"--against times kernels, {other} does not: leave one of them out")
    chosen = choose(paths or (), only or ())
    named = tuple(path for path in paths or () if path.resolve() != chosen.path)
    where = Where(cc, target, tuple(instructions or ()), (*named, *(file or ())))
    if repair:
        # It loads the search and SQLAlchemy: nearly as long again as all that a check needs.
        from schedsearch.cli.repair import repair_entries

        raise typer.Exit(repair_entries(chosen, where, store, parse_seconds(budget)))
    options = CheckOptions(
        chosen.path.parent,
        where,
        timing=not correct_only,
        tolerance=slowdown,
        against=requests,
    )
    if any(entry.code is None for entry in chosen.entries):
        say(f"{chosen.path} has no C to time with: `schedsearch pin` adds it")
    with github.commands_stopped():
        results, interrupted = _checked(chosen.entries, options)
        show(Console(highlight=False), results)
    texts: Mapping[Path | None, Callable[[], str]] = {
        json_: lambda: json.dumps(as_json(chosen.path, results, interrupted), indent=2) + "\n",
        junit: lambda: junit_xml(results),
        markdown_: lambda: markdown(results),
    }
    for out, text in texts.items():
        if out is not None:
            write_text(out, text())
    github.tell(results, chosen.path.parent)
    if interrupted:
        left = len(chosen.entries) - len(results)
        say(f"interrupted; {left} of {len(chosen.entries)} not checked")
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(exit_code(results))


def _checked(entries: Sequence[LockEntry], options: CheckOptions) -> tuple[list[Checked], bool]:
    """The results, and whether Ctrl-C ended the check."""
    found: list[Checked] = []
    interrupted = False
    try:
        # Kernels' files may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr), noticed_interrupts() as noticed, told() as tell:
            for result in check_entries(entries, options, tell):
                if noticed.is_set():  # Exo may have taken it for a failure of the schedule
                    raise KeyboardInterrupt
                found.append(result)
    except KeyboardInterrupt:
        interrupted = True
    return found, interrupted
