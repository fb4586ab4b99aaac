"""`schedsearch lower`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedsearch.cli.options import DefineOption, IncludeOption
from schedsearch.core.errors import UserError
from schedsearch.core.text_file import write_text
from schedsearch.frontends.files import SUFFIXES, lowered_from
from schedsearch.search.setup.procedure_file import procedure_of


def lower(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="C (.c) or equations (.eq).")],
    function: Annotated[
        str | None,
        typer.Argument(metavar="FUNCTION", help="Function, if the file has several."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.py", help="Write it here. Default: print it."),
    ] = None,
    define: DefineOption = None,
    include: IncludeOption = None,
) -> None:
    """Show the Exo module that C or equations become, or write it.

    Every command takes the module that is written, as any file with Exo
    procedures: `run`, `pin` and `check` too.

    Example: [bold]schedsearch lower kernel.c gemm -D N=100 --out gemm.py[/]
    """
    made = lowered_from(file, function, define or (), include or ())
    if made is None:
        raise UserError(
            f"{file} is no {' or '.join(SUFFIXES)} file: only those are lowered; "
            f"`schedsearch run {file}` takes Exo as it is"
        )
    procedure_of(made)  # Exo may refuse it
    if out is None:
        print(made.text, end="")
        return
    if out.exists() and made.text != out.read_text(errors="replace"):
        raise UserError(f"{out} is there already, with another text; give a new file")
    write_text(out, made.text)
    print(f"written: {out}")
