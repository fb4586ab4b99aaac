"""`python -m benchmarks.experience`: what searches learn from earlier ones, of other kernels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import run_command
from benchmarks.experience.learning import learned, lessons
from schedsearch.core.errors import UserError
from schedsearch.core.text_file import write_text
from schedsearch.search.strategies import experience
from schedsearch.store.database import Store

SHIPPED = Path(experience.__file__).with_name(experience.FILE)


def learn(
    stores: Annotated[list[Path], typer.Argument(help="Stores of any searches.")],
    without: Annotated[
        str, typer.Option(metavar="REGEX", help="Procedures to leave out, by part of their names.")
    ] = "",
    out: Annotated[Path, typer.Option(help="The file to write.")] = SHIPPED,
) -> None:
    """Learn what rewrites are worth from the searches of stores, and write it where searches read
    it. To judge how searches of a family of kernels profit, leave the family out.

    Example: [bold]python -m benchmarks.experience runs/*/store.sqlite --without 'conv|pool'[/]
    """
    kernels = []
    for path in stores:
        with Store.open(path, create=False) as store:
            for proc, found in lessons(store):
                if not (without and re.search(without, proc)):
                    kernels.append(found)
    if not kernels:
        raise UserError("there is no search to learn from in these stores")
    worth = learned(kernels)
    rows = sorted(
        [each.transform, each.blocked, round(of.mean, 3), round(of.spread, 3)]
        for each, of in worth.items()
    )
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    write_text(out, f'{{\n  "schema": 1,\n  "worth": [\n{lines}\n  ]\n}}\n')
    print(f"{len(rows)} situations from {len(kernels)} searches: {out}")


if __name__ == "__main__":
    run_command(learn)
