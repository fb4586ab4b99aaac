"""`schedsearch check` as a user runs it, again and again on files that nobody touches."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.text_file import read_text
from schedsearch.evaluate.build.process import run_group
from schedsearch.locks.place import read_lock

LIMIT_S = 300.0
"""Three entries that are timed as long as they may be take three minutes."""

ROOT = Path(__file__).parents[2]
_LAST = 4000
"""Characters of standard error that are kept."""


@dataclass(frozen=True)
class Run:
    """One process. `began` is UTC, `load` the machine's of the minute before; `code` is None if
    it did not end within `LIMIT_S`; `results` are those of its `--json`."""

    began: str
    seconds: float
    load: float
    disturbed: bool
    code: int | None
    results: Sequence[Any]
    stderr: str


def run_checks(
    lock: Path,
    times: int,
    seconds: float,
    disturbed: bool,
    scratch: Path,
    done: Callable[[Run], None],
) -> None:
    """Check a lock file `times` times; no check begins after `seconds`.

    Raises UserError if the lock file, or a source that it names, is changed meanwhile.
    """
    before = tree_digest(lock)
    until = time.monotonic() + seconds
    for _ in range(times):
        if time.monotonic() > until:
            return
        done(_check(lock, disturbed, scratch / "found.json"))
        if tree_digest(lock) != before:
            raise UserError(f"{lock}, or a kernel of it, was changed meanwhile: not untouched")


def tree_digest(lock: Path) -> str:
    """Of the lock file's text and those of its sources."""
    sources = {lock.parent / entry.workload.source for entry in read_lock(lock).entries}
    return digest_of([read_text(path) for path in (lock, *sorted(sources))])


def _check(lock: Path, disturbed: bool, found: Path) -> Run:
    found.unlink(missing_ok=True)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = ["env", f"PYTHONPATH={path}", sys.executable, "-m", "schedsearch", "check"]
    began, load, begin = datetime.now(UTC), os.getloadavg()[0], time.monotonic()
    ended = run_group([*command, lock, "--file", lock.parent, "--json", found], timeout_s=LIMIT_S)
    return Run(
        began.isoformat(timespec="seconds"),
        time.monotonic() - begin,
        load,
        disturbed,
        ended.code if ended else None,
        json.loads(found.read_text())["results"] if found.exists() else [],
        ended.stderr[-_LAST:] if ended else "",
    )
