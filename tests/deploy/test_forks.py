"""Kernels with threads in forked children, whose parents called some before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schedsearch.deploy.library.building import Ordered, build
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen

from .libraries import CC, ROOT, SMALL, silent
from .locked import copied, entry

pytestmark = pytest.mark.normal  # kernels are compiled

PROCS = """
from __future__ import annotations
from exo import proc

@proc
def first(n: size, y: f32[n]):
    for i in par(0, n):
        y[i] += 1.0

@proc
def second(n: size, y: f32[n]):
    for i in par(0, n):
        y[i] += 2.0
"""

CALLS = """
import ctypes, os, signal, sys, threading
import numpy as np
import procs, schedsearch
from schedsearch.deploy import forks

if sys.argv[1:] == ["deaf"]:  # to what was before it was loaded
    assert "flags & 0x40" in forks.TEXT
    forks.TEXT = forks.TEXT.replace("flags & 0x40", "0")
if sys.argv[1:] == ["alone"]:
    forks.left_to_helper = lambda own, given: ()
first, second = schedsearch.kernel(procs.first), schedsearch.kernel(procs.second)

def call(kernel, wanted):
    y = np.zeros(1000, "f4")
    for _ in range(3):
        kernel(y)
    assert (y == 3 * wanted).all()

def status(*what):
    if not (child := os.fork()):
        signal.alarm(int(os.environ["ENDS_AFTER_S"]))
        try:
            for each in what:
                each()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    return os.waitpid(child, 0)[1]

def one(): call(first, 1)
def other(): call(second, 2)
def of_threads():
    own = [threading.Thread(target=one) for _ in range(2)]
    for each in own: each.start()
    one()
    for each in own: each.join()
def in_grandchild(): assert status(one, other) == 0
def many(): assert len(os.listdir("/proc/self/task")) >= 3  # of this, its helper and its team
def few(): assert len(os.listdir("/proc/self/task")) == 1
def ask_for_one(): ctypes.CDLL("libgomp.so.1").omp_set_num_threads(1)

one()
print("".join(".F"[status(*each) != 0] for each in (
    (one, many), (other,), (one, in_grandchild, one), (of_threads, one), (ask_for_one, one, few),
)))
"""


COMPILED = """
import numpy as np, procs, schedsearch
for each in (procs.first, procs.second):
    schedsearch.kernel(each)(np.zeros(9, "f4"))
"""


def ends_of_forks(home: Path, *how: str) -> str:
    """A child that waits for ever is ended; where some have to, so long after it began that it has
    loaded its kernel on a busy machine, too: that is compiled before."""
    (home / "procs.py").write_text(PROCS)
    path = os.pathsep.join(map(str, (home, ROOT)))
    # A machine may have one core; threads that wait need not take it.
    own = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": path}
    own["ENDS_AFTER_S"] = "8" if how else "120"
    environment = {**os.environ, **own}
    subprocess.run([sys.executable, "-c", COMPILED], env=environment, check=True)
    words = [sys.executable, "-c", CALLS, *how]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_children_call_kernels_with_threads(tmp_path: Path) -> None:
    """The parent's kernel, one that the child loads, children of children, threads of theirs; and
    what asks for one thread has one."""
    assert ends_of_forks(tmp_path) == "....."


@pytest.mark.parametrize(("how", "ends"), [("alone", "FFFF."), ("deaf", ".FF..")])
def test_a_child_that_waits_for_ever_is_noticed(tmp_path: Path, how: str, ends: str) -> None:
    """So the test above can fail."""
    assert ends_of_forks(tmp_path, how) == ends


PROGRAM = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib_a.h"
static float a[32 * 32], c[32 * 32];
int main(void) {
  for (int i = 0; i < 32 * 32; i++) a[i] = 1;
  lib_a_matmul(32, 32, 32, c, a, a);
  if (!fork()) {
    alarm(60);
    lib_a_matmul(32, 32, 32, c, a, a);
    _exit(c[0] == 64 ? 0 : 1);
  }
  int status;
  wait(&status);
  return status != 0;
}
"""

FROM_WHEEL = """
import lib_a, os, signal
import numpy as np
a, c = np.ones((32, 32), "f4"), np.zeros((32, 32), "f4")
lib_a.matmul(c, a, a)
if not (child := os.fork()):
    signal.alarm(60)
    lib_a.matmul(c, a, a)
    os._exit(0 if (c == 64).all() else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_children_call_libraries_and_wheels(tmp_path: Path) -> None:
    file = copied(tmp_path / "home")
    made = entry(file, "matmul", SMALL, "parallelize", threads=2)
    chosen, where = Chosen(tmp_path / "home/schedules.lock", (made,)), Where(named=(file,))
    out = tmp_path / "out"
    build(chosen, where, Ordered("lib_a", "1", out), silent)
    (tmp_path / "main.c").write_text(PROGRAM)
    own = {**os.environ, "OMP_NUM_THREADS": "2"}
    archive, so = str(out / "lib/liblib_a.a"), str(out / "lib/liblib_a.so")
    for library in ([so, f"-Wl,-rpath,{out / 'lib'}"], [archive, "-lm", "-fopenmp"]):
        options = ["-Wall", "-Werror", f"-I{out / 'include'}", *library, "-o", "main"]
        subprocess.run([CC, "main.c", *options], cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], env=own, check=True)
    wheel = build(chosen, where, Ordered("lib_a", "1", tmp_path, wheel=True), silent).path
    install = ["install", "--quiet", "--no-index", "--no-deps", "--target", "site"]
    subprocess.run([sys.executable, "-m", "pip", *install, wheel], cwd=tmp_path, check=True)
    own |= {"PYTHONPATH": str(tmp_path / "site")}
    subprocess.run([sys.executable, "-c", FROM_WHEEL], env=own, check=True)
