"""Space files: gzipped JSON of a recorded space, small enough to keep under version control.

Keys are not written: they are digests of traces, which follow from the rewrites, and
would be most of the file.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from pathlib import Path
from typing import Any

from benchmarks.spaces.space import Point, Space
from schedsearch.core.errors import UserError
from schedsearch.core.records import Outcome, Target
from schedsearch.core.shown import shown
from schedsearch.core.trace import MOST_STEPS, Rewrite, Trace

LARGEST = 512 << 20
"""Bytes of an unpacked space: a few bytes can unpack to all of the memory."""
FORMAT = "schedsearch space 1"
_GZIP = b"\x1f\x8b"


def save(space: Space, path: Path) -> None:
    """Write `space`; equal spaces give equal bytes. Raises UserError if it cannot."""
    number = {key: n for n, key in enumerate(space.points)}
    rewrites: dict[Rewrite, int] = {}

    def index(rewrite: Rewrite) -> int:
        return rewrites.setdefault(rewrite, len(rewrites))

    nodes = [
        [
            None if point.parent is None else number[point.parent],
            None if point.rewrite is None else index(point.rewrite),
            round(point.predicted, 4),
            point.outcome.value,
            None if point.speedup is None else float(f"{point.speedup:.5g}"),
            round(point.measure_s, 4),
            number[point.same],
        ]
        for point in space.points.values()
    ]
    expanded = [
        [
            number[key],
            round(space.expand_s[key], 3),
            # Children are nodes already; these lead to equal schedules elsewhere.
            [
                [index(rewrite), number[to]]
                for rewrite, to in steps.items()
                if not space.is_child(key, rewrite, to)
            ],
        ]
        for key, steps in space.moves.items()
    ]
    data = {
        "format": FORMAT,
        "name": space.name,
        "target": space.target.to_json(paths=False),
        "nodes": nodes,
        "expanded": expanded,
        "rewrites": [rewrite.to_json() for rewrite in rewrites],
    }
    text = json.dumps(data, separators=(",", ":"))
    try:
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def is_one(path: Path) -> bool:
    """Whether the file is compressed, as spaces are and stores are not."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def load(path: Path) -> Space:
    """Read a space. Raises UserError if it is not one."""
    try:
        with gzip.open(path) as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"it unpacks to more than {LARGEST >> 20} MB")
        data = json.loads(text)
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise UserError(f"cannot read the space {path}: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UserError(f"{path} is not a space file ({FORMAT})")
    try:
        return _space(data)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, UserError) as error:
        raise UserError(f"{path} is a damaged space file: {error}") from error


def _space(data: dict[str, Any]) -> Space:
    rewrites = [Rewrite.from_json(item) for item in data["rewrites"]]
    traces: list[Trace] = []
    for parent, rewrite, *_ in data["nodes"]:
        above = None if parent is None else traces[_index(parent)]
        if above is not None and len(above) >= MOST_STEPS:
            raise ValueError(f"a trace of more than {MOST_STEPS} rewrites")
        traces.append(Trace() if above is None else above.then(rewrites[_index(rewrite)]))
    keys = [trace.key for trace in traces]
    points: dict[str, Point] = {}
    moves: dict[str, dict[Rewrite, str]] = {keys[n]: {} for n, _, _ in data["expanded"]}
    for key, row in zip(keys, data["nodes"], strict=True):
        parent, rewrite, predicted, outcome, speedup, measure_s, same = row
        points[key] = Point(
            None if parent is None else keys[parent],
            None if rewrite is None else rewrites[rewrite],
            _finite(predicted),
            Outcome(outcome),
            None if speedup is None else _finite(speedup),
            _finite(measure_s),
            keys[same],
        )
        if parent is not None:
            moves[keys[parent]][rewrites[rewrite]] = key
    for n, _, others in data["expanded"]:
        moves[keys[n]] |= {rewrites[rewrite]: keys[to] for rewrite, to in others}
    expand_s = {keys[n]: _finite(seconds) for n, seconds, _ in data["expanded"]}
    return Space(shown(data["name"]), Target.from_json(data["target"]), points, moves, expand_s)


def _index(value: Any) -> int:
    """Python would count negative ones from the end."""
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no number of a node or a rewrite")
    return value


def _finite(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return value
