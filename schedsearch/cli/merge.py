"""`schedsearch merge`"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli.options import DEFAULT_STORE, JsonOption, StoreOption
from schedsearch.search.merging import merge_into
from schedsearch.store.database import Store


def merge(
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER...", help="Stores to take from: files or URLs.")
    ],
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Add what other stores know to this one, e.g. of other machines.

    The others are only read. What both know is there once, so that merging
    again adds nothing; of candidates in both, all measurements are kept. Each
    store is merged whole or not at all.

    Example: [bold]schedsearch merge laptop.sqlite server.sqlite --store all.sqlite[/]
    """
    done = []
    for where in others:
        with Store.frozen(where) as other, Store.open(store) as into:  # made only if there is one
            found = merge_into(into, other)
        done.append({"store": other.name, **asdict(found)})
        if not json_:
            text = (
                f"{other.name}: {found.runs} runs, {found.candidates} candidates and "
                f"{found.measurements} measurements added, {found.changed} candidates changed"
            )
            Console(highlight=False).print(text, markup=False, soft_wrap=True)
    if json_:
        print(json.dumps({"schema": 1, "into": into.name, "merged": done}, indent=2))
