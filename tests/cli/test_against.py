"""`--against` of `run`, `report` and `check`: peers beside the result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from api.test_report import data_of

from schedsearch.core.trace import Trace
from schedsearch.peers import against
from schedsearch.peers.rounds import Plan
from schedsearch.study.schedule import Schedule

from .invoke import MATMUL, SMALL, Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel, and a file of functions beside it; comparisons are short."""
    shutil.copy(MATMUL, tmp_path / "mm.py")
    (tmp_path / "mine.py").write_text("def mine(C, A, B):\n    C += A @ B\n")
    monkeypatch.setattr(against, "PLAN", Plan(rounds=5, seconds=0))
    return tmp_path


@pytest.fixture
def short(tuned: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tuned directory with a function beside the kernel; comparisons are short."""
    (tuned / "mine.py").write_text("def mine(C, A, B):\n    C += A @ B\n")
    (tuned / "wrong.py").write_text("def wrong(C, A, B):\n    C += 2 * A @ B\n")
    monkeypatch.setattr(against, "PLAN", Plan(rounds=5, seconds=0))
    return tuned


@pytest.mark.slow
@pytest.mark.usefixtures("theirs", "hurried")
def test_a_run_says_how_it_compares(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "512")
    said = run("run", "mm.py", *SMALL, "--against", "mine.py:mine,cc=gcc")
    assert said.code == 0, said.err
    head, _, tail = said.out.partition("\nagainst others, on arrays as NumPy allocates them:\n")
    assert "the speed of matmul32 as written" in head
    assert " as fast as mine.py:mine: " in tail
    assert " as fast as cc=gcc: " in tail
    assert "(5 interleaved rounds)" in tail
    assert "-O3 -march=native -ffast-math" in tail
    assert "OPENBLAS_L2_SIZE" in tail
    assert "comparing matmul32 with mine.py:mine, cc=gcc" in said.err


@pytest.mark.slow
@pytest.mark.usefixtures("theirs", "hurried")
@pytest.mark.parametrize("specialize", [(), ("--specialize",)])
def test_compilers_get_a_file_of_c_as_it_is(run: Run, specialize: tuple[str, ...]) -> None:
    Path("scale.c").write_text(
        "/* once of int32_t, which our own C would wrap */\n"
        "static float of(float x) { return x < 0 ? 0 : x; }\n"
        "float scale(float a, int n, const float *x, float *y)\n"
        "{ float s = 0; for (int i = 0; i < n; i++) { y[i] = a * of(x[i]); s += y[i]; }"
        " return s; }\n"
    )
    said = run("run", "scale.c", "--size", "n=3000", *SMALL, *specialize, "--against", "cc=gcc")
    assert said.code == 0, said.err
    _, _, tail = said.out.partition("\nagainst others, on arrays as NumPy allocates them:\n")
    assert " as fast as cc=gcc: " in tail
    assert "    the file as written, gcc " in tail
    assert "wrapv" not in tail


@pytest.mark.slow
@pytest.mark.usefixtures("theirs", "hurried")
def test_programs_read_the_same(run: Run) -> None:
    said = run("run", "mm.py", *SMALL, "--json", "--against", "numpy")
    (found,) = json.loads(said.out)["against"]
    assert found["peer"] == "numpy"
    assert found["ratio"]["low"] <= found["ratio"]["value"] <= found["ratio"]["high"]
    assert found["decision"] in ("faster", "slower", "same", "inconclusive")
    assert "np.matmul" in found["text"]


@pytest.mark.usefixtures("theirs")
def test_what_is_no_peer_is_said_before_the_search(run: Run) -> None:
    said = run("run", "mm.py", "--against", "nonsense")
    assert said.code == 2
    assert "--against 'nonsense': it takes numpy" in said.err + said.out
    assert "measuring" not in said.err


@pytest.mark.slow
def test_a_report_shows_how_the_best_compares(short: Path, run: Run) -> None:
    said = run("report", "--out", "out.html", "--against", "mine.py:mine,numpy")
    assert said.code == 0, said.err
    assert said.out == "out.html\n"
    assert "comparing matmul32 with mine.py:mine, numpy" in said.err
    beside = data_of((short / "out.html").read_text())["against"]
    assert any(" as fast as mine.py:mine: " in line for line in beside["lines"])
    assert any("np.matmul" in text for _, text in beside["texts"])
    assert run("report", "--out", "plain.html").code == 0
    assert data_of((short / "plain.html").read_text())["against"] is None


@pytest.mark.usefixtures("short")
def test_a_check_shows_it_and_decides_nothing_by_it(run: Run) -> None:
    assert run("pin").code == 0
    outs = ("--json", "out.json", "--markdown", "out.md", "--junit", "out.xml")
    said = run("check", "--against", "mine.py:mine,wrong.py:wrong", *outs)
    assert said.code == 0, said.err + said.out
    assert "matmul32 against others, on arrays as NumPy allocates them:" in said.out
    assert " as fast as mine.py:mine: " in said.out
    assert "wrong.py:wrong: not compared: its results are others" in said.out
    (result,) = json.loads(Path("out.json").read_text())["results"]
    mine, wrong = result["against"]
    assert mine["ratio"]["low"] <= mine["ratio"]["value"] <= mine["ratio"]["high"]
    assert (wrong["peer"], wrong["ratio"]) == ("wrong.py:wrong", None)
    for name in ("out.md", "out.xml"):
        assert "as fast as mine.py:mine" in Path(name).read_text().replace("\\", "")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("other", ["--correct-only", "--repair"])
def test_what_times_nothing_compares_nothing(run: Run, other: str) -> None:
    said = run("check", other, "--against", "numpy")
    assert said.code == 2
    assert f"--against times kernels, {other} does not" in said.err


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("command", ["report", "check"])
def test_all_who_compare_name_what_is_no_peer(run: Run, command: str) -> None:
    said = run(command, "--against", "nonsense")
    assert said.code == 2
    assert "--against 'nonsense': it takes numpy" in said.err


@pytest.mark.usefixtures("short")
def test_a_report_compares_what_it_reports(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what another version makes of the same trace."""
    replayed = Schedule.replayed
    monkeypatch.setattr(Schedule, "replayed", lambda schedule, _: replayed(schedule, Trace()))
    said = run("report", "--against", "numpy")
    assert said.code == 2
    assert "differs from the recorded one" in said.err
