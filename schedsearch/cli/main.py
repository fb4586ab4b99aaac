"""Entry point of the `schedsearch` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from schedsearch import __version__
from schedsearch.cli import (
    check,
    doctor,
    explain,
    gc,
    inspect,
    merge,
    pin,
    replay,
    report_page,
    run,
    simulate,
    watch,
)
from schedsearch.cli.telling import typed
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.shown import shown

INTERNAL_ERROR = 70

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Find fast schedules for Exo procedures: proven equivalent step by step,
verified on data, measured against the unscheduled procedure.

Start with [bold]schedsearch run FILE.py[/]. Everything found is kept in a store
(schedsearch.sqlite here, or --store), so the same command continues where it stopped.""",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"schedsearch {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options before the command."""


app.command("run")(run.run)
app.command("watch")(watch.watch)
app.command("list")(inspect.list_)
app.command("best")(inspect.best)
app.command("show")(inspect.show)
app.command("explain")(explain.explain)
app.command("compare")(explain.compare)
app.command("report")(report_page.report)
app.command("replay")(replay.replay)
app.command("export")(replay.export)
app.command("pin")(pin.pin)
app.command("check")(check.check)
app.command("merge")(merge.merge)
app.command("gc")(gc.gc)
app.command("simulate")(simulate.simulate)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line: exit code 2 for whatever the user can mend, 70 (`EX_SOFTWARE` of
    sysexits.h) for our own errors, not Python's 1, which is a regression to `check`."""
    try:
        app()
    except UserError as error:
        console = Console(stderr=True)
        console.print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)
        if isinstance(error, UnnamedFileError):
            console.print(f"  {_plain(typed(*error.words))}", soft_wrap=True)
        sys.exit(2)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(INTERNAL_ERROR)


def _plain(text: str) -> str:
    """Square brackets are ours to print, not markup; and nothing steers the terminal."""
    return shown(text).replace("[", r"\[")


if __name__ == "__main__":
    main()
