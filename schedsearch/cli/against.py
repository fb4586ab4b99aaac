"""`--against`: what a kernel is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli.options import MEASUREMENT
from schedsearch.core.records import PeerComparison
from schedsearch.peers.against import FORMS
from schedsearch.present.against import AGAINST, against_lines

AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="A,B",
        help=f"Also time it against {FORMS}, in the same rounds (repeatable). FILE.py is executed.",
        rich_help_panel=MEASUREMENT,
    ),
]


def show_against(console: Console, results: Sequence[PeerComparison]) -> None:
    """After the result itself; nothing if nothing was asked for."""
    if results:
        console.print(f"\n{AGAINST}:")
        for line in against_lines(results):
            console.print(f"  {line}", markup=False, soft_wrap=True)
