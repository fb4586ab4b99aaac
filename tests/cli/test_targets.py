"""Targets and instruction files on the command line."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .invoke import KERNELS, Answer, invoke
from .unreadable import UNREADABLE, unreadable

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

LIMITED = ("--executor", "inline", "--budget", "150", "--trials", "1", "--transforms")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which a kernel was tuned with nothing but an instruction of the user's."""
    home = tmp_path_factory.mktemp("instructed")
    shutil.copy(KERNELS / "dots.py", home / "dots.py")
    (home / "my_set.py").write_text(SET)
    lines = ['isa = "scalar"', 'cpu = "cellar"', 'instructions = ["my_set.py"]']
    (home / "machine.toml").write_text("\n".join(lines))
    said = invoke(
        home, ["run", "dots.py", "--target", "machine.toml", *LIMITED, "use_instruction", "--json"]
    )
    assert said.code == 0, said.err
    written = invoke(home, ["export", "2", "--instructions", "my_set.py"])
    assert written.code == 0, written.err
    return home


def test_the_exported_schedule_carries_the_instruction(tuned: Path) -> None:
    text = (tuned / "dots.schedule.py").read_text()
    assert "def my_dot2(" in text
    assert "on cellar" in text
    assert "(&A[" in (tuned / "dots.c").read_text()


def test_replay_needs_the_file_again_and_no_other_text(tuned: Path) -> None:
    """In processes of their own: in this one the file may be loaded already."""
    without = invoke(tuned, ["replay", "2"])
    assert without.code == 2
    assert "my_set is not loaded: give its file with --instructions" in without.err
    other = tuned / "other" / "my_set.py"
    other.parent.mkdir()
    other.write_text(SET + "\n# another text\n")
    changed = invoke(tuned, ["replay", "2", "--instructions", other])
    assert changed.code == 2
    assert "my_set has changed: the trace needs" in changed.err


@pytest.mark.parametrize("option", ["--target", "--instructions"])
@pytest.mark.parametrize("kind", [*UNREADABLE, "no text"])
def test_what_is_no_readable_file_is_refused(
    run: Callable[..., Answer], tmp_path: Path, option: str, kind: str
) -> None:
    given = unreadable(tmp_path / "given", kind)
    if kind == "no text":
        given.write_bytes(b"\xff\xfe")
    answer = run("run", KERNELS / "dots.py", option, given)
    assert answer.code == 2
    assert answer.out == ""
    assert "cannot read" in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "schedsearch.sqlite").exists()


INSTRUCTION_FILES = {
    "nothing": ("", "no Exo instruction in"),
    "NUL": ("\0", "failed to load: "),
    "nested": ("(" * 100_000, "failed to load: "),
    "deep": (f"x = {'-' * 100_000}1", "failed to load: "),
    "digits": (f"x = {'9' * 1_000_000}", "failed to load: SyntaxError: Exceeds the limit"),
    "exits": ("raise SystemExit(0)", "failed to load: SystemExit: 0"),
    "recursive": ("def f(): f()\nf()", "failed to load: RecursionError"),
    "renamed": (SET + "\nother = my_dot2", "is bound to another name"),
    "body": (
        SET.replace("acc[0] +=", "acc[nothing] +="),
        "variable 'nothing' undefined",
    ),
    "memory": (SET.replace("@ DRAM", "@ 7"), "given.py:"),
}


@pytest.mark.parametrize("kind", INSTRUCTION_FILES)
def test_instruction_files_that_are_not_as_they_should(
    run: Callable[..., Answer], tmp_path: Path, kind: str
) -> None:
    """They are Python that the user asks to be executed; what goes wrong there is said."""
    text, reason = INSTRUCTION_FILES[kind]
    (tmp_path / "given.py").write_text(text)
    answer = run("run", KERNELS / "dots.py", "--instructions", "given.py", *LIMITED, "split")
    assert answer.code == 2, answer
    assert reason in answer.err
    assert "Traceback" not in answer.err


def exported(run: Callable[..., Answer], tuned: Path, target: str) -> Answer:
    files = ["--store", tuned / "schedsearch.sqlite", "--file", tuned / "dots.py"]
    return run("export", "2", *files, "--instructions", tuned / "my_set.py", "--target", target)


@pytest.mark.skipif(
    not shutil.which("aarch64-linux-gnu-gcc"), reason="aarch64-linux-gnu-gcc is not installed"
)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="native there")
def test_export_compiles_for_a_foreign_target(
    run: Callable[..., Answer], tuned: Path, tmp_path: Path
) -> None:
    answer = exported(run, tuned, "neon")
    assert answer.code == 0, answer.err
    notes = (tmp_path / "dots.c").read_text().splitlines()
    (note,) = (line for line in notes if "compiles for" in line)
    assert "aarch64 · neon, 128-bit vectors · fp fast · gcc" in note
    assert "neither verified nor timed there" in note


def test_a_schedule_that_does_not_compile_there_is_not_written(
    run: Callable[..., Answer], tuned: Path, tmp_path: Path
) -> None:
    (tmp_path / "odd.toml").write_text('flags = ["-O2", "-fno-such-option"]\n')
    answer = exported(run, tuned, "odd.toml")
    assert answer.code == 2
    assert "does not compile for odd.toml" in answer.err
    assert not (tmp_path / "dots.c").exists()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="NEON is native here")
def test_doctor_as_json_has_what_it_looked_at(run: Callable[..., Answer]) -> None:
    answer = run("doctor", "--target", "neon", "--cc", "gcc", "--json")
    facts = json.loads(answer.out)
    assert facts.keys() == {"schema", "native", "target", "openmp"}
    assert facts["native"] is False
    assert facts["target"]["isa"] == "neon"
    assert facts["target"]["instructions"] == {"neon": 46}
    assert facts["target"]["compilers"][0]["kind"] == "gcc"
    assert facts["openmp"] == {"compilers": [], "why_not": "not tried"}
    assert "neon, 32 128-bit registers" in answer.err
    assert answer.code == 0
