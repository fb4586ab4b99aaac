"""A process of its own for each comparison: a kernel that crashes takes nothing with it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.suite.case import Case
from benchmarks.suite.rounds import Plan
from schedsearch.evaluate.process import run_group

ROOT = Path(__file__).parents[2]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
# Imports, compilers, calls of slow baselines: what comes on top of the rounds.
_GRACE_S = 600.0


def compare_in_child(case: Case, base: Path, plan: Plan, threads: int) -> dict[str, Any]:
    """The row of `case`; one with an `error` if the child failed."""
    job = {
        "kernel": case.name,
        "base": str(base),
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "threads": threads,
    }
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    variables = [f"{name}={threads}" for name in _THREAD_VARIABLES]
    python = ["env", f"PYTHONPATH={path}", *variables, sys.executable]
    command = [*python, "-m", "benchmarks.suite.child"]
    finished = run_group(command, text=json.dumps(job), timeout_s=3 * plan.seconds + _GRACE_S)
    if finished is None:
        return _failed(case, "no end")
    if finished.code < 0:
        return _failed(case, f"comparison ended by signal {-finished.code}")
    if finished.code > 0:
        lines = [line for line in finished.stderr.splitlines() if line.strip()]
        return _failed(case, f"comparison failed: {lines[-1] if lines else finished.code}")
    row: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return row


def _failed(case: Case, error: str) -> dict[str, Any]:
    return {"kernel": case.name, "error": error, "absent": {}, "wrong": {}}


def main() -> None:
    """Measure the kernel named on stdin; the row is the last line on stdout."""
    from benchmarks.suite.catalogue import CASES
    from benchmarks.suite.measure import measure
    from schedsearch.evaluate.host import measuring_cores

    job = json.loads(sys.stdin.read())
    os.sched_setaffinity(0, measuring_cores(job["threads"]))
    (case,) = [case for case in CASES if case.name == job["kernel"]]
    plan = Plan(job["rounds"], job["seconds"])
    row = measure(case, Path(job["base"]), plan, job["threads"])
    print(json.dumps(row))


if __name__ == "__main__":
    main()
