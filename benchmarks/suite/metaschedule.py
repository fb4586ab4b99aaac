"""`python -m benchmarks.suite.metaschedule`: MetaSchedule tunes the kernels of the group `tvm`.

`python -m benchmarks.suite run --only tvm` compares them afterwards. Both need TVM:
apache-tvm==0.27.0.post1, apache-tvm-ffi==0.1.14.post1 (the next one ends in a segmentation fault),
xgboost, cloudpickle, psutil and tornado.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import run_command, undirected
from benchmarks.suite.catalogue import CASES
from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.process import kill_group
from schedsearch.search.setup.subject import cache_dir

FORMS = tuple(case.form for case in CASES if case.group == "tvm")

_TUNE = "import sys; from benchmarks.suite.peers.with_tvm import tune; tune(*sys.argv[1:])"


def folder(form: str) -> Path:
    """Where MetaSchedule keeps what it has measured."""
    return cache_dir() / "tvm" / form


def metaschedule(
    seconds: Annotated[float, typer.Option(help="Time for each kernel.")] = 600.0,
    only: Annotated[str, typer.Option(metavar="A,B,...", help="Kernels.")] = ",".join(FORMS),
    python: Annotated[Path, typer.Option(help="Python that has TVM.")] = Path(sys.executable),
) -> None:
    """Let MetaSchedule tune each kernel for some time; what it has measured by then is kept.

    Needs apache-tvm==0.27.0.post1, apache-tvm-ffi==0.1.14.post1, xgboost, cloudpickle, psutil and
    tornado, here and in the environment of --python. Where PyTorch is installed too, each
    of MetaSchedule's processes takes 50 s to start: take another environment.

    Example: [bold]python -m benchmarks.suite.metaschedule --python tvm/bin/python[/], then
    [bold]python -m benchmarks.suite run --only tvm[/]
    """
    chosen = only.split(",")
    if unknown := set(chosen) - {*FORMS}:
        raise UserError(f"no kernel {sorted(unknown)[0]}; there are {', '.join(FORMS)}")
    undirected()
    for form in chosen:
        command = [str(python), "-c", _TUNE, form, str(folder(form))]
        try:
            child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        except OSError as error:
            raise UserError(f"{python} cannot be started: {error.strerror}") from None
        try:
            failed = child.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"{form}: tuned for {seconds:.0f} s")
            continue
        finally:
            kill_group(child)
        if failed:
            raise UserError(f"MetaSchedule failed at {form}, with exit code {failed}")
        print(f"{form}: nothing is left to try")


if __name__ == "__main__":
    run_command(metaschedule)
