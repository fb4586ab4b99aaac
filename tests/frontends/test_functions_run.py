"""`schedsearch run` verifies kernels of functions, none of which is unknown to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schedsearch.frontends.functions import module_text

from .functions_module import HEAD, procedure_text

pytestmark = pytest.mark.slow

SAMPLE = (("exp", "log"), ("tanh", "pow_"), ("floor", "select_le"), ("sigmoid_", "max_"))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("names", SAMPLE, ids="-".join)
def test_it_is_verified(names: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + module_text(names) + procedure_text(kind, names))
    options = ["--size", "n=20000", "--executor", "inline", "--budget", "3"]
    command = [sys.executable, "-m", "schedsearch", "run", str(file), *options]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    found = subprocess.run(
        [*command, "--store", str(tmp_path / "store.sqlite")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert found.returncode == 0, found.stderr
    assert "weakly" not in found.stdout
    assert "incorrect" not in found.stdout
    assert re.search(r"candidates: [1-9]\d* correct", found.stdout)
    assert re.search(r"agrees with its evaluation in (\d+) of \1 cases\.", found.stdout)
