"""A library of two procedures, built once for the tests of a file, and ways to call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from schedsearch.core.isa import isa
from schedsearch.deploy.library.building import Built, Ordered, build
from schedsearch.evaluate.build.compiler import find_compiler
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.locks.entry import Lock
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen, read_lock, write_lock

from .locked import copied, entry

ROOT = Path(__file__).parents[2]
CC = find_compiler().path
FEATURES = frozenset(cpu_identity()[1])
AVX2 = pytest.mark.skipif(not isa("avx2").needs <= FEATURES, reason="this CPU has no AVX2")
AVX512 = pytest.mark.skipif(not isa("avx512").needs <= FEATURES, reason="this CPU has no AVX-512")

CMAKE = pytest.mark.skipif(which("cmake") is None, reason="no cmake")

SMALL, LARGE = {"M": 32, "N": 32, "K": 32}, {"M": 96, "N": 96, "K": 96}
ONLY = {"M": 16, "N": 16, "K": 16}


def silent(text: str) -> None:
    pass


def built(lock: Path, out: Path, **how: Any) -> Built:
    chosen = Chosen(lock, read_lock(lock).entries)
    return build(chosen, Where(named=(lock.parent,)), Ordered("lib_a", "1.2.0", out, **how), silent)


def made_lock(home: Path) -> Path:
    file = copied(home)
    entries = [
        entry(file, "matmul", SMALL, "register_block"),
        entry(file, "matmul", LARGE, "register_block", with_args={"tile_rows": 8}),
        entry(file, "matmul", ONLY, "register_block", specialized=True),
        entry(file, "through_static", {"n": 64}, "vectorise"),
    ]
    write_lock(home / "schedules.lock", Lock().having(entries))
    return home / "schedules.lock"


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_lock(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="module")
def library(lock: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed."""
    out = tmp_path_factory.mktemp("libraries") / "out"
    assert built(lock, out).left_out == ()
    return out


def manifest(library: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((library / "share/lib_a/lib_a.json").read_text())
    return found


def variants(library: Path, proc: str) -> dict[str, Any]:
    found: dict[str, Any] = manifest(library)["procedures"][proc]["variants"]
    return found


CALLS = """
import ctypes, json, sys
import numpy as np
lib = ctypes.CDLL(sys.argv[1])
lib.lib_a_isa.restype = lib.lib_a_matmul_variant.restype = ctypes.c_char_p
long, pointer = ctypes.c_long, ctypes.c_void_p
lib.lib_a_matmul.argtypes = [long] * 3 + [pointer] * 3
lib.lib_a_matmul_variant.argtypes = [long] * 3
rng, found = np.random.default_rng(0), {}
for m, n, k in [(16, 16, 16), (16, 16, 17), *rng.integers(1, 130, (60, 3)).tolist()]:
    a, b = (rng.integers(-9, 9, s).astype("f4") for s in ((m, k), (k, n)))
    c = np.zeros((m, n), "f4")
    lib.lib_a_matmul(m, n, k, *(x.ctypes.data for x in (c, a, b)))
    assert (c == a @ b).all(), (m, n, k)
    found[f"{m} {n} {k}"] = lib.lib_a_matmul_variant(m, n, k).decode()
tiny = np.full(9, 1e-40, "f4") * np.float32(1)
print(json.dumps([lib.lib_a_isa().decode(), found, bool((tiny > 0).all())]))
"""


def called(library: Path, forced: str | None = None) -> tuple[str, dict[str, str], bool, str]:
    """Right results in another process; the ISA, the variants by sizes, whether denormals are
    left alone, and what was said."""
    environment = {name: value for name, value in os.environ.items() if name != "LIB_A_ISA"}
    if forced is not None:
        environment["LIB_A_ISA"] = forced
    so = str(library / "lib/liblib_a.so")
    command = [sys.executable, "-c", CALLS, so]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    level, found, denormals = json.loads(done.stdout)
    return level, found, denormals, done.stderr


def only_matmul(home: Path, **how: Any) -> Path:
    file = copied(home)
    made = entry(file, "matmul", SMALL, "register_block", **how)
    write_lock(home / "schedules.lock", Lock().having([made]))
    return home / "schedules.lock"


def compile_(library: Path, *more: str) -> None:
    """Again, the file that chooses with the objects of the static library."""
    made = library / "lib"
    subprocess.run(["ar", "x", "liblib_a.a"], cwd=made, check=True)
    options = ["-O2", "-fPIC", "-DNDEBUG", "-c", "../src/lib_a/lib_a.c", "-o", "lib_a.o"]
    subprocess.run([CC, *options], cwd=made, check=True)
    objects = [path.name for path in made.glob("*.o")]
    link = [CC, "-shared", *more, *objects, "-o", "liblib_a.so", "-lm"]
    subprocess.run(link, cwd=made, check=True)


MAIN = """
#include <stdio.h>
#include <string.h>
#include "lib_a.h"
int main(void) {
  static float a[96 * 96], b[96 * 96], c[96 * 96];
  static const int sizes[] = {16, 17, 32, 96};
  for (int each = 0; each < 4; each++) {
    const int n = sizes[each];
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5, c[i] = 0;
    lib_a_matmul(n, n, n, c, a, b);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        float right = 0;
        for (int k = 0; k < n; k++) right += a[i * n + k] * b[k * n + j];
        if (right != c[i * n + j]) return 1;
      }
    printf("%s ", lib_a_matmul_variant(n, n, n));
  }
  lib_a_through_static(2, c, a);
  if (c[0] != a[63]) return 2;
  printf("%s\\n", lib_a_isa());
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static program, which needs no libraries of the processor that it runs on."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.c").write_text(MAIN)
    options = [f"-I{library / 'include'}", str(library / "lib/liblib_a.a"), "-lm", "-pthread"]
    command = [CC, "-static", "main.c", *options, "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"
