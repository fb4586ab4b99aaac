"""Whatever the user can mend ends with code 2, says what, where and what to do on standard
error, leaves standard output empty, and shows no traceback."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.evaluate.build.host import usable_cores
from schedsearch.store.database import Store

from .invoke import KERNELS, MATMUL, SMALL, Answer

pytestmark = pytest.mark.normal

Run = Callable[..., Answer]


def check(answer: Answer, *words: str | Path) -> None:
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    said = " ".join(answer.err.split())
    for word in words:
        assert str(word) in said


# -- the file -----------------------------------------------------------------------


def test_no_such_file(run: Run) -> None:
    check(run("run", "absent.py"), "absent.py", "No such file")


def test_a_directory(run: Run, tmp_path: Path) -> None:
    check(run("run", tmp_path), tmp_path, "Is a directory")


def test_a_file_that_raises(run: Run) -> None:
    check(run("run", KERNELS / "raises.py"), "failed to load", "ZeroDivisionError", "raises.py:5")


def test_a_file_without_the_future_import(run: Run, tmp_path: Path) -> None:
    """Exo's types are no names of Python."""
    kernel = (KERNELS / "two.py").read_text()
    (tmp_path / "two.py").write_text(kernel.replace("from __future__ import annotations\n", ""))
    check(run("run", "two.py"), "failed to load", "begin the file with `from __future__ import")


def test_a_file_without_procedures(run: Run) -> None:
    check(run("run", KERNELS / "nothing.py"), "no Exo procedure", "nothing.py", "@proc")


def test_several_procedures_and_none_named(run: Run) -> None:
    check(run("run", KERNELS / "two.py"), "several procedures", "copy, fill")


def test_an_unknown_procedure(run: Run) -> None:
    check(run("run", KERNELS / "two.py", "fil"), "no procedure 'fil'", "copy, fill")


def test_c_that_does_not_compile(run: Run) -> None:
    answer = run("run", KERNELS / "uncompilable.py", *SMALL)
    check(answer, "uses_broken", "does not compile", "error: expected", "instructions")


# -- sizes -----------------------------------------------------------------------------


def test_an_unknown_size(run: Run) -> None:
    answer = run("run", KERNELS / "sized.py", "--size", "K=8")
    check(answer, "scale has no size called 'K'", "M, N")


@pytest.mark.parametrize("text", ["M=8.5", "M=many"])
def test_a_size_that_is_no_integer(run: Run, text: str) -> None:
    said = f"--size M {text[2:]!r} is not an integer"
    check(run("run", KERNELS / "sized.py", "--size", text), said, "write for example 4")


@pytest.mark.parametrize("text", ["M", "M=", "=8"])
def test_a_malformed_size(run: Run, text: str) -> None:
    check(run("run", KERNELS / "sized.py", "--size", text), f"--size {text!r}", "--size M=512")


def test_a_size_given_twice(run: Run) -> None:
    answer = run("run", KERNELS / "sized.py", "--size", "M=8", "--size", "M=9")
    check(answer, "--size M is given twice")


def test_a_size_that_violates_an_assert(run: Run) -> None:
    answer = run("run", KERNELS / "sized.py", "--size", "N=12")
    check(answer, "scale", "N=12", "N", "8")


@pytest.mark.parametrize("value", ["0", "-8"])
def test_a_size_that_is_not_positive(run: Run, value: str) -> None:
    answer = run("run", KERNELS / "sized.py", "--size", f"M={value}")
    check(answer, f"M={value}", "at least 1")


# -- compiler ------------------------------------------------------------------------------


def test_a_missing_compiler(run: Run) -> None:
    check(run("run", MATMUL, "--cc", "nosuchcc"), "nosuchcc", "not found", "Install gcc or clang")


def test_a_compiler_that_is_none(run: Run) -> None:
    check(run("run", MATMUL, "--cc", "true"), "true", "neither gcc nor clang", "Install")


