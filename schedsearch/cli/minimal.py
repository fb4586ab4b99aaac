"""What `--minimal` says while it works, and at its end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import typer
from rich.console import Console

from schedsearch.cli.options import INTERRUPTED
from schedsearch.cli.parse import parse_seconds
from schedsearch.present import format as fmt
from schedsearch.search.minimising import Minimised, minimise
from schedsearch.store.views import StoredCandidate


def shortened(
    store: str,
    candidate_id: int,
    budget: str,
    file: Path | None,
    instructions: Sequence[Path] | None,
) -> StoredCandidate:
    """The shortest schedule that is as fast as a candidate's."""
    console = Console(stderr=True, highlight=False)

    def tell(text: str) -> None:
        console.print(f"{text} ...", markup=False, soft_wrap=True)

    seconds, files = parse_seconds(budget), tuple(instructions or ())
    try:
        # The user's file may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr):
            found = minimise(store, candidate_id, seconds, tell, file, files)
    except KeyboardInterrupt:
        print("interrupted before the shorter schedule was confirmed", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    console.print(_outcome(found), markup=False, soft_wrap=True)
    return found.shortest


def _outcome(found: Minimised) -> str:
    before, after = len(found.original.record.trace), len(found.shortest.record.trace)
    measurement = found.shortest.record.measurement
    assert measurement is not None, "it was measured"
    if found.shortest.id == found.original.id:
        return f"candidate {found.original.id}: no rewrite can be left out"
    against = "the same C"
    if found.against is not None:
        against = f"{fmt.speedup(found.against.ratio)} the speed of candidate {found.original.id}"
    return (
        f"candidate {found.shortest.id}: {after} of {before} rewrites, {against}; "
        f"{fmt.claim(measurement)}"
    )
