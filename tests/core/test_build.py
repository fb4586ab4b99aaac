from __future__ import annotations

import pytest

from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.errors import UserError
from schedsearch.core.records import Compiler, choose_compiler
from schedsearch.core.trace import Rewrite, Trace

BASE = ("-O3", "-march=native")
CLANG = Build("clang", "-funroll-loops", True)


def compile_with(build: Build) -> Rewrite:
    return Rewrite("compile_with", 1, (), "procedure", tuple(build.to_json().items()))


def test_the_last_options_of_a_trace_win() -> None:
    other = Rewrite("simplify", 1, (), "procedure")
    trace = Trace((compile_with(Build("gcc", "-O2")), compile_with(CLANG), other))
    assert trace.build == CLANG
    assert Trace((other,)).build == Trace().build == DEFAULT_BUILD
    assert Trace.loads(trace.dumps()).build == CLANG


def test_an_optimisation_level_replaces_the_target_s() -> None:
    assert Build(options="-O2").flags(BASE) == ("-march=native", "-O2")
    assert Build(options="-funroll-loops").flags(BASE) == (*BASE, "-funroll-loops")
    assert DEFAULT_BUILD.flags(BASE) == BASE


def test_compilers_are_chosen_by_kind() -> None:
    gcc, clang = Compiler("gcc", "13.1.0", "/gcc"), Compiler("clang", "19.1.7", "/clang")
    assert choose_compiler((clang, gcc), DEFAULT_BUILD) == clang
    assert choose_compiler((gcc, clang), CLANG) == clang
    assert choose_compiler((gcc,), CLANG) is None


@pytest.mark.parametrize(
    "change",
    [
        {"compiler": "icc"},
        {"compiler": 1},
        {"options": "-fplugin=evil.so"},
        {"options": "-O2 -fplugin=evil.so"},
        {"restrict": 1},
        {"restrict": "yes"},
        {"more": ""},
    ],
    ids=str,
)
def test_options_from_anywhere_are_those_of_the_list(change: dict[str, object]) -> None:
    with pytest.raises(UserError):
        Build.from_json(CLANG.to_json() | change)
    assert Build.from_json(CLANG.to_json()) == CLANG
