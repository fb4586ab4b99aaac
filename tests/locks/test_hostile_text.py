"""Lock files from elsewhere: whatever their bytes are, a lock that is read is one that can be
written, and anything else is a UserError that names the file."""

from __future__ import annotations

import copy
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedsearch.core.errors import UserError
from schedsearch.locks.entry import Lock
from schedsearch.locks.format import format_lock, parse_lock, toml_lines
from schedsearch.locks.place import NAME, read_lock

from .entries import ENTRY
from .test_format import TEXT, values

DATA = tomllib.loads(TEXT)


def read_or_refused(read: Callable[[], Lock], name: str) -> Lock | None:
    """The lock, None if it is refused by a message of reasonable length that names the file."""
    refusal = None
    try:
        return read()
    except UserError as error:
        refusal = str(error)
    assert name in refusal
    assert len(refusal) < 5000
    return None


def reads_or_refuses(text: str) -> None:
    lock = read_or_refused(lambda: parse_lock(text, "here"), "here")
    if lock is None:
        return
    # Numbers are written with five digits: equal from then on.
    written = format_lock(lock)
    assert format_lock(parse_lock(written, "here")) == written


Way = tuple[str | int, ...]


def ways(data: Any, way: Way = ()) -> Iterator[Way]:
    """To everything in a nest of tables and lists."""
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inside:
        yield (*way, key)
        if isinstance(value, dict | list):
            yield from ways(value, (*way, key))


def at(data: Any, way: Way) -> Any:
    for key in way:
        data = data[key]
    return data


ODD = st.sampled_from(
    [
        *(0, -1, 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 5e-324, 1e308, 1e16),
        *("", ".", "..", "/", "a/../b", "~", "C:\\x", "a//b", "0.0", "e", "gcc ", "gcc 12"),
        *("\x00", "\x7f", "\x1b[2J", "\u202e", "\ufeff", "\u2028", "\U0001f600", "a" * 20_000),
        *([], {}, [[]], [{}], True, False),
    ]
)


anything = ODD.map(copy.deepcopy) | values


@st.composite
def altered(draw: st.DrawFn) -> dict[str, Any]:
    """A lock file's data with a few things dropped, replaced, copied or added."""
    data = copy.deepcopy(DATA)
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(sorted(ways(data), key=repr)))
        holder, key = at(data, way[:-1]), way[-1]
        match draw(st.sampled_from(["drop", "replace", "copy", "add"])):
            case "drop":
                del holder[key]
            case "replace":
                holder[key] = draw(anything)
            case "copy":
                holder[key] = copy.deepcopy(at(data, draw(st.sampled_from(list(ways(data))))))
            case _ if isinstance(holder, list):
                holder.append(draw(anything))
            case _:
                holder[draw(st.text(st.characters(exclude_categories=["Cs"])))] = draw(anything)
        if not data:
            break
    return data


@pytest.mark.normal
@given(altered())
def test_altered_files_are_read_or_refused(data: dict[str, Any]) -> None:
    reads_or_refuses("\n".join(toml_lines(data)))


@pytest.mark.normal
@given(st.dictionaries(st.sampled_from(["schema", "kernel", "target", ""]), values))
def test_any_table_is_read_or_refused(data: dict[str, Any]) -> None:
    reads_or_refuses("\n".join(toml_lines({"schema": 1, **data})))


@pytest.mark.normal
@given(st.data())
def test_cut_and_joined_text_is_read_or_refused(data: st.DataObject) -> None:
    """As editors and merges leave it: parts missing, doubled, or of other characters."""
    places = st.tuples(*[st.integers(0, len(TEXT))] * 2)
    begin, end = sorted(data.draw(places))
    middle = data.draw(
        st.sampled_from(["", TEXT[begin:end] * 2, "[" * 5000, "9" * 5000, "1e999", "\r", "\ufeff"])
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    )
    reads_or_refuses(TEXT[:begin] + middle + TEXT[end:])


@pytest.mark.normal
@given(st.binary(max_size=60), st.integers(0, len(TEXT.encode())))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, some: bytes, place: int
) -> None:
    path = tmp_path_factory.mktemp("lock") / NAME  # commands look for it in folders above
    whole = TEXT.encode()
    path.write_bytes(whole[:place] + some + whole[place:])
    lock = read_or_refused(lambda: read_lock(path), NAME)
    assert lock is None or parse_lock(format_lock(lock), "here") == lock


def test_line_ends_of_other_systems(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert read_lock(path) == Lock((ENTRY,))


def test_pipes_devices_and_huge_files_are_not_read(tmp_path: Path) -> None:
    """Each in no time: nobody writes to the pipe, the device has no end."""
    pipe, folder, huge, loop = (tmp_path / name for name in ("pipe", "folder", "huge", "loop"))
    os.mkfifo(pipe)
    folder.mkdir()
    huge.touch()
    os.truncate(huge, 1 << 40)
    loop.symlink_to(loop)
    for path in (pipe, folder, huge, loop, Path("/dev/zero"), tmp_path / ("a" * 5000)):
        with pytest.raises(UserError, match=f"cannot read {re.escape(str(path))}"):
            read_lock(path)


@pytest.mark.parametrize("part", ["x", '"x"', '"\u2028"'])
def test_keys_that_take_the_parser_minutes_are_refused(part: str) -> None:
    for text in (f"{TEXT}\n{f'{part} . ' * 100_000}x = 1", f"{TEXT}\n[{f'{part}.' * 100_000}x]"):
        with pytest.raises(UserError, match="here is not a lock file: it has keys of thousands"):
            parse_lock(text, "here")
