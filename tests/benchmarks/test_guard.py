"""The benchmark of false alarms: a lock file checked again and again."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.guard import trials as trying
from benchmarks.guard.__main__ import mixed
from benchmarks.guard.plants import Plant, compiler, with_spins
from benchmarks.guard.report import show_runs, trials_table
from benchmarks.guard.tree import KERNELS, ROOT, make_tree
from benchmarks.guard.trials import Kind, Trial, run_trials
from benchmarks.guard.untouched import Run, run_checks
from schedsearch.core.checked import Checked, Status, Visit
from schedsearch.core.errors import UserError
from schedsearch.core.lock_place import write_lock
from schedsearch.core.lockfile import Lock
from schedsearch.core.records import GeneratedC
from schedsearch.core.stats import Estimate
from schedsearch.evaluate.compiler import find_compiler
from schedsearch.search.locked_kernel import Where
from tests.core.entries import ENTRY, TIMING

CODE = GeneratedC("f", "void f( float* x );", "void f( float* x ) {\nx[0] = 1.0f;\n}\n", "key")


def test_a_slower_kernel_spins_first() -> None:
    slower = with_spins(CODE, 1234).source
    assert slower.index("{\n") < slower.index("spin < 1234") < slower.index("x[0] = 1.0f;")
    with pytest.raises(UserError, match="no place in the C of g"):
        with_spins(replace(CODE, proc="g"), 1)


def test_a_compiler_with_plants_is_another_version_and_compiles_other_c(tmp_path: Path) -> None:
    real = find_compiler()
    plant = Plant("f", CODE.source, CODE.source.replace("1.0f", "2.0f"), Estimate(1.1, 1.1, 1.1))
    made = compiler(real.path, [plant], tmp_path / "planted")
    found = find_compiler(str(made))
    rebuilt = find_compiler(str(compiler(real.path, [], tmp_path / "rebuilt")))
    assert found.kind == rebuilt.kind == real.kind
    assert len({found.version, rebuilt.version, real.version}) == 3
    for text, constant in ((CODE.source, "2.0f"), ("float y = 1.0f;", "1.0f")):
        asked = [made, "-E", "-x", "c", "-"]
        answer = subprocess.run(asked, input=text, text=True, capture_output=True, check=True)
        assert constant in answer.stdout


def test_trials_are_what_checks_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = Where("slow-gcc")

    def check(entries: object, options: trying.Options, tell: object) -> object:
        assert options.pauses_s == (0.0,)
        slower = options.where == slow
        status = Status.REGRESSION if slower else Status.PASSED
        summary = "too noisy to tell: 18x" if not slower else "10 % slower"
        attempts = ((Visit(1.0, 18.0),),)
        yield 0, Checked(ENTRY, status, summary, timing=TIMING, seconds=2.0, attempts=attempts)

    monkeypatch.setattr(trying, "check", check)
    kinds = mixed({Kind.UNTOUCHED: 2, Kind.SLOWER: 1})
    plan = [(kind, slow if kind is Kind.SLOWER else Where()) for kind in kinds]
    trials: list[Trial] = []
    assert run_trials([ENTRY], tmp_path, plan, 9.0, (0.0,), trials.append) == 3
    assert sorted((t.kind, t.status, t.timed) for t in trials) == [
        ("slower", "regression", True),
        ("untouched", "passed", False),
        ("untouched", "passed", False),
    ]
    assert trials[0].ratio == pytest.approx(18 / 20)
    assert trials[0].attempts == [[[1.0, 18.0]]]
    assert trials_table(trials).row_count == 2
    assert run_trials([ENTRY], tmp_path, plan, -1.0, (0.0,), trials.append) == 0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """Of a kernel whose file defines no procedure."""
    path = tmp_path / "schedules.lock"
    anywhere = replace(ENTRY, target=replace(ENTRY.target, isa="scalar"))
    write_lock(path, Lock((anywhere,)))
    source = tmp_path / ENTRY.workload.source
    source.parent.mkdir(exist_ok=True)
    source.write_text("import exo\n")
    return path


def test_the_command_is_run_and_what_is_not_0_is_explained(lock: Path) -> None:
    runs: list[Run] = []
    run_checks(lock, 1, 60.0, False, lock.parent, runs.append)
    (run,) = runs
    assert run.code == 2
    assert run.results[0]["status"] == "error"
    text = StringIO()
    show_runs(Console(file=text, width=140), [run, replace(run, code=0)])
    assert "no Exo procedure" in text.getvalue()
    assert "1 of 2 ended with 0: such checks fail in at most 97.5% of cases" in text.getvalue()


def test_a_kernel_that_is_touched_ends_it(lock: Path) -> None:
    def touch(run: Run) -> None:
        (lock.parent / ENTRY.workload.source).write_text("import exo  # touched\n")

    with pytest.raises(UserError, match="changed meanwhile"):
        run_checks(lock, 9, 60.0, False, lock.parent, touch)


@pytest.mark.parametrize(("failed", "most"), [(0, "5.8%"), (1, "9.1%"), (50, "100.0%")])
def test_how_often_such_checks_may_fail(failed: int, most: str) -> None:
    """By the binomial distribution: 0 of 50 has a chance of 5 % at a rate of 1 - 0.05^(1/50);
    1 of 50 is the 0.95 quantile of Beta(2, 49)."""
    passed = Run("2026-11-22T00:00:00+00:00", 1.0, 0.0, False, 0, [], "")
    text = StringIO()
    runs = [replace(passed, code=int(number < failed)) for number in range(50)]
    show_runs(Console(file=text, width=140), runs)
    assert (
        f"{50 - failed} of 50 ended with 0: such checks fail in at most {most} of"
        in text.getvalue()
    )


def test_a_tree_is_made_by_commands_that_may_fail(tmp_path: Path) -> None:
    assert all((ROOT / "examples" / file).is_file() for file, *_ in KERNELS)
    with pytest.raises(UserError, match=r"`schedsearch run gemm_sizes.py .* failed: .*soon"):
        make_tree(tmp_path / "tree", "soon", lambda text: None)
