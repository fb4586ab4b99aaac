"""Compiler, host and peaks, on the real machine."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.build import Build
from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler, Target
from schedsearch.evaluate.build import host
from schedsearch.evaluate.build.compiler import (
    default_flags,
    find_compiler,
    is_installed,
    other_compilers,
)
from schedsearch.evaluate.build.host import host_state, probe_target, usable_cores


def script(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_compiler_is_found_by_name_and_by_path() -> None:
    found = find_compiler("gcc")
    assert found.kind in ("gcc", "clang")  # some systems call clang gcc
    assert found == find_compiler(found.path)
    assert find_compiler().path


def test_a_compiler_is_what_it_says_not_what_it_is_called(tmp_path: Path) -> None:
    clang = script(tmp_path, "gcc-13", "echo 1 19 1 7 4 2 1")
    found = find_compiler(clang)
    assert (found.kind, found.version) == ("clang", "19.1.7")


def test_versioned_names_are_found_the_newest_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script(tmp_path, "clang-9", "echo 1 9 0 1 4 2 1")
    script(tmp_path, "clang-19", "echo 1 19 1 7 4 2 1")
    script(tmp_path, "clang-20", "exit 1")
    script(tmp_path, "clang-format-21", "exit 1")
    script(tmp_path, "gcc-13", "echo __clang__ a b c 13 2 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    gcc = find_compiler()
    assert (gcc.kind, gcc.version) == ("gcc", "13.2.0")
    assert [(c.kind, c.version) for c in other_compilers(gcc)] == [("clang", "19.1.7")]
    script(tmp_path, "clang", "echo 1 16 0 0 4 2 1")
    (clang,) = other_compilers(gcc)
    assert clang.version == "16.0.0"
    assert other_compilers(clang) == (gcc,)
    assert is_installed(gcc)
    assert is_installed(Compiler("clang", "19.1.7", ""))
    assert not is_installed(Compiler("clang", "20.0.0", ""))


def test_other_compilers_are_part_of_the_target() -> None:
    compiler = find_compiler()
    others = (Compiler("clang", "19.1.7", "/usr/bin/clang"),)
    alone = probe_target(compiler, default_flags())
    target = probe_target(compiler, default_flags(), other_compilers=others)
    moved = (replace(others[0], path="/opt/clang"),)
    assert alone.key != target.key
    assert target.key == replace(target, other_compilers=moved).key
    assert target.key == replace(target, build=Build("clang")).key
    assert Target.from_json(json.loads(json.dumps(target.to_json()))) == target
    old = alone.to_json()
    del old["other_compilers"]
    assert Target.from_json(old) == alone


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 1", "does not answer as a C compiler"),
        ("echo hello", "neither gcc nor clang"),
        ("cat", "neither gcc nor clang"),
    ],
)
def test_other_programs_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        find_compiler(script(tmp_path, "cc", text))


def test_missing_compiler_says_what_to_install() -> None:
    with pytest.raises(UserError, match=r"no-such-cc not found.*Install gcc or clang"):
        find_compiler("no-such-cc")


def test_target_is_stable_and_round_trips() -> None:
    compiler = find_compiler()
    target = probe_target(compiler, default_flags())
    assert probe_target(compiler, default_flags()).key == target.key
    assert Target.from_json(json.loads(json.dumps(target.to_json()))) == target
    assert list(target.cache_bytes) == sorted(target.cache_bytes)
    assert target.cores >= 1
    assert target.exo_version == "1.0.0"


@pytest.mark.skipif(len(usable_cores()) < 2, reason="fewer cores than all are none")
def test_target_is_the_same_on_one_core_unless_kernels_have_threads() -> None:
    compiler, cores = find_compiler(), usable_cores()
    one, two = (probe_target(compiler, default_flags(), threads) for threads in (1, 2))
    try:
        os.sched_setaffinity(0, cores[-1:])
        pinned, crowded = (probe_target(compiler, default_flags(), threads) for threads in (1, 2))
    finally:
        os.sched_setaffinity(0, cores)
    assert (pinned.cores, pinned.key) == (1, one.key)
    assert crowded.key != two.key


def test_machines_that_do_not_tell_get_fallbacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host.cpu_identity()  # kept for all that comes after: not of a machine that does not tell
    for name in ("_CACHES", "_GOVERNOR", "_HUGE_PAGES", "_CPUINFO"):
        monkeypatch.setattr(host, name, tmp_path / "missing")
    target = probe_target(find_compiler(), ())
    assert target.line_bytes == 64
    assert len(target.cache_bytes) == 3
    assert [name for name, _ in host_state()] == ["load"]
