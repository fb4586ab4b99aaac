"""`schedsearch build` with procedures and arguments that are called as what is around them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from cli.conftest import run
from cli.invoke import Answer

import schedsearch
from schedsearch.core.errors import UserError
from schedsearch.deploy import caller
from schedsearch.deploy.library import building, sources
from schedsearch.deploy.library.building import Ordered, build
from schedsearch.deploy.library.packing import Packed
from schedsearch.locks.entry import Lock
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen, read_lock, write_lock
from schedsearch.search.setup.subject import load_subject

from .libraries import CC, built, only_matmul, silent
from .locked import entry

__all__ = ["run"]

pytestmark = pytest.mark.normal  # kernels are compiled and verified

PROC = """
@proc
def {name}({size}: size, {out}: f32[{size}], {given}: f32[{size}]):
    for i in seq(0, {size}):
        {out}[i] = {given}[i]
"""

NAMES = {
    "choose": ("level", "chosen", "nearest"),
    "apart": ("has_avx2", "isas", "given"),
    "g": ("schedsearch_level", "schedsearch_isa", "lib_a_g_sse2"),
    "g_names": ("all", "least", "work"),
    "Refusals": ("n", "new", "new_"),
    "TypeError": ("lie_apart", "pthread_mutex_lock", "this"),
    "str": ("Any", "dict", "_Array"),
    "getattr": ("SCHEDSEARCH_LIBRARY", "kernel", "self"),
}


def lock_of(home: Path, names: dict[str, tuple[str, str, str]]) -> Path:
    """Of some, two sizes, so that there is a choice."""
    text = "from __future__ import annotations\nfrom exo import proc\n"
    for name, (size, out, given) in names.items():
        text += PROC.format(name=name, size=size, out=out, given=given)
    file = home / "procs.py"
    file.write_text(text)
    entries = [
        entry(file, name, {size: value}, "vectorise")
        for name, (size, _, _) in names.items()
        for value in ((64, 640) if name in ("choose", "g_names") else (64,))
    ]
    write_lock(home / "schedules.lock", Lock().having(entries))
    return home / "schedules.lock"


def test_names_of_what_is_around_them(tmp_path: Path) -> None:
    """Sources also as they are compiled with asserts; the header also as C++."""
    lock = lock_of(tmp_path, NAMES)
    built(lock, tmp_path / "out")
    calls = "".join(f"lib_a_{name}(2, y, x); wrong |= y[1] != 3; y[1] = 0;\n" for name in NAMES)
    text = f'#include "lib_a.h"\nint main() {{ float x[2] = {{2, 3}}, y[2]; int wrong = 0;\n{calls}'
    (tmp_path / "main.cc").write_text(f"{text}return wrong; }}\n")
    archive, folder = tmp_path / "out/lib/liblib_a.a", tmp_path / "out/src/lib_a"
    for language in ("c", "c++"):
        files = ["-x", language, "main.cc", "-x", "none", "lib_a.o", str(archive)]
        own = ["-Wall", "-Werror", "-c", str(folder / "lib_a.c")]
        subprocess.run([CC, *own], cwd=tmp_path, check=True)
        command = [CC, f"-I{folder}", *files, "-pthread", "-lm", "-o", "main"]
        subprocess.run(command, cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], check=True)
    wheel = built(lock, tmp_path, wheel=True).path
    install = ["install", "--quiet", "--no-index", "--no-deps", "--target", "site"]
    subprocess.run([sys.executable, "-m", "pip", *install, wheel], cwd=tmp_path, check=True)
    program = "import lib_a, numpy as np\nx, y = np.arange(8, dtype='f4'), np.zeros(8, 'f4')\n"
    for name in NAMES:
        program += f"y[:] = 0; lib_a.{name}(y, x); assert (x == y).all()\n"
        program += f"assert lib_a.variant(lib_a.{name}, y, x) in lib_a.manifest()['procedures']"
        program += f"['{name}']['variants']\n"
    (tmp_path / "user.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    subprocess.run([sys.executable, "user.py"], cwd=tmp_path, env=environment, check=True)
    environment = {**os.environ, "MYPYPATH": str(tmp_path / "site")}
    mypy = ["-m", "mypy", "--strict", "--no-incremental", "--config-file=", "user.py"]
    subprocess.run([sys.executable, *mypy], cwd=tmp_path, env=environment, check=True)


@pytest.mark.parametrize("name", ["test", "Numpy", "JSON", "schedsearch"])
def test_wheels_do_not_hide_modules(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"--name {name} "):
        Ordered(name, "1", tmp_path, wheel=True).check()


@pytest.mark.parametrize("name", ["schedsearch", "schedsearch_x", "has", "has_x", "lie", "forks"])
def test_libraries_do_not_begin_as_what_is_inside(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"--name {name}"):
        Ordered(name, "1", tmp_path / "out").check()
    Ordered("hash", "1", tmp_path / "out").check()


@pytest.mark.parametrize("name", ["_kernels", "aé"])
def test_procedures_that_wheels_do_not_have(name: str, tmp_path: Path) -> None:
    lock = lock_of(tmp_path, {name: ("n", "y", "x")})
    with pytest.raises(UserError, match=f"a wheel has no procedure {name}: give it a name"):
        built(lock, tmp_path / "out", wheel=True)
    assert not (tmp_path / "out").exists()


def test_kernels_that_are_called_as_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / "procs.py").write_text(
        "from __future__ import annotations\nfrom exo import proc\n"
        + PROC.format(name="schedsearch_entry", size="n", out="y", given="x")
    )
    proc = load_subject(tmp_path / "procs.py", "schedsearch_entry", {"n": 8}, None).procedure
    with pytest.raises(UserError, match="schedsearch_entry is a name of schedsearch's own"):
        schedsearch.kernel(proc)(np.zeros(1, "f4"), np.zeros(1, "f4"))


HALF = """
from __future__ import annotations
from exo import proc

