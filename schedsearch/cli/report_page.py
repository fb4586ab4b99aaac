"""`schedsearch report`"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from schedsearch.api.report import write_report
from schedsearch.api.searched import Search, find_run
from schedsearch.cli.against import AgainstOption
from schedsearch.cli.options import DEFAULT_STORE, FileOption, InstructionsOption, StoreOption
from schedsearch.cli.telling import say, told, typed
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.records import PeerComparison
from schedsearch.peers.against import parse_against
from schedsearch.present.files import require_folder
from schedsearch.search.against import compare_with_peers
from schedsearch.search.session import subject_of
from schedsearch.search.setup.budget import Budget
from schedsearch.store.database import Store
from schedsearch.study.schedule import Schedule
from schedsearch.transforms.vector.instruction_sets import load_instructions


def report(
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|PROC", help="A run's number, or a procedure. Default: the latest run."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")
    ] = Path("report.html"),
    against: AgainstOption = None,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write one HTML file about a run: verdict, search tree, candidates, code, pictures.

    It is the page of `ui` as it is now, for people who were not there: it needs a browser and
    nothing else, and loads nothing from anywhere. With --against, the best is timed beside
    what you would use instead, now.
    """
    requests = parse_against(against or [])
    require_folder("--out", out)
    for each in instructions or ():
        load_instructions(each)
    with Store.open(store, create=False) as opened:
        say("replaying the fastest schedules ...")
        search = Search(opened, find_run(opened, wanted), file, say)
        if isinstance(search.loaded, UserError):
            say(f"without code: {search.loaded}")
        if isinstance(search.loaded, UnnamedFileError):
            say(f"  {typed(*search.loaded.words)}")
        beside = _beside(search, requests, instructions or ()) if requests else []
        write_report(search, out, beside)
    print(out)


def _beside(
    about: Search, requests: Sequence[str], instructions: Sequence[Path]
) -> list[PeerComparison]:
    """The fastest schedule against these peers, timed now."""
    if about.best is None:
        raise UserError(
            f"{about.name} has no schedule in {about.store.name} to compare; "
            "`schedsearch run FILE` finds one"
        )
    best = Schedule.of(about.store, about.best, about.file, instructions)
    with redirect_stdout(sys.stderr), told() as tell:
        best.as_recorded()
        subject = subject_of(best.options(Budget(0.0)))
        return compare_with_peers(subject, best.generate(), requests, tell)
