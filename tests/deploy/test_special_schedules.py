"""Schedules with instructions of the user's own, and with threads, from a search to a call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.invoke import KERNELS, MATMUL, environment, invoke

import schedsearch
from schedsearch.evaluate.build.host import usable_cores

pytestmark = pytest.mark.normal

SET = """from __future__ import annotations
from exo import DRAM, instr


@instr("{acc_data} += {a_data} * {b_data} + (&{a_data})[1] * (&{b_data})[1];")
def my_dot2(acc: [i32][1] @ DRAM, a: [i8][2] @ DRAM, b: [i8][2] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 2):
        acc[0] += a[k] * b[k]
"""

TRIED = ("--executor", "inline", "--budget", "150", "--trials", "1", "--transforms")

DOTS = """
from dots import dots
import numpy as np, schedsearch, sys
candidate = schedsearch.open(sys.argv[1]).candidate(2)
assert "my_dot2" in str(candidate.trace.steps)
kernel = schedsearch.kernel(dots, use=candidate)
rng = np.random.default_rng(0)
y, a, x = np.zeros(32, "i4"), *(rng.integers(-99, 99, s).astype("i1") for s in ((32, 64), (64,)))
kernel(y, a, x)
assert (y == a.astype("i4") @ x.astype("i4")).all()
print(kernel.explain(y, a, x))
"""

THREADS = """
from mm import matmul128
import numpy as np, os, schedsearch, sys
candidate = schedsearch.open(sys.argv[1]).candidate(2)
assert "parallelize" in str(candidate.trace.steps)
kernel = schedsearch.kernel(matmul128, use=candidate)
a, c = np.ones((128, 128), "f4"), np.zeros((128, 128), "f4")
kernel(c, a, a)
assert (c == 128).all()
print(kernel.explain(c, a, a).as_json()["schedule"]["threads"], len(os.listdir("/proc/self/task")))
"""


def called(home: Path, script: str, **own: str) -> str:
    """What a program says that calls a kernel, elsewhere than it was tuned."""
    there = home / "elsewhere"
    there.mkdir(exist_ok=True)
    known = environment(home)
    path = os.pathsep.join(
        [known["PYTHONPATH"], str(home), str(Path(schedsearch.__file__).parents[1])]
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(home / "schedsearch.sqlite")],
        cwd=there,
        env={**known, "PYTHONPATH": path, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_instructions_of_ones_own(tmp_path: Path) -> None:
    """They are loaded if this user tuned with them, and are what they were."""
    shutil.copy(KERNELS / "dots.py", tmp_path)
    (tmp_path / "my_set.py").write_text(SET)
    own = ("--target", "scalar", "--instructions", "my_set.py")
    said = invoke(tmp_path, ["run", "dots.py", *own, *TRIED, "use_instruction"])
    assert said.code == 0, said.err
    found = called(tmp_path, DOTS)
    assert "runs dots, 1 rewrite" in found
    assert "from use=" in found
    (tmp_path / "my_set.py").write_text(SET + "\n# another text\n")
    changed = called(tmp_path, DOTS)
    assert "runs as written" in changed
    assert "passed over: dots" in changed
    assert "my_set.py" in changed


@pytest.mark.skipif(len(usable_cores()) < 2, reason="two threads need two cores")
def test_schedules_with_threads(tmp_path: Path) -> None:
    (tmp_path / "mm.py").write_text(MATMUL.read_text().replace("32", "128").replace("f128", "f32"))
    said = invoke(tmp_path, ["run", "mm.py", "--threads", "2", *TRIED, "parallelize"])
    assert said.code == 0, said.err
    running = []
    for count in ("1", "2"):
        own = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": count}
        threads, tasks = map(int, called(tmp_path, THREADS, **own).split())
        assert threads == 2
        running.append(tasks)
    assert running[1] == running[0] + 1
