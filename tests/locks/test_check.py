"""`schedsearch check`: from a pinned schedule to an exit code."""

from __future__ import annotations

import json
import math
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.invoke import KERNELS, Answer

from benchmarks.guard.plants import Plant, compiler, equal, marked, plant, with_spins
from schedsearch import __version__
from schedsearch.core.records import Artifact, Failure, GeneratedC, Outcome
from schedsearch.core.stats import Estimate
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.evaluate.run.bench import Bench
from schedsearch.locks import check as checking
from schedsearch.locks import guard, verifying
from schedsearch.locks.entry import Lock, LockedTarget, LockEntry
from schedsearch.locks.kernel import Where, load_locked
from schedsearch.locks.place import read_lock, write_lock
from schedsearch.locks.result import Visit
from schedsearch.search.setup.subject import bench_of, load_subject
from schedsearch.store.database import Store
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.generated import code_key
from schedsearch.transforms.replay import Replayer
from tests.locks.entries import ENTRY

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]
RIGHT = ("check", "--correct-only")


@pytest.fixture
def lock(tuned: Path, run: Run) -> Path:
    """The lock file of a directory with one schedule, tuned and pinned."""
    answer = run("pin")
    assert answer.code == 0, answer.err
    return tuned / "schedules.lock"


def edit(lock: Path, change: Callable[[LockEntry], LockEntry]) -> None:
    """Change its entry."""
    (entry,) = read_lock(lock).entries
    write_lock(lock, Lock((change(entry),)))


def with_c(source: str) -> Callable[[LockEntry], LockEntry]:
    """With other pinned C, and its key."""

    def change(entry: LockEntry) -> LockEntry:
        assert entry.code is not None
        key = code_key(entry.code.header, source, entry.code.build)
        code = replace(entry.code, source=source, key=key)
        return replace(entry, code=code, keys=replace(entry.keys, code=key))

    return change


def pinned_c(lock: Path) -> GeneratedC:
    (entry,) = read_lock(lock).entries
    assert entry.code is not None
    return entry.code


def planted(lock: Path, made: Plant) -> Path:
    """A compiler that makes other machine code of today's C than of the pinned one."""
    edit(lock, marked)
    (entry,) = read_lock(lock).entries
    return compiler(find_compiler(entry.target.compiler.kind).path, [made], lock.parent / "other")


def test_an_untouched_tree_passes_and_is_not_timed(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "attempt", None)
    answer = run("check")
    assert answer.code == 0, answer.out
    row = r"^ matmul32 +mm.py +passed +- +- +same machine code +\d"
    assert re.search(row, answer.out, re.MULTILINE)
    assert "1 of 1: matmul32 of mm.py for " in answer.err
    assert "has no C" not in answer.err


def test_what_was_verified_here_needs_no_bench(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But other machine code does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(lock.parent / "again"))
    (lock.parent / "again").mkdir()
    assert "verifying matmul32" in run("check").err
    with monkeypatch.context() as patch:
        patch.setattr(verifying, "bench_of", None)
        answer = run("check")
    assert answer.code == 0, answer.out
    assert "verifying" not in answer.err
    made = equal(read_lock(lock).entries[0])
    answer = run("check", "--correct-only", "--cc", planted(lock, made))
    assert "verifying matmul32" in answer.err
    assert answer.code == 0, answer.out


