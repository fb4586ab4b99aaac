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
from benchmarks.guard.plants import Plant, compiler, equal, marked, with_spins
from benchmarks.guard.report import show_runs, trials_table
from benchmarks.guard.tree import KERNELS, ROOT, make_tree
from benchmarks.guard.trials import Kind, Trial, run_trials
from benchmarks.guard.untouched import Run, run_checks
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC
from schedsearch.core.stats import Estimate
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.locks.entry import Lock
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import write_lock
from schedsearch.locks.result import Checked, Status, Visit
from schedsearch.transforms.exo.generated import code_key
from tests.locks.entries import COMPILED as ENTRY
from tests.locks.entries import TIMING

pytestmark = pytest.mark.normal

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


def test_pinned_c_that_is_marked_is_the_same_program_and_not_planted() -> None:
    entry = marked(ENTRY)
    assert entry.code is not None
    assert ENTRY.code is not None
    key = code_key(entry.code.header, entry.code.source, entry.code.build)
    assert entry.code.key == entry.keys.code == key != ENTRY.code.key
    plant = equal(ENTRY)
    assert plant.before == ENTRY.code.source != plant.after
    assert plant.before not in entry.code.source
    assert "// pinned\n" in entry.code.source


def test_trials_are_what_checks_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = Where("slow-gcc")

    def check(entries: object, options: trying.CheckOptions, tell: object) -> object:
        found = Checked(ENTRY, Status.PASSED, "", same=True, seconds=2.0)
        if options.where != slow:
            yield found
        else:
            visits = (Visit(1.0, 0.94),)
            status = Status.REGRESSION
            yield replace(found, status=status, same=False, timing=TIMING, visits=visits)

    monkeypatch.setattr(trying, "check", check)
    kinds = mixed({Kind.UNTOUCHED: 2, Kind.SLOWER: 1})
    plan = [(kind, slow if kind is Kind.SLOWER else Where(), [ENTRY]) for kind in kinds]
    trials: list[Trial] = []
    assert run_trials(tmp_path, plan, 9.0, trials.append) == 3
    assert sorted((t.kind, t.status, t.by) for t in trials) == [
        ("slower", "regression", "time"),
        ("untouched", "passed", "code"),
        ("untouched", "passed", "code"),
    ]
    (slower,) = (each for each in trials if each.kind == Kind.SLOWER)
    assert slower.ratio == 0.94
    assert slower.visits == [[1.0, 0.94]]
    assert trials_table(trials).row_count == 2
    assert run_trials(tmp_path, plan, -1.0, trials.append) == 0


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