# -- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["0", "-5", "soon", "2d", "nan", ""])
def test_a_bad_budget(run: Run, budget: str) -> None:
    check(run("run", MATMUL, f"--budget={budget}"), f"--budget {budget!r}", "90s, 2m or 1h")


@pytest.mark.parametrize("value", ["1", "0.5", "-2"])
def test_a_target_that_is_reached_already(run: Run, value: str) -> None:
    answer = run("run", MATMUL, f"--target-speedup={value}")
    check(answer, f"--target-speedup {value}", "above 1")


def test_an_unknown_strategy(run: Run) -> None:
    answer = run("run", MATMUL, "--strategy", "greedy")
    check(answer, "--strategy 'greedy' is unknown", "best-first, exhaustive, random")


def test_an_unknown_executor(run: Run) -> None:
    check(run("run", MATMUL, "--executor", "slurm"), "--executor 'slurm' is unknown", "ray, inline")


def test_an_unknown_transform(run: Run) -> None:
    answer = run("run", MATMUL, "--transforms", "reorder,xyzzy")
    check(answer, "unknown transform 'xyzzy'", "reorder", "split")


def test_no_transforms(run: Run) -> None:
    check(run("run", MATMUL, "--transforms", ","), "--transforms is empty")


def test_refused_options_leave_no_store(run: Run, tmp_path: Path) -> None:
    for option in ("--strategy=x", "--executor=x", "--transforms=x", "--budget=x", "--cc=nosuchcc"):
        run("run", MATMUL, option)
    assert not (tmp_path / "schedsearch.sqlite").exists()


@pytest.mark.parametrize("option", ["--trials=0", "--trials=x", "--workers=0", "--nonsense"])
def test_what_the_option_parser_refuses(run: Run, option: str) -> None:
    check(run("run", MATMUL, option), option.partition("=")[0])


def test_an_unknown_command(run: Run) -> None:
    check(run("tune", MATMUL), "tune")


# -- output -------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["file/below", "/proc/schedsearch"])
def test_an_unwritable_output_directory_is_found_before_the_search(
    run: Run, tmp_path: Path, out: str
) -> None:
    Path("file").touch()
    check(run("run", MATMUL, *SMALL, "--out", out), "cannot write to --out", out, "another")
    assert not (tmp_path / "schedsearch.sqlite").exists()


# -- the store -----------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["file/store.sqlite", "/proc/schedsearch.sqlite"])
def test_an_unwritable_store(run: Run, store: str) -> None:
    Path("file").touch()
    check(run("run", MATMUL, *SMALL, "--store", store), store, "choose another path")


def test_a_corrupt_store(run: Run) -> None:
    Path("broken.sqlite").write_bytes(b"this is not a database " * 100)
    for args in (["run", MATMUL, *SMALL], ["list"], ["best"], ["show", "1"]):
        check(run(*args, "--store", "broken.sqlite"), "broken.sqlite", "move the file away")


def test_a_store_of_a_newer_schedsearch(run: Run) -> None:
    Store.open(Path("newer.sqlite")).close()
    with sqlite3.connect("newer.sqlite") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    check(run("list", "--store", "newer.sqlite"), "newer.sqlite", "newer")


COMMANDS = (["list"], ["best"], ["show", "1"], ["replay", "1"], ["export"], ["export", "1"])


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_store_that_does_not_exist(run: Run, tmp_path: Path, args: list[str]) -> None:
    check(run(*args), "no tuning store at schedsearch.sqlite", "`schedsearch run FILE`")
    assert list(tmp_path.iterdir()) == []


def test_merging_a_store_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    check(run("merge", "absent.sqlite"), "no tuning store at absent.sqlite")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_an_empty_store(run: Run, args: list[str]) -> None:
    Store.open(Path("schedsearch.sqlite")).close()
    check(run(*args), "schedsearch.sqlite", "no candidate 1" if "1" in args else "is empty")


# -- candidates -----------------------------------------------------------------------------------


def test_an_unknown_candidate(run: Run, tuned: Path) -> None:
    for name in ("show", "replay", "export"):
        check(run(name, "99999"), "no candidate 99999", "schedsearch.sqlite")


