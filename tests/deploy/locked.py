"""Lock files made without a search: of each procedure some first legal rewrite."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from schedsearch import __version__
from schedsearch.core.records import Keys
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.locks.entry import LockedSpeed, LockedTarget, LockEntry
from schedsearch.search.setup.subject import load_subject
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer

KERNELS = Path(__file__).parent / "procs" / "kernels.py"


def copied(home: Path) -> Path:
    """The file of the kernels, in a directory of its own."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(KERNELS, home / KERNELS.name)
    return home / KERNELS.name


def entry(
    file: Path,
    proc: str,
    sizes: Mapping[str, int],
    transform: str,
    *,
    specialized: bool = False,
    target: str | None = None,
    threads: int = 1,
    call_ns: float = 1000.0,
    with_args: Mapping[str, object] | None = None,
) -> LockEntry:
    """Of the first proposal of a transform that has these arguments."""
    subject = load_subject(file, proc, sizes, None, threads, target, specialized=specialized)
    proposals = select([transform])[0].rewrites(subject.ast, subject.target)
    wanted = (with_args or {}).items()
    trace = Trace((next(each for each in proposals if wanted <= dict(each.args).items()),))
    state = Replayer(subject.procedure, fp=subject.target.fp).state(trace)
    code = generate_c(state.procedure, state.build)
    speed = Estimate(2.0, 1.9, 2.1)
    return LockEntry(
        replace(subject.workload, source=file.name),
        LockedTarget.of(subject.target, subject.target.instructions),
        trace,
        Keys(ast_key(state.ast, state.build), code.key),
        LockedSpeed(speed, 5, True, "warm", call_ns, date(2026, 11, 24)),
        __version__,
        code=code,
    )
