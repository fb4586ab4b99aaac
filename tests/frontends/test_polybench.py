"""The driver for PolyBench, on two files of ours that look like PolyBench's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.frontends.polybench import compare, table
from schedsearch.core.errors import UserError

SMOOTH = """#include <math.h>
#define POLY_2D(var, n, m) var[n][m]
static void kernel_my_smooth(int n, int m, float w, double POLY_2D(a, n, m), char c[n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 0; j < m; j++) a[i][j] = FACTOR * a[i - 1][j] + c[i] * w;
#pragma endscop
}
static void init(void) { while (1) break; }
int main(void) { init(); return 0; }
"""

WALK = "static void kernel_walk(int n, double a[n]) {\n  while (n) a[0] = 1;\n}\n"


def checkout(folder: Path) -> Path:
    for name, text in (("my-smooth", SMOOTH), ("walk", WALK)):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.c").write_text(text)
    (folder / "utilities").mkdir()
    listed = "./my-smooth/my-smooth.c\n./walk/walk.c\n"
    (folder / "utilities" / "benchmark_list").write_text(listed)
    return folder


def original(folder: Path, file: Path, factor: str) -> None:
    folder.mkdir(exist_ok=True)
    library = folder / f"{file.stem}.so"
    flags = [f"-DFACTOR={factor}", "-Dstatic=", "-w", "-fPIC", "-shared", "-ffp-contract=off"]
    subprocess.run(["gcc", *flags, "-o", library, file], check=True)


@pytest.mark.normal
def test_tells_right_from_wrong(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "bench")
    smooth, walk = compare(folder, None, ["FACTOR=0.5"])
    assert smooth.right
    assert smooth.difference is None
    assert smooth.asserts == ("(n > 1)",)
    assert "walk.c:2: while: " in walk.reason
    assert not walk.right
    for name, factor, right in (("same", "0.5", True), ("other", "0.5000000001", False)):
        original(tmp_path / name, folder / "my-smooth" / "my-smooth.c", factor)
        smooth, _ = compare(folder, tmp_path / name, ["FACTOR=0.5"])
        assert smooth.right == right, smooth
    assert table([smooth, walk]).row_count == 2


def test_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no checkout"):
        list(compare(tmp_path, None, ()))
    smooth, _ = compare(checkout(tmp_path / "bench"), tmp_path, ["FACTOR=1"])
    assert "no original to compare with" in smooth.reason
