"""`schedsearch gc`"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from schedsearch.cli.options import JsonOption
from schedsearch.cli.parse import parse_bytes, parse_days
from schedsearch.core.errors import UserError
from schedsearch.search.caches import CachedFile, delete, survey
from schedsearch.search.setup.subject import cache_dir
from schedsearch.store.database import Store


def gc(
    older_than: Annotated[
        str, typer.Option(metavar="DAYS", help="Delete what was not used for so long: 30d, 12h.")
    ] = "30d",
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Then the least recently used, down to: 500M, 2G."),
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="Compact this tuning store as well.")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Of the store, drop the C of all but the N best of each procedure.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be deleted, and delete nothing.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Delete what can be made again: compiled kernels, harnesses, test data.

    They are in the cache directory, whichever store their runs write to, and
    are made anew when they are needed. Nothing is deleted while a run uses
    them. Of a store, candidates and measurements always stay; C is generated
    from the trace when it is asked for.

    Example: [bold]schedsearch gc --max-size 2G --dry-run[/]
    """
    if keep is not None and store is None:
        raise UserError("--keep is about a store; name it with --store")
    most = parse_bytes("--max-size", max_size) if max_size is not None else float("inf")
    usages = survey(parse_days("--older-than", older_than), most, time.time())
    rows: list[dict[str, Any]] = [
        {
            "part": usage.part,
            "files": len(usage.files),
            "bytes": _bytes(usage.files),
            "deleted_files": len(usage.unused),
            "deleted_bytes": _bytes(usage.unused),
        }
        for usage in usages
    ]
    trimmed: dict[str, Any] | None = None
    if store is not None:
        with Store.open(store, create=False) as opened:
            codes = opened.drop_code(keep, dry_run=dry_run) if keep is not None else 0
            freed = 0 if dry_run else opened.compact()
            trimmed = {"store": opened.name, "codes": codes, "freed_bytes": freed}
    if not dry_run:  # the store may be refused: nothing is deleted before
        delete(usages)
    if json_:
        found = {"schema": 1, "dry_run": dry_run, "cache": str(cache_dir()), "parts": rows}
        print(json.dumps(found | {"store": trimmed}, indent=2))
        return
    console = Console(highlight=False)
    verb = "would delete" if dry_run else "deleted"
    for row in rows:
        console.print(
            f"{cache_dir() / row['part']}: {verb} {row['deleted_files']} of {row['files']} files, "
            f"{_size(row['deleted_bytes'])} of {_size(row['bytes'])}",
            markup=False,
            soft_wrap=True,
        )
    if trimmed is not None:
        freed_text = "" if dry_run else f"; {_size(trimmed['freed_bytes'])} freed"
        console.print(
            f"{trimmed['store']}: {verb} the C of {trimmed['codes']} candidates{freed_text}",
            markup=False,
            soft_wrap=True,
        )


def _bytes(files: Sequence[CachedFile]) -> int:
    return sum(file.bytes for file in files)


def _size(count: float) -> str:
    """`1.2 GB`"""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