def test_an_unknown_procedure_of_the_store(run: Run, tuned: Path) -> None:
    check(run("best", "conv"), "no procedure 'conv'", "it has: matmul32")


def test_too_many_steps(run: Run, tuned: Path) -> None:
    check(run("replay", "2", "--step", "7"), "--step 7", "candidate 2 has 1 rewrite")


def test_a_source_that_changed(run: Run, tuned: Path) -> None:
    text = (tuned / "mm.py").read_text()
    (tuned / "mm.py").write_text(text.replace("A[i, k]", "A[k, i]"))
    for name in ("replay", "export"):
        check(run(name, "2"), "it has changed since this user tuned or recorded it", "--file mm.py")
        again = run(name, "2", "--file", "mm.py")
        check(again, "matmul32 in mm.py is not what was tuned", "--file")


def test_a_source_that_is_gone(run: Run, tuned: Path) -> None:
    (tuned / "mm.py").rename(tuned / "moved.py")
    check(run("replay", "2"), "mm.py", "--file")
    assert run("replay", "2", "--file", "moved.py").code == 0


def test_fewer_transforms_than_before(run: Run, tuned: Path) -> None:
    answer = run(
        *("run", "mm.py", "--executor", "inline", "--budget", "5", "--transforms", "reorder"),
    )
    check(
        answer,
        "with transforms that this one has not: fission",
        "--transforms",
        "another --store",
    )


def test_another_cache_mode_than_before(run: Run, tuned: Path) -> None:
    answer = run(
        *("run", "mm.py", "--executor", "inline", "--budget", "5", "--cache", "cold"),
        *("--transforms", "reorder,fission"),
    )
    check(answer, "timed with warm caches", "--cache warm", "another --store")


def test_exporting_what_is_not_verified(run: Run, tuned: Path) -> None:
    with Store.open(Path("schedsearch.sqlite"), create=False) as opened:
        others = [c.id for c in opened.load(opened.scopes()[0]) if c.record.measurement is None]
    check(run("export", others[0]), f"candidate {others[0]} is not a verified schedule", "best")


# -- threads ---------------------------------------------------------------------------


def test_more_threads_than_cores(run: Run) -> None:
    check(run("run", MATMUL, "--threads", "4096"), "--threads 4096", "may use 1 to")
    check(run("run", MATMUL, "--threads", "0"), "--threads 0", "may use 1 to")


def test_a_compiler_without_openmp(run: Run, tmp_path: Path) -> None:
    """It compiles everything else."""
    script = tmp_path / "gcc"
    refusal = 'case "$*" in *-fopenmp*) echo "error: no libgomp" >&2; exit 1;; esac'
    script.write_text(f'#!/bin/sh\n{refusal}\nexec gcc "$@"\n')
    script.chmod(0o755)
    if len(usable_cores()) == 1:
        check(run("run", MATMUL, "--threads", "2", "--cc", script), "may use 1 to")
        return
    # One of the same version that can, before: what it built is in the cache.
    run("run", MATMUL, "--threads", "2", "--cc", "gcc", *SMALL)
    said = ("cannot build OpenMP kernels", "no libgomp", "--threads 1")
    check(run("run", MATMUL, "--threads", "2", "--cc", script), *said)


def test_a_parallel_loop_that_races(run: Run) -> None:
    answer = run("run", KERNELS / "racy.py", *SMALL)
    check(answer, "racy.py", "parallel loop over k in racy may race", "elements of C")


@pytest.mark.parametrize("file", ["caches", "caches/schedsearch"])
def test_a_cache_that_cannot_be_used(
    file: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    said = ("cannot use", tmp_path / "caches" / "schedsearch", "choose other directories")
    check(run("run", MATMUL, *SMALL), *said)
    answer = run("doctor", "--cc", "gcc")
    assert "no: cannot use" not in answer.out  # compilers are asked about threads without it
    check(replace(answer, out=""), *said)
