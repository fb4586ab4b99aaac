"""`python -m benchmarks.calling.wheel`: how long does it take to import a wheel of kernels?"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from benchmarks.command import run_command
from schedsearch.core.numbers import count, duration
from schedsearch.deploy.library.building import Ordered, build
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import choose

ROUNDS = 30

_IMPORT = """
import sys, time
import numpy
begin = time.perf_counter()
if sys.argv[1] == "wheel":
    import shipped
print(time.perf_counter() - begin)
"""


def wheel(
    lock: Annotated[Path, typer.Argument(help="Lock file; it is built into a wheel.")],
    file: Annotated[
        list[Path] | None, typer.Option(help="Kernels' files, or directories of them.")
    ] = None,
) -> None:
    """Time `import` of a wheel in new processes that have imported NumPy, beside nothing at all,
    in turn. The files are in the system's cache.

    Example: [bold]python -m benchmarks.calling.wheel schedules.lock --file .[/]
    """
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        ordered = Ordered("shipped", "1", site / "wheels", wheel=True)
        where = Where(named=tuple(file or ()))
        built = build(choose([lock]), where, ordered, lambda text: print(text, file=sys.stderr))
        with zipfile.ZipFile(built.path) as archive:
            archive.extractall(site)
        seconds = over_nothing(site)
    print(f"{count(len(built.procs), 'kernel')}: {duration(seconds)} over NumPy's import")


def over_nothing(site: Path) -> float:
    """Seconds: the median over rounds."""
    return median(_seconds(site, "wheel") - _seconds(site, "nothing") for _ in range(ROUNDS))


def _seconds(site: Path, what: str) -> float:
    command = [sys.executable, "-c", _IMPORT, what]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    run_command(wheel)
