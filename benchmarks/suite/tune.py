"""Tuning the suite: one `schedsearch run` per kernel, each into a store of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.suite.case import Case
from benchmarks.suite.folders import Folder
from benchmarks.suite.stores import searched
from schedsearch.evaluate.build.process import kill_group

# A run confirms after its budget, and a slow baseline takes its time before it.
_GRACE_S = 600.0
_ENDING_S = 60.0
# Not worth another start of Ray.
_LEAST_S = 5.0


def tune(
    case: Case, place: Folder, budget_s: float, threads: int = 1, options: Sequence[str] = ()
) -> str:
    """Tune `case` until its store has seen `budget_s` seconds of search; says how it ended.

    What earlier runs have searched counts: an interrupted suite goes on where it stopped.
    Output goes to the folder's log. On KeyboardInterrupt the run is given time to end.
    """
    spent, exhausted = searched(place.store)
    left = budget_s - spent
    if exhausted:
        return "nothing left to search"
    if left < _LEAST_S:
        return f"searched {spent:.0f} s already"
    place.path.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "schedsearch", "run", str(case.file), case.proc]
    for name, value in case.sizes:
        command += ["--size", f"{name}={value}"]
    command += ["--specialize"] if case.specialize else []
    command += ["--budget", f"{left:.0f}s", "--store", str(place.store), "--out", str(place.path)]
    command += ["--threads", str(threads)] if threads > 1 else []
    return logged([*command, *options], place.log, left + _GRACE_S) or "done"


def logged(command: Sequence[str], log: Path, limit_s: float) -> str:
    """Run a command, whose output goes to `log`, for at most `limit_s` seconds; says how it failed,
    nothing if it did not."""
    with log.open("a") as to:
        child = subprocess.Popen(command, stdout=to, stderr=to, start_new_session=True)
        try:
            code = child.wait(limit_s)
        except subprocess.TimeoutExpired:
            return f"stopped: no end within {limit_s:.0f} s, see {log}"
        finally:
            _end(child)
    return f"failed with exit code {code}: {_last_line(log)}" if code else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a run as Ctrl-C does, so that its store says so; by force if it does not."""
    try:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.wait(_ENDING_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        kill_group(child)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text().splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
