"""Lock files: what is written is read again, merges line by line, and nothing else is read."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.alignment import UNKNOWN
from schedsearch.core.errors import UserError
from schedsearch.core.records import (
    Compiler,
)
from schedsearch.core.trace import Trace
from schedsearch.locks.entry import (
    Lock,
    LockedTarget,
)
from schedsearch.locks.format import format_lock, parse_lock, toml_lines
from schedsearch.locks.place import NAME, default_lock, find_lock, read_lock, write_lock

from .entries import CODE, ENTRY, SETS, STRICT, TARGET, TRACE

TEXT = format_lock(Lock((ENTRY,)))


def test_an_entry_survives_its_text() -> None:
    assert parse_lock(TEXT, "here") == Lock((ENTRY,))
    bare = replace(ENTRY, trace=Trace(), speed=replace(ENTRY.speed, noise=None, roof=None))
    assert parse_lock(format_lock(Lock((bare,))), "here") == Lock((bare,))
    assert parse_lock(format_lock(Lock()), "here") == Lock()


def test_the_c_is_read_line_by_line_and_how_it_was_compiled() -> None:
    with_c = replace(ENTRY, code=CODE)
    text = format_lock(Lock((with_c,)))
    assert parse_lock(text, "here") == Lock((with_c,))
    assert f"source = '''\n{CODE.source}'''\n" in text
    assert "# gcc 12.2.0: -O3 -march=native -std=gnu11 " in text
    assert text.startswith(TEXT)


C_TEXTS = st.text(max_size=50) | st.sampled_from(
    [
        "'''",
        "a'''\n",
        "a\n'",
        "\n",
        "\n\n",
        "\\n\n",
        "\r\n",
        "a\rb\n",
        "\t\n",
        "\x1b\n",
        "\x7f\n",
        '"""\n',
    ]
)


@pytest.mark.normal
@given(C_TEXTS, C_TEXTS)
def test_any_c_survives_its_text(header: str, source: str) -> None:
    with_c = replace(ENTRY, code=replace(CODE, header=header, source=source))
    assert parse_lock(format_lock(Lock((with_c,))), "here") == Lock((with_c,))


@pytest.mark.parametrize("c", ["header = 'a'", "header = 'a'\nsource = 1", "more = 1"])
def test_c_that_is_none(c: str) -> None:
    with pytest.raises(UserError, match=r"gemm of kernels/gemm.py\)"):
        parse_lock(f"{TEXT}\n[kernel.c]\n{c}\n", "here")


def test_what_is_read_can_be_written() -> None:
    """Found by altering files: empty digests were left out, the largest numbers rounded up."""
    for old, new in (('digest = "aa"', 'digest = ""'), ("call_ns = 1165500.0", "call_ns = 1e18")):
        assert old in TEXT
        lock = parse_lock(TEXT.replace(old, new), "here")
        assert parse_lock(format_lock(lock), "here") == lock


def test_a_lock_has_no_path_of_this_machine() -> None:
    assert "/usr" not in TEXT
    assert "/somewhere" not in TEXT


def test_another_factor_is_one_line_of_the_diff() -> None:
    other = replace(TRACE.steps[0], args=(("factor", 16), ("perfect", True)))
    changed = replace(ENTRY, trace=Trace((other, *TRACE.steps[1:])))
    before, after = TEXT.splitlines(), format_lock(Lock((changed,))).splitlines()
    assert len(before) == len(after)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_order_of_entries_does_not_matter() -> None:
    other = replace(ENTRY, workload=replace(ENTRY.workload, proc="aaa"))
    assert format_lock(Lock((ENTRY, other))) == format_lock(Lock((other, ENTRY)))