def test_a_check_does_without_what_takes_long_to_load(lock: Path) -> None:
    loaded = "{'ray', 'sqlalchemy', 'alembic', 'pandas'} & set(sys.modules)"
    script = (
        "import sys\nfrom schedsearch.cli.main import main\n"
        "sys.argv[1:] = ['check', '.']\n"
        f"try: main()\nfinally: print('loaded:', {loaded})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=lock.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("loaded: set()\n"), done


@pytest.mark.slow
def test_what_is_slower_than_pinned_is_a_regression(lock: Path, run: Run) -> None:
    """Truly slower machine code; four times the time, since the machine may be loud."""
    (entry,) = read_lock(lock).entries
    made = plant(entry, lock.parent, lock.parent / "bench", 3.0)
    assert made.times.value > 2.0
    slow = planted(lock, made)
    outs = ["--json", "found.json", "--junit", "found.xml", "--markdown", "found.md"]
    answer = run("check", "--cc", slow, *outs)
    assert answer.code == 1, answer.out
    assert re.search(r"^  [\d.]+% slower than the pinned C: ", answer.out, re.MULTILINE)
    assert re.search(r"^  gcc was [\d.]+, is [\d.]+$", answer.out, re.MULTILINE)
    (found,) = json.loads(Path("found.json").read_text())["results"]
    assert found["status"] == "regression"
    assert not found["same_code"]
    assert found["timing"]["ratio"]["high"] < found["timing"]["least"] < 1.0
    assert ElementTree.parse("found.xml").find(".//failure[@type='regression']") is not None
    assert "❌ regression" in Path("found.md").read_text()


def test_another_trace_is_noticed(lock: Path, run: Run) -> None:
    """The procedure as written in place of a schedule."""
    edit(lock, lambda entry: replace(entry, trace=Trace()))
    answer = run(*RIGHT)
    assert answer.code == 0, answer.out
    assert "the generated C is not the locked one" in answer.out
    assert "the lock's trace or keys were edited" in answer.out
    assert re.search(r"^  @@ ", answer.out, re.MULTILINE)


# -- where timing does not tell -----------------------------------------------------------

NOISY = [Visit(1.0, 0.5 + n % 2) for n in range(guard.MOST_VISITS)]
STEPS = pytest.mark.skipif(platform.machine() != "x86_64", reason="counted on x86-64")


@pytest.fixture
def noisy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "attempt", lambda *given: NOISY)


def instructions(lock: Path) -> int:
    """Of one call, as they are counted."""
    (entry,) = read_lock(lock).entries
    kernel = load_locked(entry, lock.parent, Where(named=(lock.parent,)))
    built = kernel.subject.builder.build(kernel.code, 60)
    assert isinstance(built, Artifact)
    counts = bench_of(kernel.subject).count(built, built)
    assert not isinstance(counts, Failure), counts
    assert counts[0] == counts[1]
    return counts[0]


@STEPS
@pytest.mark.parametrize(("rise", "code"), [(0.05, 1), (0.01, 0)])
def test_instructions_decide(lock: Path, run: Run, noisy: None, rise: float, code: int) -> None:
    """Five per cent more of them are a regression, whatever the machine does."""
    spins = math.ceil(rise * instructions(lock) / 3)  # add, compare, jump
    before, after = pinned_c(lock), with_spins(pinned_c(lock), spins)
    made = Plant("matmul32", before.source, after.source, Estimate(1.0, 1.0, 1.0))
    answer = run("check", "--cc", planted(lock, made), "--json", "found.json")
    assert answer.code == code, answer.out
    assert f"{'regression' if code else 'passed'} matmul32" in answer.out
    assert "by instructions, as timing is too noisy to tell: " in answer.out
    assert "too noisy to tell: 1x [0.5, 1.5]" in answer.out
    (found,) = json.loads(Path("found.json").read_text())["results"]
    counted = found["instructions"]
    assert counted["call"] / counted["pinned"] - 1 == pytest.approx(rise, rel=0.05)


