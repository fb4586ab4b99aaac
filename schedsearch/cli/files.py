"""Files a user keeps."""

from __future__ import annotations

import tempfile
from pathlib import Path

from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC, Target, Workload
from schedsearch.core.trace import Trace
from schedsearch.present import format as fmt
from schedsearch.transforms.export import c_files, schedule_python
from schedsearch.transforms.loader import Source


def make_writable(out: Path) -> None:
    """Create `out` if needed and try to write there: before a search, not after it.

    Raises UserError if that fails.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> UserError:
    cause = error.strerror or error
    return UserError(f"cannot write to --out {out}: {cause}; choose another directory")


def schedule_notes(claim: str, target: Target, build: Build, workload: Workload) -> list[str]:
    """What the files say of where they come from; `claim` is how fast it is."""
    return [
        claim,
        f"on {fmt.target(target, build)}",
        f"sizes: {fmt.sizes(workload.sizes, workload.specialized) or 'as written'}",
    ]


def write_schedule(
    out: Path, source: Source, workload: Workload, trace: Trace, code: GeneratedC, notes: list[str]
) -> list[Path]:
    """Write `NAME.schedule.py`, `NAME.c` and `NAME.h` into `out`; returns their paths.

    NAME is that of the C function. Raises UserError if `out` cannot be written.
    """
    name = code.proc
    if "#pragma omp" in code.source:
        notes = [*notes, "compile with -fopenmp; OMP_NUM_THREADS says on how many threads it runs"]
    header, body = c_files(code, name, notes)
    python = schedule_python(source, workload.proc, trace, notes, workload.fixed)
    texts = {
        f"{name}.schedule.py": python,
        f"{name}.c": body,
        f"{name}.h": header,
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (out / file).write_text(text)
    except OSError as error:
        raise _unwritable(out, error) from error
    return [out / file for file in texts]