def test_a_newer_compiler_takes_the_place_and_another_cpu_does_not() -> None:
    newer = replace(ENTRY.target, compiler=Compiler("gcc", "14.1.0", ""))
    elsewhere = replace(ENTRY.target, cpu="zen4")
    lock = Lock((ENTRY,)).having([replace(ENTRY, target=newer), replace(ENTRY, target=elsewhere)])
    assert [each.target for each in lock.entries] == [elsewhere, newer]
    assert lock.at(ENTRY.slot) == replace(ENTRY, target=newer)


def test_differences_of_targets_are_named() -> None:
    locked = LockedTarget.of(TARGET, TARGET.instructions)
    assert locked.differences(TARGET) == {}
    other = replace(TARGET, cores=4, features=("avx2",))
    assert set(locked.differences(other)) == {"cores", "features"}
    assert locked.differences(other)["cores"] == (2, 4)


def test_a_lock_without_a_contract_is_fast() -> None:
    older = TEXT.replace('fp = "fast"\n', "")
    assert older != TEXT
    assert parse_lock(older, "here") == Lock((ENTRY,))


def test_each_contract_has_an_entry_of_its_own() -> None:
    strict = replace(ENTRY, target=LockedTarget.of(replace(TARGET, fp=STRICT), SETS))
    lock = Lock((ENTRY,)).having([strict])
    assert parse_lock(format_lock(lock), "here") == lock
    assert {each.target.fp for each in lock.entries} == {ENTRY.target.fp, STRICT}
    assert strict.name == f"{ENTRY.name}, fp strict"
    assert ENTRY.target.differences(replace(TARGET, fp=STRICT)).keys() >= {"fp"}


def test_a_lock_without_an_alignment_is_of_an_earlier_version() -> None:
    """It stays so when it is written again, and what is pinned now takes its place."""
    older = TEXT.replace("align = 16\n", "")
    assert older != TEXT
    lock = parse_lock(older, "here")
    assert [each.target.align for each in lock.entries] == [UNKNOWN]
    assert format_lock(lock) == older
    assert lock.having([ENTRY]) == Lock((ENTRY,))


def test_an_alignment_is_named_unless_it_is_the_default() -> None:
    aligned = replace(ENTRY, target=replace(ENTRY.target, align=64))
    assert parse_lock(format_lock(Lock((aligned,))), "here") == Lock((aligned,))
    assert aligned.name == f"{ENTRY.name}, arrays aligned to 64 bytes"