def test_where_nothing_tells_it_is_inconclusive(
    lock: Path, run: Run, noisy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Failure(Outcome.TIMEOUT, "time limit exceeded")
    monkeypatch.setattr(Bench, "count", lambda *given: failed)
    answer = run("check", "--cc", planted(lock, equal(read_lock(lock).entries[0])))
    assert answer.code == 3, answer.out
    assert "too noisy to tell: 1x [0.5, 1.5]" in answer.out
    assert "instructions could not be counted: time limit exceeded" in answer.out


# -- the pinned C -------------------------------------------------------------------------


def test_an_old_lock_has_no_c(lock: Path, run: Run) -> None:
    edit(lock, lambda entry: replace(entry, code=None))
    answer = run("check")
    assert answer.code == 0, answer.out
    assert "has no C to time with: `schedsearch pin` adds it" in answer.err
    assert "same machine code" in answer.out  # its key is enough
    edit(lock, lambda entry: replace(entry, trace=Trace()))
    answer = run("check")
    assert answer.code == 3
    assert "the C is another one than was pinned, which this lock file does not have" in answer.out


def test_c_that_was_edited_is_not_what_was_pinned(lock: Path, run: Run) -> None:
    text = lock.read_text()
    assert " += " in text
    lock.write_text(text.replace(" += ", " -= "))
    answer = run("check")
    assert answer.code == 2
    assert "the C in the lock is not that of its code_key" in answer.out


def test_c_that_does_not_compile_shows_nothing_of_other_files(lock: Path, run: Run) -> None:
    """What a compiler says of an included file has lines of it."""
    Path("secret").write_text("this is a secret\n")
    edit(lock, with_c(f'#include "{Path("secret").resolve()}"\n'))
    answer = run("check", "--json", "found.json")
    assert answer.code == 2, answer.out
    assert "the pinned C does not compile here: pin again" in answer.out
    assert "this is a secret" not in answer.out + answer.err + Path("found.json").read_text()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            "#include <stdio.h>\n__attribute__((constructor)) static void x(void)\n"
            '{ fputs("x", fopen("executed", "w")); }\n',
            "the pinned C is not right here, pin again: refused: the kernel called open",
        ),
        (
            "__attribute__((constructor)) static void x(void) { for (;;) ; }\n",
            "the pinned C is not right here, pin again: ",
        ),
    ],
)
def test_pinned_c_runs_in_the_sandbox_alone(lock: Path, run: Run, more: str, why: str) -> None:
    edit(lock, with_c(f"{pinned_c(lock).source}{more}"))
    answer = run("check")
    assert answer.code == 2, answer.out
    assert why in answer.out
    assert not Path("executed").exists()


def test_caveats_are_compared(lock: Path, run: Run) -> None:
    edit(lock, lambda entry: replace(entry, caveats=("weakly verified: C drowns",)))
    for _ in range(2):  # verified, and as it was remembered
        answer = run("check")
        assert answer.code == 0
        gone = "caveat of the lock that does not hold any more: weakly verified: C drowns"
        assert gone in answer.out
    edit(lock, lambda entry: replace(entry, caveats=()))
    assert "caveat" not in run("check").out


# -- wrong results ------------------------------------------------------------------------

MISCOMPILING = """\
#!{python}
'''gcc, but it changes the additions of the scheduled kernel.'''
import subprocess, sys
text = sys.stdin.read() if "-" in sys.argv else ""
if open({scheduled!r}).read() in text:
    text = "int raise(int);" + text.replace(" += ", {instead!r})
sys.exit(subprocess.run(["gcc", *sys.argv[1:]], input=text, text=True).returncode)
"""


def miscompiling(lock: Path, instead: str) -> str:
    """A compiler that has `instead` for the `+=` of the schedule."""
    (entry,) = read_lock(lock).entries
    subject = load_subject(lock.parent / "mm.py", None, {}, None)
    state = Replayer(subject.procedure).state(entry.trace)
    scheduled = lock.parent / "scheduled.c"
    scheduled.write_text(generate_c(state.procedure, state.build).source)
    paths = {"python": sys.executable, "scheduled": str(scheduled)}
    return MISCOMPILING.format(**paths, instead=instead)


def checked_with(compiler: str, lock: Path, run: Run) -> Answer:
    """With this program; compilers of one version share what they have built."""
    path, cache = lock.parent / "another-gcc", lock.parent / "again"
    path.write_text(compiler)
    path.chmod(0o755)
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        return run(*RIGHT, "--cc", path)


def test_a_wrong_result_is_found(lock: Path, run: Run) -> None:
    assert run(*RIGHT).code == 0
    answer = checked_with(miscompiling(lock, " -= "), lock, run)
    assert answer.code == 4, answer.out
    assert re.search(r"^  incorrect: C\[\d+, \d+\] is .*, expected ", answer.out, re.MULTILINE)


UNLUCKY = '#!/bin/sh\ncase " $* " in *" -c "*) kill -9 $$;; esac\nexec gcc "$@"\n'


def test_what_somebody_kills_is_neither_wrong_nor_slower(lock: Path, run: Run) -> None:
    """The process that runs the kernel, or the compiler."""
    answer = checked_with(miscompiling(lock, " += raise(9) + "), lock, run)
    assert answer.code == 2, answer.out
    assert "the process that verifies it was killed by somebody else" in answer.out
    answer = checked_with(UNLUCKY, lock, run)
    assert answer.code == 2, answer.out
    assert "the compiler was killed by somebody else" in answer.out


