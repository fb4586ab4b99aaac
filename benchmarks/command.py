"""A benchmark as a command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer

from schedsearch.core.errors import UserError


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
