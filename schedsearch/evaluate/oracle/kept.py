"""What was evaluated is kept: files with the intervals of a case's outputs, each with a note beside
it of what the case told. Runs of one procedure share them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.evaluate.oracle.agreement import Told
from schedsearch.evaluate.oracle.harness import Case, unclear_elements

_CHUNK = 1 << 24  # bytes in memory of a file that is copied


def _beside(case: Case) -> Path:
    """The file of a case's results, next to the intervals of its outputs."""
    return case.expected.with_suffix(".json")


def kept(case: Case) -> Told | None:
    """The results of a case from an earlier run; None if there are none."""
    try:
        known = json.loads(_beside(case).read_bytes())
        with case.expected.open("rb") as record:
            if os.fstat(record.fileno()).st_size == known["bytes"]:
                marks = unclear_elements(case, record)
                return replace(Told.from_json(known["told"]), unclear=marks)
    except (OSError, ValueError, LookupError, TypeError):
        pass  # it is evaluated again
    return None


def keep(case: Case, outputs: BinaryIO, size: int, told: Told) -> Told:
    """Store the next `size` bytes, the intervals of a case's outputs, and what the case has `told`,
    which is returned with its marks."""
    with disk_explained(case.expected):
        with _draft(case.expected) as record:
            for begin in range(0, size, _CHUNK):
                record.write(outputs.read(min(_CHUNK, size - begin)))
            told = replace(told, unclear=unclear_elements(case, record))
        with _draft(_beside(case)) as note:
            note.write(json.dumps({"bytes": size, "told": told.to_json()}).encode())
    return told


@contextmanager
def _draft(place: Path) -> Iterator[BinaryIO]:
    """What replaces a file once it is written: another session may be comparing with it. Nothing
    waits for the disk (5 ms for each case): what a power failure leaves of it is evaluated again.
    """
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        with draft.open("w+b") as file:
            yield file
        os.replace(draft, place)
    finally:  # where it was not written
        draft.unlink(missing_ok=True)