FORGETFUL = """from __future__ import annotations
from exo import DRAM, instr


@instr("{acc_data} += {a_data} * {b_data};")
def my_dot2(acc: [i32][1] @ DRAM, a: [i8][2] @ DRAM, b: [i8][2] @ DRAM):
    assert stride(a, 0) == 1
    assert stride(b, 0) == 1
    for k in seq(0, 2):
        acc[0] += a[k] * b[k]
"""


def test_an_instruction_whose_c_is_wrong_is_found(run: Run, tmp_path: Path) -> None:
    """Exo believes what an instruction says it does. No `pin` takes such a schedule: it comes
    from elsewhere, with its file."""
    shutil.copy(KERNELS / "dots.py", tmp_path)
    (tmp_path / "my_set.py").write_text(FORGETFUL)
    files = ["--target", "scalar", "--instructions", "my_set.py"]
    limits = ["--transforms", "use_instruction", "--executor", "inline", "--budget", "150"]
    assert run("run", "dots.py", *files, *limits).code == 0
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        wrong = next(c for c in store.load(scope) if c.record.outcome is Outcome.INCORRECT)
        workload, target = store.workload(scope), store.target(scope)
    sets = tuple(replace(each, path="my_set.py") for each in target.instructions)
    entry = LockEntry(
        replace(workload, source="dots.py"),
        LockedTarget.of(target, sets),
        wrong.record.trace,
        wrong.record.keys,
        ENTRY.speed,
        __version__,
    )
    write_lock(tmp_path / "schedules.lock", Lock((entry,)))
    answer = run("check")
    assert answer.code == 4, answer.out
    assert re.search(r"^  incorrect: y\[\d+\] is .*, expected ", answer.out, re.MULTILINE)


# -- when the source is not as it was -----------------------------------------------------


def change_source(lock: Path, old: str, new: str) -> None:
    source = lock.parent / "mm.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"), [("[i,", "[ 0 + i,"), ("+= A[", "+= 2.0 * A["), ("matmul32(", "matmul33(")]
)
def test_a_changed_procedure_is_stale(lock: Path, run: Run, old: str, new: str) -> None:
    """Whether or not the schedule still applies."""
    change_source(lock, old, new)
    answer = run("check", ".", "--json", "found.json")
    changed = new != "[ 0 + i,"  # the same procedure
    assert answer.code == (6 if changed else 0), answer.out
    if changed:
        assert re.search(r"^ matmul32 +mm.py +stale ", answer.out, re.MULTILINE)
        assert "has changed since it was pinned" in answer.out
        assert json.loads(Path("found.json").read_text())["exit_code"] == 6
    if "2.0" in new:
        assert "check . --repair" in answer.out


def test_a_schedule_that_does_not_apply(lock: Path, run: Run) -> None:
    def change(entry: LockEntry) -> LockEntry:
        first, *rest = entry.trace.steps
        return replace(entry, trace=Trace((replace(first, label="for z in seq(0, 7)"), *rest)))

    edit(lock, change)
    answer = run(*RIGHT, ".")
    assert answer.code == 1
    assert re.search(r"^  the schedule does not apply: step 1 \(", answer.out, re.MULTILINE)


def test_a_comment_changes_nothing(lock: Path, run: Run) -> None:
    change_source(lock, "@proc", "# a comment\n@proc")
    answer = run(*RIGHT, ".")
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == "1 schedule: 1 passed"
    assert "is not the locked one" not in answer.out


def test_a_source_that_is_gone(lock: Path, run: Run) -> None:
    (lock.parent / "mm.py").unlink()
    answer = run(*RIGHT)
    assert answer.code == 2
    assert "cannot read" in answer.out


