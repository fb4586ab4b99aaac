"""The record book: for every kernel the best schedule ever found, by kind of target.

`benchmarks/records/ISA/KERNEL.json` (`ISA-2-threads`) has the rewrites, and how they were found.
A record is not a time: another machine, or another day, would tell another one. `compare` builds
the recorded schedule again and times it in the same rounds as everybody else; our time over its
time is how far a search ended from the best that is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.suite.case import Case
from benchmarks.suite.folders import write_json
from schedsearch import __version__
from schedsearch.core.errors import CodegenError, ReplayError, UserError
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.search.setup.subject import Subject
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.replay import Replayer

BOOK = Path(__file__).parents[1] / "records"
FINDING = 0.95
"""A search that ends below this share of its record is a finding."""


def place(case: Case, target: Target, book: Path = BOOK) -> Path:
    threads = f"-{target.threads}-threads" if target.threads > 1 else ""
    return book / f"{target.isa}{threads}" / f"{case.name}.json"


def recorded(page: Path) -> Trace | None:
    """The schedule of a record; None if there is none. Raises UserError if it cannot be read."""
    try:
        steps = json.loads(page.read_text())["schedule"]
        return Trace(tuple(map(Rewrite.from_json, steps)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, UserError) as error:
        raise UserError(f"{page} is no record: {error}") from error


def replayed(subject: Subject, schedule: Trace) -> GeneratedC:
    """The C of a record. Raises UserError if today's transforms do not give it."""
    try:
        state = Replayer(subject.procedure, fp=subject.target.fp).state(schedule)
        return generate_c(state.procedure, state.build)
    except (ReplayError, CodegenError) as error:
        raise UserError(f"the record does not replay: {error}") from error


def beats_record(row: Mapping[str, Any]) -> bool:
    """Whether what a row compared is to be the record: nothing was, or it is clearly faster."""
    if "ratios" not in row or not row["schedule"]:
        return False
    before = row.get("record")
    return before is None or before["low"] > 1.0


def write_record(page: Path, row: Mapping[str, Any], target: Target) -> None:
    """The row's schedule as the record, with what it reached on the day."""
    page.parent.mkdir(parents=True, exist_ok=True)
    best = row["best_peer"]
    write_json(
        page,
        {
            "kernel": row["kernel"],
            "sizes": row["sizes"],
            "found": {
                "schedsearch": __version__,
                "day": f"{datetime.now(UTC):%Y-%m-%d}",
                "search": f"{row['searched_s']:.0f} s",
                "cpu": target.cpu,
                "compiler": f"{target.compiler.kind} {target.compiler.version}",
                "speedup": round(row["speedup"]["value"], 3),
                "roofline": round(row["roofline"], 3),
                "best peer": {best: round(row["ratios"][best]["value"], 3)} if best else {},
            },
            "schedule": row["schedule"],
        },
    )
