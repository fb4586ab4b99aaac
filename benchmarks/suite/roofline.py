"""How fast the machine could be on a kernel: the roofline, measured in the same minutes."""

from __future__ import annotations

from dataclasses import dataclass

from schedsearch.core.errors import UserError
from schedsearch.evaluate.harness import runtime_source
from schedsearch.evaluate.process import run_group
from schedsearch.evaluate.work import Work
from schedsearch.search.subject import Subject

_COMPILE_S = 60.0
_RUN_S = 60.0
# Less than this is copied too fast to be timed.
_LEAST_COPY = 256 << 10
_FLOATS = {"f16": 0, "f32": 0, "R": 0, "f64": 1}


@dataclass(frozen=True)
class Roof:
    """GFLOP/s of multiply-adds on one core, and GB/s of a copy whose two arrays together are
    as large as the kernel's (so that what fits a cache is held against that cache)."""

    f32: float
    f64: float
    copy: float

    def seconds(self, work: Work) -> float:
        """The least time of `work`. Integer operations do not count: their peak is not
        measured here, so that kernels of integers are held against memory alone."""
        peaks = (self.f32, self.f64)
        compute = sum(
            count / peaks[_FLOATS[kind]] * 1e-9 for kind, count in work.ops if kind in _FLOATS
        )
        return max(compute, work.bytes / self.copy * 1e-9)

    def limit(self, work: Work) -> str:
        """`compute` or `memory`, whichever the least time comes from."""
        return "memory" if work.bytes / self.copy * 1e-9 >= self.seconds(work) else "compute"


def measure_roof(subject: Subject, footprint: int) -> Roof:
    """Measure it now (about 0.3 s). Raises UserError if it cannot be built or run."""
    copied = max(footprint // 2, _LEAST_COPY)
    source = "\n".join(
        [
            f"#define LANE_BYTES {subject.target.vector_bits // 8}",
            f"#define COPY_BYTES ((size_t){copied})",
            runtime_source("peak.c"),
        ]
    )
    program = subject.builder.executable({"peak.c": source}, _COMPILE_S)
    finished = run_group([program], timeout_s=_RUN_S)
    numbers = finished.stdout.split() if finished and finished.code == 0 else []
    if len(numbers) != 3:
        raise UserError("the peaks of this machine cannot be measured")
    return Roof(*map(float, numbers))
