"""Instructions replace the nests they carry out, and no others."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError, UserError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.registry import apply, label, select
from schedsearch.transforms.vector.instruction_sets import (
    find,
    load_instructions,
    with_instructions,
)
from transforms.helpers import PROCS, TARGET, Procedures, arguments
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("instructed")
(USE,) = select(["use_instruction"])
(PORTABLE,) = TARGET.instructions


def proposals(name: str) -> list[Rewrite]:
    return list(USE.rewrites(mirror(PROCEDURES[name]), TARGET))


@cache
def instructed(name: str) -> tuple[Any, list[Rewrite]]:
    """The procedure after every proposal, those of later statements first."""
    procedure = PROCEDURES[name]
    for rewrite in reversed(proposals(name)):
        procedure = apply(procedure, mirror(procedure), rewrite)
    return procedure, proposals(name)


@pytest.mark.parametrize(
    ("name", "names", "sizes"),
    [
        ("dots", ["portable_i8_dot4"], [{}]),
        (
            "lengths",
            ["portable_scale", "portable_scale_n"],
            [{"n": n} for n in (1, 3, 4, 7)],
        ),
        ("divided", ["portable_i8_dot4", "portable_i8_dot4"], [{}]),
        ("any_length", ["portable_scale"], [{"n": n} for n in (1, 4, 11)]),
        ("blocks", ["portable_copy_block"], [{}]),
    ],
)
def test_instructions_keep_the_meaning(
    name: str, names: list[str], sizes: list[dict[str, int]], tmp_path: Path
) -> None:
    procedure, rewrites = instructed(name)
    assert [rewrite.arg("instruction") for rewrite in rewrites] == names
    calls = [s.proc.name for s in q.walk(mirror(procedure).body) if isinstance(s, q.Call)]
    assert calls == names
    library = Library([generate_c(procedure)], tmp_path)
    meaning = mirror(PROCEDURES[name])
    for controls in sizes:
        wanted, found = arguments(meaning, controls, 5), arguments(meaning, controls, 5)
        interpret(meaning, wanted)
        library.call(0, meaning, found)
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_loops_are_divided_as_their_length_allows() -> None:
    tails = {name: [r.arg("tail") for r in proposals(name)] for name in ("divided", "any_length")}
    assert tails == {"divided": ["perfect", "cut"], "any_length": ["cut"]}
    (rewrite,) = proposals("any_length")
    with pytest.raises(RewriteError, match="does not fit there with tail 'perfect'"):
        apply(
            PROCEDURES["any_length"],
            mirror(PROCEDURES["any_length"]),
            changed(rewrite, tail="perfect"),
        )


def test_registers_of_generated_sets_are_operands() -> None:
    procedure, rewrites = instructed("in_registers")
    assert [rewrite.arg("instruction") for rewrite in rewrites] == ["portable_fma"]
    (call,) = (s for s in q.walk(mirror(procedure).body) if isinstance(s, q.Call))
    assert [arg.mem for arg in call.proc.args] == ["VEC_F32X4", "DRAM", "DRAM"]


@pytest.mark.parametrize(
    "name",
    [
        "overlapping",
        "squares",
        "strided",
        "column",
        "windows_given",
        "other_type",
        "other_memory",
        "other_order",
        "wide_rows",
    ],
)
def test_what_an_instruction_does_not_do_is_left_alone(name: str) -> None:
    assert proposals(name) == []
    meaning = mirror(PROCEDURES[name])
    loop = next(s for s in q.walk(meaning.body) if isinstance(s, q.For))
    for instruction in find(PORTABLE.name, PORTABLE.digest).asts:
        args = {
            "set": PORTABLE.name,
            "digest": PORTABLE.digest,
            "instruction": instruction,
            "tail": "whole",
        }
        rewrite = Rewrite(
            USE.name, USE.version, loop.path, label(loop), tuple(sorted(args.items()))
        )
        with pytest.raises(RewriteError, match="does not do what is there"):
            apply(PROCEDURES[name], meaning, rewrite)


def changed(rewrite: Rewrite, **values: str) -> Rewrite:
    return replace(rewrite, args=tuple(sorted({**dict(rewrite.args), **values}.items())))


def test_a_trace_says_which_text_it_needs() -> None:
    (rewrite,) = proposals("dots")
    meaning = mirror(PROCEDURES["dots"])
    for values, message in (
        ({"digest": "0" * 32}, "instruction set portable has changed: the trace needs 0000"),
        (
            {"set": "nobodys", "digest": "0" * 32},
            "nobodys is not loaded: give its file with --instr",
        ),
        ({"instruction": "portable_dot"}, "portable has no instruction 'portable_dot'"),
    ):
        with pytest.raises(RewriteError, match=message):
            apply(PROCEDURES["dots"], meaning, changed(rewrite, **values))


BLOCK_SCHEDSEARCH = """
import runpy, sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "schedsearch":
            raise ImportError("schedsearch is not installed here")
sys.meta_path.insert(0, Blocker())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.normal
def test_an_exported_schedule_defines_its_instructions(tmp_path: Path) -> None:
    source = load_source(PROCS / "before.py")
    meaning = mirror(source.procs["use_instruction"])
    (rewrite,) = USE.rewrites(meaning, TARGET)
    file = tmp_path / "alone.py"
    text = schedule_python(source, "use_instruction", Trace((rewrite,)))
    file.write_text(text)
    assert "def portable_i8_dot4(" in text
    assert "portable_scale" not in text
    found = subprocess.run(
        [sys.executable, "-I", "-c", BLOCK_SCHEDSEARCH, file],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "portable_dot(&A[" in found.stdout
    assert "static inline int32_t portable_dot" in found.stdout


def test_operands_are_known_without_executing_the_text() -> None:
    instructions = find(PORTABLE.name, PORTABLE.digest)
    for name, ast in instructions.asts.items():
        arrays = frozenset((arg.type, arg.mem) for arg in ast.args if arg.shape is not None)
        assert instructions.operands[name] == arrays
    only = instructions.taking(frozenset({("i32", "DRAM"), ("i8", "DRAM")}))
    assert list(only) == ["portable_i8_dot4"]


BROKEN = {
    "no_text": ("cannot read ", None),
    "fails": (r"ZeroDivisionError.*\n  at .*fails\.py:1", "1 / 0"),
    "empty": ("no Exo instruction in", "x = 1\n"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_files_that_are_no_instruction_sets_are_refused(name: str, tmp_path: Path) -> None:
    message, text = BROKEN[name]
    path = tmp_path / f"{name}.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message):
        load_instructions(path)


def test_two_sets_may_not_define_the_same_name(tmp_path: Path) -> None:
    copy = tmp_path / "copied.py"
    copy.write_text((PROCS / "portable.py").read_text() + "\n# another text\n")
    with pytest.raises(UserError, match="copied and portable both define SCRATCH; rename it"):
        with_instructions(TARGET, [PROCS / "portable.py", copy])


def test_a_target_has_the_sets_its_cpu_can_run() -> None:
    features = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
    plain = replace(TARGET, isa="avx512", features=features)
    vnni = replace(plain, features=(*features, "avx512_vnni"))
    names = [[s.name for s in with_instructions(t, []).instructions] for t in (plain, vnni)]
    assert names == [["avx512"], ["avx512", "avx512_vnni"]]
    mine = with_instructions(plain, [PROCS / "portable.py"])
    assert [s.name for s in mine.instructions] == ["avx512", "portable"]
    assert len({plain.key, with_instructions(plain, []).key, mine.key}) == 3
