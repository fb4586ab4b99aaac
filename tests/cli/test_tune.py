"""`schedsearch tune --recorded`: from a recorded program to one that runs what was found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.text_file import write_text
from schedsearch.deploy.recorded import SUFFIX
from schedsearch.search import session
from schedsearch.search.setup.budget import Stop

from .invoke import COMMAND, Answer, environment, found_much, invoke

pytestmark = pytest.mark.normal

Program = Callable[..., dict[str, Any]]

PROGRAM = """
from __future__ import annotations
import json
import numpy as np
import schedsearch
from exo import proc

@schedsearch.kernel
@proc
def product(n: size, C: f32[n, n], A: f32[n, n], B: f32[n, n]):
    for i in seq(0, n):
        for j in seq(0, n):
            for k in seq(0, n):
                C[i, j] += A[i, k] * B[k, j]

if __name__ == "__main__":
    c, a, b = (np.ones((48, 48), "f4") for _ in range(3))
    for _ in range(200):
        c[...] = 0
        product(c, a, b)
    assert (c == 48).all()
    print(json.dumps(product.explain(c, a, b).as_json()))
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs it in a directory of its own, with these variables; what it explains of its kernel."""
    write_text(tmp_path / "program.py", PROGRAM)

    def call(**variables: str) -> dict[str, Any]:
        said = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env={**environment(tmp_path), **variables},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        found: dict[str, Any] = json.loads(said.stdout)
        return found

    return call


SHORT = ("--executor", "inline", "--budget", "40s")


@pytest.mark.slow
def test_recorded_tuned_and_run_again(program: Program, tmp_path: Path) -> None:
    assert program(SCHEDSEARCH_RECORD="calls")["schedule"] is None
    answer = invoke(tmp_path, ["tune", "--recorded", "calls", *SHORT, "--lock", "schedules.lock"])
    assert answer.code == 0, answer.err
    plan, found = answer.out.split("over as written")
    assert "product n=48" in plan
    assert "written: schedules.lock" in found
    again = program(SCHEDSEARCH_RECORD="calls again")
    assert again["source"] == str(tmp_path / "schedules.lock")
    assert again["schedule"]["speedup"]["value"] > 2
    (tmp_path / "schedules.lock").unlink()
    store = tmp_path / "calls" / "schedsearch.sqlite"
    assert program(SCHEDSEARCH_STORE=str(store))["source"] == str(store)
    more = invoke(tmp_path, ["tune", "--recorded", "calls", *SHORT, "--json"])
    [continued] = json.loads(more.out)["plan"]
    assert continued["stored_s"] < continued["recorded_s"] / 2
    write_text(tmp_path / "program.py", PROGRAM.replace("A[i, k] * B[k, j]", "B[k, j] * A[i, k]"))
    program(SCHEDSEARCH_RECORD="changed")
    changed = invoke(tmp_path, ["tune", "--recorded", "calls", *SHORT])
    assert changed.code == 2
    assert "has changed in" in " ".join(changed.err.split())


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_found(program: Program, tmp_path: Path) -> None:
    program(SCHEDSEARCH_RECORD="calls")
    words = ["tune", "--recorded", "calls", "--executor", "inline", "--lock", "schedules.lock"]
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if found_much(line):
            break
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted; what was found is kept" in out
    assert program()["source"] == str(tmp_path / "schedules.lock")


def test_nothing_is_recorded(run: Callable[..., Answer], tmp_path: Path) -> None:
    for folder in ("nowhere", "."):
        answer = run("tune", "--recorded", folder)
        assert answer.code == 2
        assert f"SCHEDSEARCH_RECORD={folder}" in answer.err
    answer = run("tune")
    assert answer.code == 2
    assert "--recorded" in answer.err


def broken(*about: object) -> None:
    raise UserError("no compiler")


def test_damage_interrupts_and_places_that_are_not_there(
    program: Program,
    run: Callable[..., Answer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program(SCHEDSEARCH_RECORD="calls")
    (tmp_path / "calls" / f"damaged{SUFFIX}").write_bytes(os.urandom(99))
    monkeypatch.setattr(session, "tune", lambda *about: SimpleNamespace(stop=Stop.INTERRUPTED))
    answer = run("tune", "--recorded", "calls")
    assert answer.code == 130
    assert "skipped: calls/damaged.calls: it is no recording" in answer.err
    assert "interrupted; what was found is kept, the same command continues" in answer.out
    answer = run("tune", "--recorded", "calls", "--lock", "nowhere/schedules.lock")
    assert answer.code == 2
    assert "--lock: cannot write" in answer.err
    monkeypatch.setattr(session, "tune", broken)
    answer = run("tune", "--recorded", "calls", "--lock", "program.py")
    assert answer.code == 2
    assert "program.py is not a lock file" in answer.err
    assert "no compiler" not in answer.err, "it is said before anything is searched"
    answer = run("tune", "--recorded", "calls")
    assert answer.code == 1
    assert "product n=48: no compiler" in answer.err
    monkeypatch.setattr(session, "tune", lambda *about: SimpleNamespace(stop=Stop.TIME))
    answer = run("tune", "--recorded", "calls", "--json")
    assert answer.code == 0
    assert json.loads(answer.out)["found"] == []
    assert "nothing faster was found" in run("tune", "--recorded", "calls").out
