"""Timings of one kernel's fastest schedules, round by round, and the file they are kept in."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement, Round, TimingKind

FORMAT = "schedsearch race 1"

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Recording:
    """Every leader was measured once per pass, in a process of its own, interleaved with
    one anchor, in random order: `candidate_ns` and `reference_ns` are `[pass, leader,
    round]`, the fastest call of a round's samples in nanoseconds. `calls` is per sample, by
    leader. On average a round of one leader took `round_s`, and its process `process_s`
    besides: to start, to verify, to calibrate.
    """

    kernel: str
    cpu: str
    candidate_ns: Values
    reference_ns: Values
    calls: tuple[int, ...]
    process_s: float
    round_s: float

    @property
    def passes(self) -> int:
        return len(self.candidate_ns)

    @property
    def leaders(self) -> int:
        return len(self.calls)

    @cached_property
    def pass_speedups(self) -> Values:
        """`[pass, leader]`: the median of a pass's rounds, over the anchor."""
        return np.asarray(np.median(self.reference_ns / self.candidate_ns, axis=2))

    @cached_property
    def speedups(self) -> Values:
        """What all passes say of each leader."""
        return np.asarray(np.median(self.pass_speedups, axis=0))

    def measured(self, kind: TimingKind, number: int, leader: int, rounds: int) -> Measurement:
        """The first rounds of one leader in one pass, as a run would have them."""
        pairs = zip(
            self.candidate_ns[number, leader, :rounds].tolist(),
            self.reference_ns[number, leader, :rounds].tolist(),
            strict=True,
        )
        samples = tuple(Round((own,), (other,)) for own, other in pairs)
        return Measurement(kind, samples, self.calls[leader], reference="anchor")


def save(recording: Recording, path: Path) -> None:
    """Five digits of each time."""
    data = {
        "format": FORMAT,
        "kernel": recording.kernel,
        "cpu": recording.cpu,
        "calls": recording.calls,
        "process_s": round(recording.process_s, 4),
        "round_s": round(recording.round_s, 4),
        "candidate_ns": _short(recording.candidate_ns),
        "reference_ns": _short(recording.reference_ns),
    }
    text = json.dumps(data, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def _short(values: Values) -> list[Any]:
    return [[[float(f"{ns:.5g}") for ns in row] for row in rows] for rows in values]


def load(path: Path) -> Recording:
    """Raises UserError if it is not one."""
    try:
        data = json.loads(gzip.decompress(path.read_bytes()))
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']}")
        return Recording(
            data["kernel"],
            data["cpu"],
            np.array(data["candidate_ns"]),
            np.array(data["reference_ns"]),
            tuple(data["calls"]),
            data["process_s"],
            data["round_s"],
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no recording of a race ({FORMAT}): {error}") from error
