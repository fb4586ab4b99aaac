"""A directory as `schedsearch check` finds it in CI: kernels, and the lock file pinned for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.locks.place import NAME

ROOT = Path(__file__).parents[2]

KERNELS: Sequence[tuple[str, ...]] = (
    ("gemm_sizes.py", "--size", "M=256", "--size", "N=256", "--size", "K=256", "--specialize"),
    ("gemv.py",),
    ("layernorm.py",),
)
"""Of `examples`: bound by arithmetic, by memory, and a chain of reductions; a call as written
takes 3 to 25 ms."""


def make_tree(folder: Path, budget: str, tell: Callable[[str], None]) -> Path:
    """Tune the kernels in a new `folder` and pin them, by the commands a user gives; returns the
    lock file. The store is not kept there. Raises UserError if a command fails."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        store = str(Path(scratch, "store.sqlite"))
        for file, *sizes in KERNELS:
            shutil.copy(ROOT / "examples" / file, folder)
            tell(f"tuning {file} ...")
            options = ["--budget", budget, "--store", store, "--out", scratch]
            _schedsearch(folder, ["run", file, *sizes, *options])
        lock = folder.resolve() / NAME
        _schedsearch(folder, ["pin", "--store", store, "--lock", str(lock)])
    return lock


def _schedsearch(folder: Path, arguments: Sequence[str]) -> None:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", "schedsearch", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = f"{done.stdout}{done.stderr}".strip()
        raise UserError(f"`schedsearch {' '.join(arguments)}` failed: {said[-1000:]}")
