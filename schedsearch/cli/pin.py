"""`schedsearch pin`"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli import completing
from schedsearch.cli.options import (
    DEFAULT_STORE,
    FileOption,
    InstructionsOption,
    JsonOption,
    LockOption,
    StoreOption,
)
from schedsearch.core.errors import UserError
from schedsearch.frontends.files import require_modules
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.pin import Pins, changes, lock_entry, pin_best
from schedsearch.locks.place import change_lock, default_lock, read_lock
from schedsearch.present import format as fmt
from schedsearch.search.lookup import find_scopes
from schedsearch.store.database import Store
from schedsearch.transforms.vector.instruction_sets import load_instructions


def pin(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="ID|PROC",
            help="A candidate, as `best` prints it, or a procedure. Default: all procedures.",
            autocompletion=completing.pinnable,
        ),
    ] = None,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    lock: LockOption = None,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Write schedules into schedules.lock, to be committed and checked in CI.

    Without an ID: the best of each procedure that was tuned on this machine's CPU, the
    fastest that was confirmed, as `export --minimal` shortened it. Each is replayed first.
    Entries of other machines and other procedures stay as they are.
    """
    require_modules([Path(what)] if what else [])
    path = lock or default_lock(Path.cwd())
    if path.exists():
        read_lock(path)  # before schedules are replayed
    # The user's file may print; standard output is for what changed.
    with Store.open(store, create=False) as opened, redirect_stdout(sys.stderr):
        for given in instructions or ():
            load_instructions(given)
        pins = _pins(opened, what, path.resolve().parent, file)
    console = Console(highlight=False, stderr=json_)
    for each in pins.skipped:
        console.print(f"not pinned: {each}", markup=False, soft_wrap=True)
    if not pins.entries:
        raise UserError(
            f"nothing to pin in {store} for this machine's CPU; `schedsearch run FILE` tunes for it"
        )
    before, _ = change_lock(path, lambda lock: lock.having(pins.entries))
    for entry in pins.entries:
        console.print(_line(before.at(entry.slot), entry), markup=False, soft_wrap=True)
    console.print(f"written: {path}", markup=False, soft_wrap=True)
    if json_:
        pinned = [
            {
                "name": entry.name,
                "change": _change(before.at(entry.slot), entry),
                "speedup": entry.speed.ratio.to_json(),
                "confirmed": entry.speed.confirmed,
            }
            for entry in pins.entries
        ]
        found = {"schema": 1, "lock": str(path), "pinned": pinned}
        print(json.dumps(found | {"skipped": list(map(str, pins.skipped))}, indent=2))


def _pins(store: Store, what: str | None, folder: Path, file: Path | None) -> Pins:
    if what is not None and what.isdecimal():
        return Pins((lock_entry(store, store.candidate(int(what)), folder, file),))
    if file is not None:
        raise UserError("--file is for one candidate: schedsearch pin ID --file FILE")
    find_scopes(store, what)
    return pin_best(store, what, folder)


def _change(before: LockEntry | None, entry: LockEntry) -> str:
    if before is None:
        return "added"
    return "changed" if changes(before, entry) else "unchanged"


def _line(before: LockEntry | None, entry: LockEntry) -> str:
    speed = fmt.speedup(entry.speed.ratio)
    if not entry.speed.confirmed:
        speed += ", not confirmed"
    if entry.speed.ratio.low <= 1.0:
        speed += ", not faster for certain"
    if before is None:
        return f"added {entry.name}: {speed}, {fmt.count(len(entry.trace), 'rewrite')}"
    changed = changes(before, entry)
    if not changed:
        return f"unchanged {entry.name}: {speed}"
    then = fmt.speedup(before.speed.ratio)
    return f"changed {entry.name}: {then} before, now {speed} ({', '.join(changed)})"
