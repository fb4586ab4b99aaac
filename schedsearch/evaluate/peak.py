"""Measured limits of the cores that kernels run on: the roofs of the roofline (Williams et al.,
CACM 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from schedsearch.core.errors import UserError
from schedsearch.core.records import Target
from schedsearch.evaluate.builder import Builder
from schedsearch.evaluate.harness import runtime_source
from schedsearch.evaluate.process import run_group

_COMPILE_S = 60.0
_RUN_S = 60.0
_COPY_BYTES = 32 << 20
_SCALAR_BYTES = 8  # one register without vectors: an f64, two f32


@dataclass(frozen=True)
class Peaks:
    """Of the target's threads together: multiply-add peak in GFLOP/s by type, copy
    bandwidth in GB/s.

    Bandwidth counts bytes read plus bytes written, as STREAM does.
    """

    f32: float
    f64: float
    bandwidth: float

    def gflops(self, kind: str) -> float:
        """Peak for operations of an element type; that of f32 for types without their own."""
        return self.f64 if kind == "f64" else self.f32


@cache
def calibrate(builder: Builder, target: Target) -> Peaks:
    """Measure the peaks (about 0.3 s, once per session); arrays exceed every cache.

    Raises UserError if the calibration cannot be built or run here.
    """
    return measure_peaks(builder, target, max(2 * max(target.cache_bytes), _COPY_BYTES))


def measure_peaks(builder: Builder, target: Target, copied: int) -> Peaks:
    """Measure the peaks now, bandwidth with a copy of `copied` bytes.

    Raises UserError if the calibration cannot be built or run here.
    """
    lane_bytes = max(target.vector_bits // 8, _SCALAR_BYTES)
    source = "\n".join(
        [
            f"#define THREADS {target.threads}",
            f"#define LANE_BYTES {lane_bytes}",
            f"#define COPY_BYTES ((size_t){copied})",
            runtime_source("peak.c"),
        ]
    )
    program = builder.executable({"peak.c": source}, _COMPILE_S)
    finished = run_group([program], timeout_s=_RUN_S)
    numbers = finished.stdout.split() if finished and finished.code == 0 else []
    if len(numbers) != 3:
        cause = f"it ended with {finished.code}" if finished else f"no end after {_RUN_S:g} s"
        raise UserError(
            f"the calibration of this machine's peaks failed: {cause}. "
            "Is memory short, or the machine very busy? Free it and run again."
        )
    return Peaks(*map(float, numbers))
