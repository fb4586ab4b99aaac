"""`python -m benchmarks.suite.metaschedule`: MetaSchedule tunes the kernels of the group `tvm`.

`python -m benchmarks.suite run --only tvm` compares them afterwards. Both need TVM:
apache-tvm==0.27.0.post1, apache-tvm-ffi==0.1.14.post1 (the next one ends in a segmentation fault),
xgboost, cloudpickle, psutil and tornado.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Annotated

import typer

from benchmarks.command import run_command, undirected
from benchmarks.suite.catalogue import CASES
from schedsearch.core.errors import UserError
from schedsearch.evaluate.build.process import kill_group

FORMS = tuple(case.form for case in CASES if case.group == "tvm")

_TUNE = "import sys; from benchmarks.suite.peers.with_tvm import tune; tune(sys.argv[1])"


def metaschedule(
    seconds: Annotated[float, typer.Option(help="Time for each kernel.")] = 600.0,
    only: Annotated[str, typer.Option(metavar="A,B,...", help="Kernels.")] = ",".join(FORMS),
) -> None:
    """Let MetaSchedule tune each kernel for some time; what it has measured by then is kept.

    Needs apache-tvm==0.27.0.post1, apache-tvm-ffi==0.1.14.post1, xgboost, cloudpickle, psutil and
    tornado.

    Example: [bold]python -m benchmarks.suite.metaschedule[/], then
    [bold]python -m benchmarks.suite run --only tvm[/]
    """
    if importlib.util.find_spec("tvm") is None:
        raise UserError("TVM is not installed; `--help` names its packages")
    chosen = only.split(",")
    if unknown := set(chosen) - {*FORMS}:
        raise UserError(f"no kernel {sorted(unknown)[0]}; there are {', '.join(FORMS)}")
    undirected()
    for form in chosen:
        command = [sys.executable, "-c", _TUNE, form]
        child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
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
