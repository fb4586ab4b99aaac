# ruff: noqa: F821
"""Calls that only a candidate asks for: on floats and on integers each; and strict cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from exo import proc
from exo.stdlib.scheduling import divide_loop

from schedsearch.core.floats import FloatingPoint, contract_flags
from schedsearch.core.records import Artifact
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.search.workers.building import reacher_of, with_calls
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from .procs import handwritten

pytestmark = pytest.mark.normal


@proc
def squares(n: size, y: f32[n], x: f32[n]):
    for i in seq(0, n):
        y[i] = x[i] * x[i]


# What is stored at the end has 8 bits of its 24, as bf16: integers up to 8 have no more.
_ROUGH = """
if (n % 16 == RESIDUE)
    for (int_fast32_t i = n - RESIDUE; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, y + i, 4);
        bits &= 0xffff0000u;
        memcpy(y + i, &bits, 4);
    }
}"""


@pytest.mark.parametrize("residue", [2, 5, 8, 11, 14])
def test_small_integers_do_not_hide_a_fault_in_a_tail(
    residue: int, builder: Builder, tmp_path: Path
) -> None:
    code, meaning = generate_c(squares), mirror(squares)
    bench = prepare(meaning, code, bind(meaning, {}), builder, tmp_path / "work")
    tiled = divide_loop(squares, "i", 16, ["io", "ii"], tail="cut")
    made, reacher = generate_c(tiled), reacher_of(bench)
    head, _, tail = made.source.rpartition("}")
    rough = "#include <string.h>\n" + head + _ROUGH.replace("RESIDUE", str(residue)) + tail
    for source, wrong in ((made.source, False), (rough, True)):
        built = builder.build(handwritten(made, source), 60)
        assert isinstance(built, Artifact), built
        artifact = with_calls(built, mirror(tiled), reacher)
        assert isinstance(artifact, Artifact), artifact
        assert (bench.verify(artifact) is not None) == wrong


def test_bits_of_strict_cases_have_files_of_their_own(builder: Builder, tmp_path: Path) -> None:
    """Two sessions with one cache: while the second prepared, the first met intervals where its
    bits had been, and found the baseline itself wrong."""
    strict = FloatingPoint.STRICT
    careful = Builder(builder.compiler, ("-O2", *contract_flags(strict)), builder.cache_dir)
    code, meaning = generate_c(squares), mirror(squares)

    def begun() -> object:
        binding = bind(meaning, {"n": 64})
        return prepare(meaning, code, binding, careful, tmp_path / "work", fp=strict)

    first = begun()
    files = {case.expected: case.expected.read_bytes() for case in first.cases}  # type: ignore[attr-defined]
    assert {path.suffix for path in files} == {".bits"}
    begun()
    assert files == {path: path.read_bytes() for path in files}