WRONG = {
    "unknown alignment": (("align = 16", "align = 24"), "target.align is not a power of two"),
    "unknown contract": (('fp = "fast"', 'fp = "loose"'), "target.fp is not one of strict"),
    "kernel 1's schema": (("schema = 1", "schema = 2"), "schema 2"),
    "absolute path": (('"kernels/gemm.py"', '"/etc/passwd"'), "source"),
    "path upwards": (('"kernels/gemm.py"', '"../gemm.py"'), "source"),
    "path upwards inside": (('"kernels/gemm.py"', '"a/../../gemm.py"'), "source"),
    "backslashes": (('"kernels/gemm.py"', r'"..\\gemm.py"'), "source"),
    "control characters": (('"kernels/gemm.py"', r'"a\u0000.py"'), "source"),
    "instruction path": (('"isa/mine.py"', '"/isa/mine.py"'), "path"),
    "huge size": (("M = 8", f"M = {10**30}"), "sizes.M"),
    "size of digits without end": (("M = 8", f"M = {'9' * 5000}"), "not a lock file"),
    "huge argument": (("factor = 8", f"factor = {2**63}"), "args.factor"),
    "argument that is a list": (("factor = 8", "factor = []"), "args.factor"),
    "ratio that is no number": (("ratio = 24.812", "ratio = nan"), "speed.ratio"),
    "infinite ratio": (("ratio = 24.812", "ratio = inf"), "speed.ratio"),
    "ratio outside its interval": (("ratio = 24.812", "ratio = 2.0"), "speed.ratio"),
    "truth as a number": (("rounds = 13", "rounds = true"), "speed.rounds"),
    "unknown field": (("rounds = 13", "rounds = 13\nlaps = 3"), "speed.laps"),
    "missing field": (("rounds = 13\n", ""), "speed.rounds is missing"),
    "cache of another kind": (('cache = "warm"', 'cache = "hot"'), "speed.cache"),
    "date with a time": (("2026-11-21", "2026-11-21T10:00:00"), "speed.measured"),
    "compiler of another kind": (('"gcc 12.2.0"', '"tcc 0.9"'), "target.compiler"),
    "specialised size that there is not": (('["M"]', '["K"]'), "specialized"),
    "statement path": (('path = "0.1.e.0"', 'path = "0.x"'), "trace, number 2: path"),
    "deep nesting": (("args = { factor", "args = " + "{ a = " * 5000 + "{ factor"), "lock file"),
    "a trace of another kind": (("schema = 1", "schema = 1\nkernel = 3"), "not a lock file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_other_text_is_refused_and_the_field_named(case: str) -> None:
    (old, new), expected = WRONG[case]
    assert old in TEXT
    with pytest.raises(UserError, match="here") as error:
        parse_lock(TEXT.replace(old, new), "here")
    assert expected in str(error.value)
    assert len(str(error.value)) < 500


def test_messages_name_the_entry() -> None:
    with pytest.raises(UserError, match=r"kernel, number 1 \(gemm of kernels/gemm.py\)"):
        parse_lock(TEXT.replace("rounds = 13", "rounds = 0"), "here")


def test_both_sides_of_a_merge_are_not_both_kept() -> None:
    body = TEXT[TEXT.index("[[kernel]]") :]
    with pytest.raises(UserError, match="two entries"):
        parse_lock(f"{TEXT}\n{body}", "here")
    marked = TEXT.replace("[[kernel]]", "<<<<<<< ours\n[[kernel]]")
    with pytest.raises(UserError, match="merge"):
        parse_lock(marked, "here")


def test_files_are_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / NAME
    write_lock(path, Lock((ENTRY,)))
    path.chmod(0o640)
    other = replace(ENTRY, schedsearch="0.2.0")
    write_lock(path, Lock((other,)))
    assert read_lock(path) == Lock((other,))
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / NAME
    outside = replace(ENTRY, workload=replace(ENTRY.workload, source="/abs/gemm.py"))
    with pytest.raises(UserError, match="source"):
        write_lock(path, Lock((outside,)))
    assert not path.exists()
    with pytest.raises(UserError, match="cannot write"):
        write_lock(tmp_path / "missing" / NAME, Lock((ENTRY,)))


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with pytest.raises(UserError, match="cannot read"):
        read_lock(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"schedules.lock.*UTF-8"):
        read_lock(path)


def test_lock_files_are_found_upwards_to_the_top_of_the_repository(tmp_path: Path) -> None:
    kernels = tmp_path / "repo" / "kernels"
    kernels.mkdir(parents=True)
    (tmp_path / NAME).write_text("")
    assert default_lock(kernels) == tmp_path / NAME
    (tmp_path / "repo" / ".git").mkdir()
    assert find_lock(kernels) is None
    assert default_lock(kernels / "gemm.py") == tmp_path / "repo" / NAME
    (kernels / NAME).write_text("")
    assert find_lock(kernels) == kernels / NAME


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.integers(-(2**63), 2**63 - 1) | texts | st.booleans() | st.floats(allow_nan=False)
values = st.recursive(
    scalars | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.normal
@given(st.dictionaries(texts, values, max_size=4))
def test_any_table_survives_toml(table: dict[str, Any]) -> None:
    assert tomllib.loads("\n".join(toml_lines(table))) == table


def test_a_lock_is_written_as_ever() -> None:
    """Another byte would be a change in every lock file of every repository."""
    golden = (Path(__file__).parent / "golden.lock").read_text()
    assert format_lock(parse_lock(golden, "here")) == golden
