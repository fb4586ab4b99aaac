"""What was called, how often, and how long it took: files of recordings. They have no data.

A file is of one process. After `MAGIC` come entries: a head (`_HEAD`), JSON, zeros up to a multiple
of 8 bytes. Calls are counted into heads (runtime/caller.c) while the file is mapped, so that a
process which is killed leaves what it has counted. The length is written last: no entry is seen in
part. Where it is 0, entries go on at the next multiple of `CHUNK`, if at all.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from schedsearch.core.errors import UserError

MAGIC = b"SSCALLS1"
CHUNK = 1 << 16
SUFFIX = ".calls"

LAYOUTS = ("dense", "rows", "strided")
"""How a window lies in memory: in C order without gaps; rows without gaps between elements;
otherwise. As `enum layout` of runtime/caller.c."""

_HEAD = struct.Struct("=IIQQ")  # length of the JSON, its CRC, calls, nanoseconds
COUNTERS = 8
"""Where in an entry its two counters are."""

_LARGEST = 1 << 20  # bytes of an entry


@dataclass(frozen=True)
class Called:
    """What calls are counted by. `key` is the identity of the procedure's text (`proc_key`); `file`
    can be loaded to have the procedure, and is empty if there is none; `dtypes` are NumPy's names.
    Of layouts there are those of windows: other arrays are dense.

    Values of index and boolean arguments are not kept: one schedule serves all of them.
    """

    proc: str
    key: str
    file: str
    dtypes: tuple[tuple[str, str], ...]
    sizes: tuple[tuple[str, int], ...]
    layouts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Counted:
    """How often it was called, and seconds in its machine code, of all calls together."""

    called: Called
    calls: int
    seconds: float


@dataclass(frozen=True)
class Recording:
    """Of the files of a directory; `damaged` are those that cannot be read, with the reasons."""

    counted: tuple[Counted, ...]
    damaged: tuple[str, ...] = ()


def entry(called: Called) -> bytes:
    """To be written, with counters of 0."""
    text = json.dumps(asdict(called)).encode()
    whole = _HEAD.pack(len(text), crc32(text), 0, 0) + text
    return whole + bytes(-len(whole) % 8)


def entries(data: bytes) -> Iterator[Counted]:
    """Of a file. Raises ValueError for what is none, or damaged."""
    if not data.strip(b"\0"):
        return  # its process ended before the first call
    if not data.startswith(MAGIC):
        raise ValueError("it is no recording, or of another version of schedsearch")
    place = len(MAGIC)
    while place + _HEAD.size <= len(data):
        length, check, calls, ns = _HEAD.unpack_from(data, place)
        if not length:
            place = (place // CHUNK + 1) * CHUNK
            continue
        begin = place + _HEAD.size
        text = data[begin : begin + length]
        if length > _LARGEST or len(text) < length or crc32(text) != check:
            raise ValueError(f"its entry at byte {place} is damaged")
        yield Counted(_called(text), calls, ns * 1e-9)
        place = begin + length + -length % 8


def _called(text: bytes) -> Called:
    fields: dict[str, Any] = json.loads(text)
    named = (fields.pop(name) for name in ("dtypes", "sizes", "layouts"))
    dtypes, sizes, layouts = (tuple((n, value) for n, value in pairs) for pairs in named)
    texts = [*fields.values(), *(each for pair in (*dtypes, *layouts) for each in pair)]
    texts += [name for name, _ in sizes]
    if not all(isinstance(each, str) for each in texts) or "\0" in fields["file"]:
        raise ValueError("an entry has something else in the place of a text")
    if not all(type(value) is int and 0 <= value < 1 << 31 for _, value in sizes):
        raise ValueError("an entry has a size that is none")
    return Called(**fields, dtypes=dtypes, sizes=sizes, layouts=layouts)


def read_recordings(folder: Path) -> Recording:
    """What all processes have counted so far. Raises UserError if `folder` has no recording, or
    none that can be read."""
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    if not files:
        raise UserError(
            f"no recording in {folder}; run the program with SCHEDSEARCH_RECORD={folder} in its "
            "environment, and call kernels in it"
        )
    found: list[Counted] = []
    damaged = []
    for file in files:
        try:
            found += list(entries(file.read_bytes()))
        except OSError as error:
            damaged.append(f"{file}: {error.strerror or error}")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            damaged.append(f"{file}: {error}")
    if len(damaged) == len(files):
        raise UserError(f"no recording in {folder} can be read: {'; '.join(damaged)}")
    return Recording(merged(found), tuple(damaged))


def merged(counted: Iterable[Counted]) -> tuple[Counted, ...]:
    """Of the same calls together, in the order in which they came; none of what was not called."""
    sums: dict[Called, tuple[int, float]] = {}
    for each in counted:
        calls, seconds = sums.get(each.called, (0, 0.0))
        sums[each.called] = calls + each.calls, seconds + each.seconds
    return tuple(Counted(called, *both) for called, both in sums.items() if both[0])
