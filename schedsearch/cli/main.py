"""Entry point of the `schedsearch` command.

Of the commands only the one that is asked for is loaded: each needs other parts, and all of them
take a second. `app` has them all.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Event
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from schedsearch import __version__
from schedsearch.cli.telling import typed
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.machine import collect_rarely
from schedsearch.core.shown import shown

INTERNAL_ERROR = 70

COMMANDS = {
    "run": "run.run",
    "tune": "tune.tune",
    "lower": "lower.lower",
    "watch": "watch.watch",
    "list": "inspect.list_",
    "best": "inspect.best",
    "show": "inspect.show",
    "explain": "explain.explain",
    "compare": "explain.compare",
    "report": "report_page.report",
    "replay": "replay.replay",
    "export": "replay.export",
    "pin": "pin.pin",
    "check": "check.check",
    "build": "build.build",
    "merge": "merge.merge",
    "gc": "gc.gc",
    "doctor": "doctor.doctor",
}
"""Their functions, by name, in the order of the help."""

HELP = """Find fast schedules for Exo procedures: proven equivalent step by step,
verified on data, measured against the unscheduled procedure.

Start with [bold]schedsearch run FILE.py[/]. Everything found is kept in a store
(schedsearch.sqlite here, or --store), so the same command continues where it stopped."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"schedsearch {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options before the command."""


def make_app(names: Iterable[str]) -> typer.Typer:
    """With these commands."""
    made = typer.Typer(
        no_args_is_help=True, add_completion=False, rich_markup_mode="rich", help=HELP
    )
    made.callback()(options)
    for name in names:
        module, function = COMMANDS[name].split(".")
        made.command(name)(getattr(import_module(f"schedsearch.cli.{module}"), function))
    return made


def __getattr__(name: str) -> Any:
    if name == "app":
        return make_app(COMMANDS)
    raise AttributeError(name)


def main() -> None:
    """Run the command line: exit code 2 for whatever the user can mend, 70 (`EX_SOFTWARE` of
    sysexits.h) for our own errors, not Python's 1, which is a regression to `check`."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        with _terminated_as_interrupted():
            _run(asked)
    except UserError as error:
        console = Console(stderr=True)
        console.print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)
        if isinstance(error, UnnamedFileError):
            console.print(f"  {_plain(typed(*error.words))}", soft_wrap=True)
        sys.exit(2)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(INTERNAL_ERROR)


def _run(asked: str) -> None:
    command = make_app([asked] if asked in COMMANDS else () if asked == "--version" else COMMANDS)
    collect_rarely()
    command(prog_name="schedsearch")


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, and then with its own exit code, 143."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    terminated = Event()

    def terminate(number: int, frame: FrameType | None) -> None:
        terminated.set()
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except (SystemExit, KeyboardInterrupt):
        if terminated.is_set():
            sys.exit(128 + signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _plain(text: str) -> str:
    """Square brackets are ours to print, not markup; and nothing steers the terminal."""
    return shown(text).replace("[", r"\[")


if __name__ == "__main__":
    main()
