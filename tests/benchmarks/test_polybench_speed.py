"""PolyBench's speed, on files of ours that look like PolyBench's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.frontends.polybench_speed import GCC, case_of, over, select, summary, tried
from benchmarks.suite import compilers
from benchmarks.suite.folders import folder
from benchmarks.suite.measure import compare
from schedsearch.core.errors import UserError
from schedsearch.peers.arrays import Fill
from schedsearch.peers.rounds import Plan
from schedsearch.search.setup.targets import read_target, resolve_target

PRODUCT = """#include <math.h>
#include <shape.h>
static void start(double *alpha) { *alpha = 1; }
static void kernel_my_product(int n, double alpha, double a[restrict N][N], double in[restrict N]) {
  int i, j;
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++) a[i][j] = FACTOR * a[i][j] + alpha * in[j];
}
void *allocated_elsewhere(int n);
int main(int argc, char **argv) {
  double alpha;
  start(&alpha);
  kernel_my_product(N, alpha, allocated_elsewhere(N * N), allocated_elsewhere(N));
  return 0;
}
"""
DEFINES = ("FACTOR=0.5",)
FEW = ("--executor", "inline", "--transforms", "reorder,split", "--trials", "2")


def checkout(at: Path) -> tuple[Path, tuple[Path, ...]]:
    """A file, and where its headers are."""
    (at / "my-product").mkdir(parents=True)
    file = at / "my-product" / "my-product.c"
    file.write_text(PRODUCT)
    (at / "utilities").mkdir()
    (at / "utilities" / "shape.h").write_text("#define N 48\n")
    (at / "utilities" / "benchmark_list").write_text("./my-product/my-product.c\n")
    return file, (at / "utilities", file.parent)


@pytest.mark.normal
def test_from_c_to_the_comparison_with_the_original(tmp_path: Path) -> None:
    file, include = checkout(tmp_path / "bench")
    console, base, plan = Console(), tmp_path / "results", Plan(1, 0)
    row = tried(console, file, DEFINES, include, base, 150, plan, FEW)
    assert row["wrong"] == {}, row
    assert row["kernel"] == "my-product.c"
    assert row["ran"][GCC].startswith("the original, gcc")
    assert row["schedule"] is not None
    assert row["ratios"][GCC]["value"] > 0
    assert f"geometric mean over {GCC}: " in summary([row])[0]

    # What is known is not done again.
    place = folder(base, case_of(file, DEFINES, include, base))
    written = place.row.stat().st_mtime_ns
    assert tried(console, file, DEFINES, include, base, 0, plan, FEW)["seconds"] == row["seconds"]
    assert place.row.stat().st_mtime_ns == written

    # An original with other results.
    file.write_text(PRODUCT.replace("alpha * in[j]", "in[N - 1 - j]"))
    case = case_of(file, DEFINES, include, base)
    assert not place.store.exists(), "results of another program"
    file.write_text(PRODUCT)
    row = compare(case, base, plan, 1)
    assert "a: off by" in row["wrong"][GCC]
    assert GCC not in row["seconds"]
    assert over([row]) == {}


def test_whatever_fails_is_a_row(tmp_path: Path) -> None:
    file, include = checkout(tmp_path / "bench")
    row = tried(Console(), file, (), include, tmp_path, 0, Plan(1, 0))
    assert row["kernel"] == "my-product.c"
    assert "FACTOR" in row["error"]
    with pytest.raises(UserError, match="no kernel is 'other'; known: my-product"):
        select(tmp_path / "bench", "my*,other")
    assert select(tmp_path / "bench", "my*,my-product") == [file]


@pytest.mark.normal
def test_other_macros_forget_results(tmp_path: Path) -> None:
    file, include = checkout(tmp_path / "bench")
    case = case_of(file, DEFINES, include, tmp_path)
    place = folder(tmp_path, case)
    place.write_row({})
    assert case_of(file, DEFINES, include, tmp_path) == case
    assert place.read_row() == {}
    case_of(file, (*DEFINES, "UNUSED"), include, tmp_path)
    assert place.read_row() is None


def test_arguments_are_filled_by_their_names_in_c(tmp_path: Path) -> None:
    """A procedure cannot have all names that C has."""
    file = tmp_path / "nussinov.c"
    file.write_text(
        "void kernel_nussinov(char seq[9], int table[9]) {\n"
        "  for (int i = 0; i < 9; i++) table[i] = seq[i];\n}\n"
    )
    case = case_of(file, (), (), tmp_path / "results")
    assert dict(case.fills) == {"seq_1": Fill(below=4), "table": Fill(zeroed=True)}


def test_summary_names_what_is_slower_than_gcc() -> None:
    rows: list[dict[str, Any]] = [
        {"kernel": "a.c", "ratios": {GCC: {"value": 4.0}, "clang +Polly": {"value": 3.0}}},
        {"kernel": "b.c", "ratios": {GCC: {"value": 0.25}}},
        {"kernel": "c.c", "error": "refused"},
    ]
    assert summary(rows) == [
        "geometric mean over gcc -O3: 1.00x (2 kernels)",
        "geometric mean over clang +Polly: 3.00x (1 kernels)",
        "slower than gcc -O3: b.c 0.25x",
    ]


@pytest.mark.normal
def test_a_clang_that_compiles_as_without_polly_is_no_peer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    target = resolve_target(read_target(None), None, 1, (), None)
    monkeypatch.setattr(compilers, "_POLLY", ("-DPOLLY",))
    reasons = dict(
        each for each in compilers.compiler_peers(target, tmp_path) if isinstance(each, tuple)
    )
    assert "compiles a product as without" in reasons["clang +Polly"]