def test_an_error_of_our_own_is_no_regression(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("schedsearch.cli.check.check_entries", broken)
    answer = run(*RIGHT)
    assert answer.code == 70
    assert "RuntimeError: a mistake of ours" in answer.err


# -- elsewhere ----------------------------------------------------------------------------


@pytest.mark.slow
def test_entries_of_other_processors_are_guarded_all_the_same(lock: Path, run: Run) -> None:
    edit(lock, lambda e: replace(e, target=replace(e.target, cpu="another")))
    answer = run("check")
    assert answer.code == 0
    assert "same machine code" in answer.out
    assert re.search(r"^  processor was another, is [\w -]+$", answer.out, re.MULTILINE)
    (entry,) = read_lock(lock).entries
    slow = planted(lock, plant(entry, lock.parent, lock.parent / "bench", 3.0))
    assert run("check", "--cc", slow).code == 1


@pytest.mark.parametrize(
    ("isa", "why"), [("neon", "do not run on this"), ("vliw", "does not know")]
)
def test_entries_of_other_machines_are_skipped(lock: Path, run: Run, isa: str, why: str) -> None:
    edit(lock, lambda e: replace(e, target=replace(e.target, isa=isa)))
    answer = run(*RIGHT)
    assert answer.code == 5
    assert why in answer.out


def test_one_size_that_is_a_constant_and_one_that_is_not(run: Run, tmp_path: Path) -> None:
    shutil.copy(KERNELS / "sized.py", tmp_path)
    limits = ["--executor", "inline", "--budget", "150", "--trials", "1", "--transforms", "split"]
    assert run("run", "sized.py", "--size", "M=64", "--specialize", *limits).code == 0
    with Store.open(tmp_path / "schedsearch.sqlite", create=False) as store:
        (scope,) = store.scopes()
        split = next(c for c in store.best(scope, 9) if c.record.trace.steps)
    assert run("pin", split.id).code == 0
    answer = run(*RIGHT)
    assert answer.code == 0, answer.out
    assert "scale (M=64 only" in answer.out.replace("\n", " ")
    assert "is not the locked one" not in answer.out


# -- what is checked ----------------------------------------------------------------------


def test_kernels_may_be_named(lock: Path, run: Run) -> None:
    for named in ("mm.py", lock.parent, "schedules.lock"):
        assert run(*RIGHT, named).code == 0
    assert run(*RIGHT, "--only", "mat*", "--only", "mm.py").code == 0
    other = lock.parent / "other.py"
    other.touch()
    for args, why in (
        (("other.py",), "has no entry for other.py"),
        (("nowhere.py",), "nowhere.py is not there"),
        (("--only", "conv*", "--only", "mat*"), "'conv*' matches none of: matmul32"),
        (("--tolerance", "much"), "is not a share"),
        (("--json", "nowhere/x.json"), "its directory is not there"),
        (("--junit", "."), "is a directory"),
    ):
        answer = run(*RIGHT, *args)
        assert answer.code == 2
        assert why in answer.err


def test_without_a_lock_file(run: Run) -> None:
    answer = run("check")
    assert answer.code == 2
    assert "`schedsearch pin` writes one" in answer.err


# -- in workflows -------------------------------------------------------------------------


def test_github_gets_annotations_and_a_summary(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(lock.parent.parent))  # the step is in a folder
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("before\n")
    (lock.parent / "mm.py").write_text("import exo\nraise ValueError('broken')\n")
    answer = run(*RIGHT)
    assert answer.code == 2
    file = f"{lock.parent.name}/mm.py"
    assert re.search(rf"^::error file={file},line=1,title=matmul32%3A error::", answer.out, re.M)
    assert Path("summary.md").read_text().startswith("before\n### schedsearch check\n")


def test_no_name_is_a_command_to_the_runner(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks for commands behind spaces (`::`), or anywhere in a line (`##[`)."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    name = "::stop-commands::x ##[stop-commands]y"
    edit(lock, lambda e: replace(e, workload=replace(e.workload, proc=name)))
    answer = run(*RIGHT)
    assert answer.code == 2
    lines = answer.out.splitlines()
    assert lines[0].startswith("::stop-commands::")
    resumed = lines.index(f"::{lines[0].removeprefix('::stop-commands::')}::")
    told = [line for line in lines[resumed + 1 :] if "stop-commands" in line]
    assert [line.split(" ")[0] for line in told] == ["::error"]
    assert any(line.startswith(" ::stop-commands::x") for line in lines[:resumed])


def test_an_interrupted_check_reports_what_it_has(
    lock: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "load_locked", interrupted)
    answer = run(*RIGHT, "--json", "found.json")
    assert answer.code == 130
    assert "interrupted; 1 of 1 not checked" in answer.err
    assert json.loads(Path("found.json").read_text())["interrupted"] is True
