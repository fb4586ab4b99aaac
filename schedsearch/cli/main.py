"""Entry point of the `schedsearch` command.

Of the commands only the one that is asked for is loaded: each needs other parts, and all of them
take a second. `app` has them all.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from schedsearch import __version__
from schedsearch.cli import settings
from schedsearch.cli.telling import typed
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.machine import collect_rarely
from schedsearch.core.shown import shown

INTERNAL_ERROR = 70

COMPLETE = "_SCHEDSEARCH_COMPLETE"
"""The variable that a shell sets when it asks what can be typed."""


_PLAIN = (
    ("Input should be a valid integer, unable to parse string as an integer", "give an integer"),
    ("Input should be a valid number, unable to parse string as a number", "give a number"),
    ("Input should be greater than or equal to", "the least is"),
    ("Value error, ", ""),
)
"""What the library that reads options says, and how users would say it."""


class _Plain:
    """Flags have no type in the help: `--json`, not `--json <bool>`. Errors are in plain words."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """The words after the command."""
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            for said, plain in _PLAIN:
                error.message = error.message.replace(said, plain)
            raise

    def get_params(self, ctx: Any) -> Any:
        """The parameters, `--help` too."""
        found = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False):
                each.metavar = ""
        return found


class Command(_Plain, TyperCommand):
    """A command, as its help has it."""


class Commands(_Plain, TyperGroup):
    """All of them."""


class Place(NamedTuple):
    """Where a command is: the function in a module of this package, and the panel of the help."""

    function: str
    panel: str
    summary: str


_SEARCH, _LOOK, _USE, _CARE = "Search", "Look at results", "Use schedules", "Look after"

COMMANDS = {
    "run": Place("run.run", _SEARCH, "Search for a fast schedule, and write it out."),
    "tune": Place("tune.tune", _SEARCH, "Search for what a program calls."),
    "lower": Place("lower.lower", _SEARCH, "Show the Exo that C or equations become."),
    "watch": Place("watch.watch", _SEARCH, "Follow a search in another terminal."),
    "ui": Place("ui.ui", _LOOK, "Open a live page about a search in the browser."),
    "list": Place("inspect.list_", _LOOK, "List what has been tuned."),
    "best": Place("inspect.best", _LOOK, "Show the fastest verified schedules."),
    "show": Place("inspect.show", _LOOK, "Show one candidate: its time, what it did."),
    "explain": Place("explain.explain", _LOOK, "Show what each rewrite did."),
    "compare": Place("explain.compare", _LOOK, "Compare two schedules."),
    "report": Place("report_page.report", _LOOK, "Write one HTML file about a run."),
    "replay": Place("replay.replay", _LOOK, "Apply a candidate's rewrites again."),
    "export": Place("replay.export", _USE, "Write a schedule as Exo Python and C."),
    "pin": Place("pin.pin", _USE, "Write schedules into schedules.lock."),
    "check": Place("check.check", _USE, "Check locked schedules, for CI."),
    "build": Place("build.build", _USE, "Build locked kernels into a library."),
    "merge": Place("merge.merge", _CARE, "Add what other stores know to this one."),
    "gc": Place("gc.gc", _CARE, "Delete what can be made again."),
    "doctor": Place("doctor.doctor", _CARE, "Check this machine."),
}
"""By name, in the order of the help."""

HELP = """Find fast schedules for Exo procedures: proven equivalent step by step, \
verified on data, measured against the procedure as written.

Start with [bold]schedsearch run FILE.py[/]. Everything found is kept in a store \
(schedsearch.sqlite), so the same command continues where it stopped.

Defaults of options can be in the nearest pyproject.toml, in \\[tool.schedsearch]: \
store, budget, target, ... The variable SCHEDSEARCH_STORE names the store too. \
An option wins over the variable, the variable over the file."""


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
    """With these commands; of the others it has the name and the summary alone."""
    made = typer.Typer(cls=Commands, no_args_is_help=True, rich_markup_mode="rich", help=HELP)
    made.callback()(options)
    loaded = set(names)
    for name, place in COMMANDS.items():
        function = _loaded(place) if name in loaded else _not_loaded
        made.command(
            name,
            cls=Command,
            help=_flowing(function.__doc__ or "") or place.summary,
            short_help=place.summary,
            rich_help_panel=place.panel,
        )(function)
    return made


def _loaded(place: Place) -> Callable[..., None]:
    module, function = place.function.split(".")
    found: Callable[..., None] = getattr(import_module(f"schedsearch.cli.{module}"), function)
    return found


def _not_loaded() -> None:
    raise AssertionError("only the command that is asked for is run")


def _flowing(text: str) -> str:
    """Paragraphs as one line each: the terminal breaks them where it ends."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(each.splitlines()) for each in paragraphs)


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
    # A shell that completes asks for nothing in `sys.argv`: it has the words in a variable.
    completed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS")
    if completed and COMPLETE in os.environ:
        asked = next(iter(completed.split()[1:]), "")
    collect_rarely()  # also what is loaded now makes much that stays
    command = make_app([asked] if asked in COMMANDS else ())
    collect_rarely()
    given = asked in COMMANDS and "--help" not in sys.argv
    defaults = {asked: settings.defaults(asked, Path.cwd())} if given else {}
    try:
        command(prog_name="schedsearch", default_map=defaults)
    except UserError as error:
        raise settings.said_where(error, Path.cwd(), sys.argv) from error


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, and then with its own exit code, 143."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    terminated = Event()

    def terminate(number: int, frame: FrameType | None) -> None:
        terminated.set()
        # Shells start what scripts put into the background with this one ignored.
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
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
