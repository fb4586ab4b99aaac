"""Files a user keeps."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.core.text_file import write_text
from schedsearch.core.trace import Trace
from schedsearch.present import format as fmt
from schedsearch.transforms.export import c_files, schedule_python
from schedsearch.transforms.loader import Source

FORMATS = ("py", "c", "json")
DEFAULT_FORMATS = ("py", "c")

_ROOM = 1 << 16
"""Bytes: more than what is written of most schedules."""


def make_writable(out: Path) -> None:
    """Create `out` if needed and try to write there: before a search, not after it.

    Raises UserError if that fails.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        cause = error.strerror or error
        raise UserError(
            f"cannot write to --out {out}: {cause}; choose another directory"
        ) from error


def schedule_notes(claim: str, target: Target, build: Build, workload: Workload) -> list[str]:
    """What the files say of where they come from; `claim` is how fast it is."""
    return [
        claim,
        f"on {fmt.target(target, build)}",
        f"floating point: {fmt.contract(target.fp)}",
        f"sizes: {fmt.sizes(workload.sizes, workload.specialized) or 'as written'}",
    ]


def write_schedule(
    out: Path,
    source: Source,
    workload: Workload,
    trace: Trace,
    code: GeneratedC,
    notes: list[str],
    formats: Collection[str] = DEFAULT_FORMATS,
    data: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write `NAME.schedule.py`, `NAME.c` and `NAME.h`, `NAME.schedule.json` into `out`, as
    `formats` asks; returns their paths. `data` is for JSON.

    NAME is that of the C function. Raises UserError if `out` cannot be written.
    """
    name = code.proc
    if "#pragma omp" in code.source:
        notes = [*notes, "compile with -fopenmp; OMP_NUM_THREADS says on how many threads it runs"]
    texts = {}
    if "py" in formats:
        python = schedule_python(source, workload.proc, trace, notes, workload.fixed)
        texts[f"{name}.schedule.py"] = python
    if "c" in formats:
        header, body = c_files(code, name, notes)
        texts |= {f"{name}.c": body, f"{name}.h": header}
    if "json" in formats:
        texts[f"{name}.schedule.json"] = json.dumps(data, indent=2) + "\n"
    make_writable(out)
    for file, text in texts.items():
        try:
            write_text(out / file, text)
        except UserError as error:
            raise UserError(
                f"{error}; the store has the schedule, and `schedsearch export --out DIR` "
                "writes it where there is room"
            ) from error
    return [out / file for file in texts]
