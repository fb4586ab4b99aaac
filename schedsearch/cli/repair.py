"""`schedsearch check --repair`: locked schedules on sources that have changed."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Console

from schedsearch.cli.options import INTERRUPTED
from schedsearch.core.errors import UserError
from schedsearch.locks.entry import Lock, LockEntry
from schedsearch.locks.format import format_lock
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen, change_lock
from schedsearch.locks.repair import Drift, Repaired, drift, repair
from schedsearch.locks.result import CheckEnded, Status
from schedsearch.present import format as fmt
from schedsearch.present.live import make_view
from schedsearch.search.result import Listener
from schedsearch.search.setup.budget import Budget, Stop
from schedsearch.transforms.fit import Fate


def repair_entries(chosen: Chosen, where: Where, store: str, budget_s: float) -> int:
    """Repair what needs it, write the lock file after each, and print what has changed in it.
    Exit code: 0, 2 if an entry could not be repaired, 130 if interrupted."""
    console = Console(highlight=False)
    root = chosen.path.parent
    code = 0
    for entry in chosen.entries:
        console.print(entry.name, style="bold", markup=False, soft_wrap=True)
        try:
            with redirect_stdout(sys.stderr):
                found = drift(entry, root, where)
            if found is None:
                console.print("  as locked")
                continue
            for line in _steps(found):
                console.print(line, markup=False, soft_wrap=True)
            repaired = _search(found, root, where, store, Budget(budget_s))
        except (CheckEnded, UserError) as error:
            console.print(f"  not repaired: {error}", markup=False, soft_wrap=True)
            here = isinstance(error, UserError) or error.status is not Status.SKIPPED
            code = 2 if here else code
            continue
        except KeyboardInterrupt:
            console.print("  interrupted; the entry stays as it was")
            return INTERRUPTED
        console.print(f"  {_outcome(repaired)}", markup=False, soft_wrap=True)
        if repaired.entry is not None:
            _replace(chosen.path, entry, repaired.entry, console)
        else:
            code = 2
        if repaired.result.stop is Stop.INTERRUPTED:
            return INTERRUPTED
    return code


def _steps(found: Drift) -> Iterator[str]:
    """Lines about the fate of each step."""
    for number, step in enumerate(found.steps, 1):
        yield f"  {number}. {step.wanted}"
        moved = step.found if step.fate is Fate.MOVED else ""
        yield f"     {step.fate}{f': {moved}' if moved else ''}"
        if step.why:
            yield f"     because {step.why}"


def _search(found: Drift, root: Path, where: Where, store: str, budget: Budget) -> Repaired:
    view = make_view(Console(stderr=True, highlight=False))
    listener = Listener(view.phase, view.started, view.progress)
    try:
        with redirect_stdout(sys.stderr):
            return repair(found, root, where, store, budget, listener)
    finally:
        view.stop()


def _outcome(repaired: Repaired) -> str:
    if repaired.entry is None or repaired.result.best is None:
        return "not repaired: nothing faster than the procedure as written; search longer"
    which = "what was left of the schedule" if repaired.reused else "a schedule found from there"
    return f"{which}: {fmt.claim(repaired.result.best.measurement)}"


def _replace(path: Path, old: LockEntry, new: LockEntry, console: Console) -> None:
    """Replace the entry in the file as it is now, and print the diff."""

    def replaced(lock: Lock) -> Lock:
        others = tuple(entry for entry in lock.entries if entry.slot != old.slot)
        return Lock(others).having([new])

    before, after = change_lock(path, replaced)
    texts = (format_lock(before).splitlines(), format_lock(after).splitlines())
    for line in difflib.unified_diff(*texts, str(path), str(path), n=1, lineterm=""):
        style = {"+": "green", "-": "red"}.get(line[:1], "")
        console.print(line, style=style, markup=False, soft_wrap=True)