@proc
def half(n: size, y: [f16][n], x: f16[n]):
    for i in seq(0, n):
        y[i] = x[i]
"""


def test_the_header_is_for_compilers_without_half_too(tmp_path: Path) -> None:
    (tmp_path / "procs.py").write_text(
        f"{HALF}{PROC.format(name='whole', size='n', out='y', given='x')}"
    )
    file = tmp_path / "procs.py"
    entries = [
        entry(file, "half", {"n": 64}, "split"),
        entry(file, "whole", {"n": 64}, "vectorise"),
    ]
    lock = tmp_path / "schedules.lock"
    chosen = Chosen(lock, tuple(entries))
    build(chosen, Where(named=(file,)), Ordered("lib_a", "1", tmp_path / "out"), silent)
    (tmp_path / "main.cc").write_text(
        '#include "lib_a.h"\nint main() {\n  float x[1] = {2}, y[1];\n  lib_a_whole(1, y, x);\n'
        "#ifdef __FLT16_MAX__\n  _Float16 a[1] = {2}, b[1];\n"
        "  lib_a_half(1, {b, {1}}, a);\n  if (b[0] != a[0]) return 2;\n#endif\n"
        "  return y[0] != 2 || !lib_a_half_variant(1)[0];\n}\n"
    )
    options = [f"-I{tmp_path / 'out/include'}", str(tmp_path / "out/lib/liblib_a.a"), "-pthread"]
    for compiler in filter(which, ("g++", "clang++")):
        command = [compiler, "main.cc", *options, "-lm", "-o", "main"]
        subprocess.run(command, cwd=tmp_path, check=True)
        subprocess.run([tmp_path / "main"], check=True)


def test_what_does_not_compile_is_our_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Answer]
) -> None:
    """It says which procedure, and does not name files that are gone."""
    lock = only_matmul(tmp_path / "home")
    words = ("build", "--name", "a", "--out", "o", "--lock", lock, "--file", lock.parent)

    def spoiled(name: str, procs: list[Packed]) -> dict[str, str]:
        found = texts(name, procs)
        own = f"{sources.symbol(name, procs[0], procs[0].variants[0])}.c"
        return {**found, own: f"{found[own]}\n#error planted\n"}

    texts, signature = sources.texts, caller._signature
    with monkeypatch.context() as planted:
        planted.setattr(building.sources, "texts", spoiled)
        answer = run(*words)
    (made,) = read_lock(lock).entries
    assert answer.code == 2
    assert f"{made.target.isa} of matmul, a fault of schedsearch: please report it" in answer.err
    assert "#error planted" in answer.err
    assert str(tmp_path) not in answer.err
    monkeypatch.setattr(caller, "_signature", lambda *how: f"{signature(*how)}\n#error planted\n")
    answer = run(*words, "--wheel")
    assert answer.code == 2
    assert "matmul cannot be called" in answer.err
    assert "please report it" in answer.err
    assert "error: #error planted" in answer.err
    assert "/signature.c" not in answer.err
