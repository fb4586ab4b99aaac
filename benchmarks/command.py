"""A benchmark as a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from schedsearch.core.errors import UserError
from schedsearch.peers.contender import directing

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_command(run: Callable[..., Any]) -> None:
    """Run a function as the command line: exit code 2 for whatever the user can mend."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    app.command()(run)
    run_app(app)


def run_app(app: typer.Typer) -> None:
    """The same for a command line of several commands."""
    try:
        app()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def undirected() -> None:
    """Begin again in an environment that directs no library, with one thread each."""
    left = {name: os.environ[name] for name in os.environ.keys() - {*directing(os.environ)}}
    wanted = left | dict.fromkeys(_THREADS, "1")
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)
