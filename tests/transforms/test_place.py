"""Buffers can be anywhere that keeps the meaning, and static memory is never shared by threads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.registry import apply, label, select
from transforms.helpers import TARGET, Procedures, arguments, source
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("places")
(PLACE,) = select(["place"])
(PARALLELIZE,) = select(["parallelize"])
THREADS = replace(TARGET, threads=2)

SIZES: dict[str, list[dict[str, int]]] = {
    "panels": [{}],
    "of_any_size": [{"n": 1}, {"n": 13}],
    "large": [{}],
    "in_static_memory": [{}],
}


def at(procedure: Any, path: q.Path, memory: str) -> Rewrite:
    found = label(mirror(procedure).by_path[path])
    return Rewrite("place", 1, path, found, (("memory", memory),))


def offered(name: str) -> set[tuple[str, str]]:
    """`(buffer, memory)` of every proposal."""
    rewrites = PLACE.rewrites(mirror(PROCEDURES[name]), TARGET)
    return {(r.label.partition(":")[0], str(dict(r.args)["memory"])) for r in rewrites}


@pytest.mark.normal
@pytest.mark.parametrize("name", sorted(SIZES))
def test_every_place_keeps_the_meaning(name: str, tmp_path: Path) -> None:
    original = PROCEDURES[name]
    meaning = mirror(original)
    placed = [apply(original, meaning, r) for r in PLACE.rewrites(meaning, TARGET)]
    codes = [generate_c(procedure) for procedure in placed]
    assert len({code.key for code in codes}) == len(codes) > 0
    library = Library(codes, tmp_path)
    for number in range(len(placed)):
        for sizes in SIZES[name]:
            wanted, found = arguments(meaning, sizes, 3), arguments(meaning, sizes, 3)
            interpret(meaning, wanted)
            library.call(number, meaning, found)
            assert all(map(np.array_equal, found, wanted))


def test_what_is_offered_follows_from_the_size() -> None:
    everywhere = {"DRAM_STACK_ALIGNED", "DRAM_ALIGNED"}
    assert offered("panels") == {(b, m) for b in ("rows", "row") for m in everywhere}
    assert offered("of_any_size") == {("t", "DRAM_ALIGNED")}
    assert offered("large") == {("t", "DRAM_ALIGNED")}
    assert offered("in_static_memory") == {("t", "DRAM_STACK_ALIGNED")}


@pytest.mark.parametrize(
    ("name", "path", "memory", "reason"),
    [
        ("large", (0,), "DRAM_STACK_ALIGNED", "too many"),
        ("of_any_size", (0,), "DRAM_STACK_ALIGNED", "constant size"),
        ("panels", (0,), "DRAM_STATIC", "can be moved to"),
        ("panels", (2, 1), "DRAM_ALIGNED", "arrays in"),
        ("panels", (0,), "VEC_F32X4", "can be moved to"),
        ("panels", (0,), "DRAM", "already"),
        ("panels", (1,), "DRAM_ALIGNED", "no allocation"),
    ],
)
def test_other_places_are_refused(name: str, path: q.Path, memory: str, reason: str) -> None:
    procedure = PROCEDURES[name]
    with pytest.raises(RewriteError, match=reason):
        apply(procedure, mirror(procedure), at(procedure, path, memory))


def parallel(name: str, path: q.Path) -> Any:
    procedure = PROCEDURES[name]
    ast = mirror(procedure)
    (rewrite,) = [r for r in PARALLELIZE.rewrites(ast, THREADS) if r.path == path]
    return apply(procedure, ast, rewrite)


def test_static_memory_and_parallel_loops_exclude_each_other() -> None:
    procedure = parallel("panels", (2,))
    stack = apply(procedure, mirror(procedure), at(procedure, (2, 0), "DRAM_STACK_ALIGNED"))
    assert "_Alignas(64) double" in generate_c(stack).source

    static = PROCEDURES["in_static_memory"]
    assert (0,) not in {r.path for r in PARALLELIZE.rewrites(mirror(static), THREADS)}
    heap = apply(static, mirror(static), at(static, (0, 0), "DRAM"))
    assert {r.path for r in PARALLELIZE.rewrites(mirror(heap), THREADS)} == {(0,)}


def test_heap_buffers_start_at_a_cache_line_and_large_ones_at_a_huge_page(tmp_path: Path) -> None:
    procedure = PROCEDURES["large"]
    code = generate_c(apply(procedure, mirror(procedure), at(procedure, (0,), "DRAM_ALIGNED")))
    test = """
    #include <stdint.h>
    #include <stdio.h>
    int main(void) {
      for (size_t bytes = 1; bytes < 9000000; bytes = bytes * 3 + 1) {
        uintptr_t place = (uintptr_t)aligned_heap(bytes);
        if (place % (bytes >= 1 << 20 ? 2 << 20 : 64)) return 1;
      }
      puts("aligned");
    }"""
    (tmp_path / "test.c").write_text(f"{code.header}\n{code.source}\n{test}")
    subprocess.run(["gcc", "-o", tmp_path / "test", tmp_path / "test.c"], check=True)
    assert subprocess.check_output([tmp_path / "test"], text=True) == "aligned\n"


@pytest.mark.normal
def test_an_exported_schedule_carries_its_memories_along(tmp_path: Path) -> None:
    """It runs in Python's isolated mode, on Exo alone."""
    procedure = PROCEDURES["panels"]
    trace = Trace()
    for path, memory in (((0,), "DRAM_ALIGNED"), ((2, 0), "DRAM_STACK_ALIGNED")):
        rewrite = at(procedure, path, memory)
        trace, procedure = trace.then(rewrite), apply(procedure, mirror(procedure), rewrite)
    file = tmp_path / "kernel.py"
    file.write_text(schedule_python(source("places"), "panels", trace))
    printed = subprocess.check_output([sys.executable, "-I", file], text=True)
    assert "(float *)aligned_heap(" in printed
    assert "_Alignas(64) double" in printed
