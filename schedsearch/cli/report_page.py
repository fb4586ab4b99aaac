"""`schedsearch report`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from schedsearch.cli.options import DEFAULT_STORE, FileOption, InstructionsOption, StoreOption
from schedsearch.cli.telling import typed
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.text_file import write_text
from schedsearch.store.database import Store
from schedsearch.transforms.instruction_sets import load_instructions


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
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write one HTML file about a run: verdict, schedule, pictures, the search tree to click.

    For people who were not there: it needs a browser and nothing else, and loads nothing
    from anywhere. Needs the extra: pip install 'schedsearch[notebook]'.
    """
    # Imported when used: pandas and Plotly are an extra, and take a second.
    from schedsearch.api.report import report as written
    from schedsearch.api.searched import Search, find_run

    for each in instructions or ():
        load_instructions(each)
    with Store.open(store, create=False) as opened:
        print("replaying the fastest schedules ...", file=sys.stderr)
        search = Search(opened, find_run(opened, wanted), file)
        if isinstance(search.kept, UserError):
            print(f"without code: {search.kept}", file=sys.stderr)
        if isinstance(search.kept, UnnamedFileError):
            print(f"  {typed(*search.kept.words)}", file=sys.stderr)
        write_text(out, written(search))
    print(out)
