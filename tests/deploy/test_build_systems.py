"""CMake, pkg-config and linkers find an installed library, and build its sources."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from shutil import which

import pytest

from schedsearch.deploy.library.building import Ordered, build
from schedsearch.evaluate.build.elf import code_identity
from schedsearch.locks.kernel import Where
from schedsearch.locks.place import Chosen

from .libraries import (
    CC,
    CMAKE,
    ROOT,
    SMALL,
    called,
    library,
    lock,
    program,
    silent,
    variants,
)
from .locked import entry

__all__ = ["library", "lock", "program"]

pytestmark = pytest.mark.normal  # kernels are compiled and verified

EXAMPLE = ROOT / "examples" / "cmake"


def test_pkg_config_finds_it_wherever_it_is(library: Path, program: Path, tmp_path: Path) -> None:
    if which("pkg-config") is None:
        pytest.skip("no pkg-config")
    moved = tmp_path / "moved here"
    shutil.copytree(library, moved)
    asked = ["pkg-config", "--cflags", "--libs", "lib_a"]
    environment = {**os.environ, "PKG_CONFIG_PATH": str(moved / "lib/pkgconfig")}
    told = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    main = str(program.with_suffix(".c"))
    command = [CC, main, *shlex.split(told.stdout), "-Wall", "-Werror", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    own = {**os.environ, "LD_LIBRARY_PATH": str(moved / "lib")}
    done = subprocess.run(["./main"], cwd=tmp_path, env=own, capture_output=True, check=False)
    assert done.returncode == 0


def test_functions_of_variants_are_not_seen_by_others(library: Path) -> None:
    command = ["nm", "-D", "--defined-only", str(library / "lib/liblib_a.so")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {line.split()[-1] for line in listed.stdout.splitlines()} == {
        "lib_a_isa",
        *(
            f"lib_a_{proc}{more}"
            for proc in ("matmul", "through_static")
            for more in ("", "_variant")
        ),
    }


def cmake(*arguments: str | Path) -> None:
    done = subprocess.run(["cmake", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@CMAKE
def test_its_sources_compile_to_what_was_verified(library: Path, tmp_path: Path) -> None:
    cmake("-S", library / "src/lib_a", "-B", tmp_path, "-DCMAKE_BUILD_TYPE=Release")
    cmake("--build", tmp_path)
    objects = list(tmp_path.rglob("lib_a_*.c.o"))
    wanted = {
        f"lib_a_{proc}_{name}": each["machine_code"]
        for proc in ("matmul", "through_static")
        for name, each in variants(library, proc).items()
    }
    found = {path.name[:-4]: code_identity(path.read_bytes()) for path in objects}
    assert found == wanted
    (tmp_path / "lib").mkdir()
    shutil.copy(tmp_path / "liblib_a.so", tmp_path / "lib")
    called(tmp_path)


@CMAKE
@pytest.mark.parametrize("kind", ["kernels", "static"])
def test_the_example_finds_the_installed_library(kind: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    file = tmp_path / "gemm_sizes.py"
    shutil.copy(ROOT / "examples/gemm_sizes.py", file)
    made = entry(file, "gemm", SMALL, "register_block")
    ordered = Ordered("kernels", "1.2.3", tmp_path / "installed")
    build(Chosen(tmp_path / "a.lock", (made,)), Where(named=(file,)), ordered, silent)
    lists = tmp_path / "example/CMakeLists.txt"
    text = lists.read_text().replace("find_package(kernels", "find_package(kernels 1.2")
    lists.write_text(text.replace("kernels::kernels", f"kernels::{kind}"))
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    cmake("-S", tmp_path / "example", "-B", tmp_path / "build", prefix)
    cmake("--build", tmp_path / "build")
    done = subprocess.run([tmp_path / "build/product"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.endswith(": 0 of 60000 elements are wrong\n")
    lists.write_text(text.replace("kernels 1.2", "kernels 1.3"))
    with pytest.raises(AssertionError, match=r"version: 1\.2\.3"):
        cmake("-S", tmp_path / "example", "-B", tmp_path / "newer", prefix)


WRONG_CALL = '#include "lib_a.h"\nint main(void) { lib_a_matmul(0, 1, 1, 0, 0, 0); return 0; }\n'


@CMAKE
def test_debug_builds_check_arguments(library: Path, tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(WRONG_CALL)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(wrong LANGUAGES C)\n"
        f'add_subdirectory("{library}/src/lib_a" lib_a)\n'
        "add_executable(main main.c)\ntarget_link_libraries(main lib_a::static)\n"
    )
    cmake("-S", tmp_path, "-B", tmp_path / "build", "-DCMAKE_BUILD_TYPE=Debug")
    cmake("--build", tmp_path / "build")
    done = subprocess.run([tmp_path / "build/main"], capture_output=True, text=True, check=False)
    assert "M >= 1" in done.stderr
