"""Where the suite keeps what it finds: one folder per kernel, written as soon as it is known."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.case import Case


@dataclass(frozen=True)
class Folder:
    """`DIR/KERNEL`: the tuning store, the exported schedule, logs, the row of the table."""

    path: Path

    @property
    def store(self) -> Path:
        return self.path / "store.sqlite"

    @property
    def log(self) -> Path:
        return self.path / "tune.log"

    @property
    def row(self) -> Path:
        return self.path / "row.json"

    def write_row(self, row: dict[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.row, row)

    def read_row(self) -> dict[str, Any] | None:
        if not self.row.exists():
            return None
        row: dict[str, Any] = json.loads(self.row.read_text())
        return row


def folder(base: Path, case: Case, threads: int = 1) -> Folder:
    """`DIR/gemm_nn`, or `DIR/gemm_nn-2-threads`."""
    return Folder(base / (case.name if threads == 1 else f"{case.name}-{threads}-threads"))


def read_rows(base: Path, cases: Sequence[Case], threads: int = 1) -> list[dict[str, Any]]:
    """The rows there are, in the order of `cases`."""
    rows = (folder(base, case, threads).read_row() for case in cases)
    return [row for row in rows if row is not None]


def write_json(path: Path, data: Any) -> None:
    """Replace `path` at once: a reader, or a kill, never meets half a file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(data, indent=1))
    os.replace(draft, path)
