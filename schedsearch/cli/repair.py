"""`schedsearch check --repair`: locked schedules on sources that have changed."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from schedsearch.cli.options import INTERRUPTED
from schedsearch.core.errors import UserError
from schedsearch.core.lock_place import read_lock, write_lock
from schedsearch.core.lock_text import format_lock
from schedsearch.core.lockfile import Lock, LockEntry
from schedsearch.present import format as fmt
from schedsearch.present.live import make_view
from schedsearch.search.budget import Budget, Stop
from schedsearch.search.lock_choice import Chosen
from schedsearch.search.locked_kernel import NotHereError, Where
from schedsearch.search.repair import Drift, Repaired, drift, repair
from schedsearch.search.result import Listener
from schedsearch.transforms.fit import Fate


@dataclass(frozen=True)
class _Bench:
    """Where entries are repaired, and for how long each."""

    root: Path
    where: Where
    store: str
    budget_s: float


def repair_entries(chosen: Chosen, where: Where, store: str, budget_s: float) -> int:
    """Repair what needs it, write the lock file after each, and print what has changed in it.
    Exit code: 0, 2 if an entry could not be repaired, 130 if interrupted."""
    console = Console(highlight=False)
    bench = _Bench(chosen.path.parent, where, store, budget_s)
    code = 0
    for entry in chosen.entries:
        console.print(entry.name, style="bold", markup=False, soft_wrap=True)
        try:
            with redirect_stdout(sys.stderr):
                found = drift(entry, bench.root, where)
            if found is None:
                console.print("  as locked")
                continue
            for line in _steps(found):
                console.print(line, markup=False, soft_wrap=True)
            repaired = _search(found, bench)
        except (NotHereError, UserError) as error:
            console.print(f"  not repaired: {error}", markup=False, soft_wrap=True)
            code = code if isinstance(error, NotHereError) else 2
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
    """What became of each step."""
    for number, step in enumerate(found.steps, 1):
        yield f"  {number}. {step.wanted}"
        moved = step.found if step.fate is Fate.MOVED else ""
        yield f"     {step.fate}{f': {moved}' if moved else ''}"
        if step.why:
            yield f"     because {step.why}"


def _search(found: Drift, bench: _Bench) -> Repaired:
    view = make_view(Console(stderr=True, highlight=False))
    listener = Listener(view.phase, view.started, view.progress)
    try:
        with redirect_stdout(sys.stderr):
            budget = Budget(bench.budget_s)
            return repair(found, bench.root, bench.where, bench.store, budget, listener)
    finally:
        view.stop()


def _outcome(repaired: Repaired) -> str:
    if repaired.entry is None or repaired.result.best is None:
        return "not repaired: nothing faster than the procedure as written; search longer"
    which = "what was left of the schedule" if repaired.kept else "a schedule found from there"
    return f"{which}: {fmt.claim(repaired.result.best.measurement)}"


def _replace(path: Path, old: LockEntry, new: LockEntry, console: Console) -> None:
    """In the file as it is now; a difference is printed."""
    before = read_lock(path)
    kept = tuple(entry for entry in before.entries if entry.slot != old.slot)
    after = Lock(kept).having([new])
    write_lock(path, after)
    texts = (format_lock(before).splitlines(), format_lock(after).splitlines())
    for line in difflib.unified_diff(*texts, str(path), str(path), n=1, lineterm=""):
        style = {"+": "green", "-": "red"}.get(line[:1], "")
        console.print(line, style=style, markup=False, soft_wrap=True)
