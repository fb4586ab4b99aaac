"""How fast the machine could be on a kernel: the roofline, measured in the same minutes."""

from __future__ import annotations

from collections.abc import Sequence

from schedsearch.evaluate.peak import Peaks, measure_peaks
from schedsearch.evaluate.work import Work
from schedsearch.search.subject import Subject

# Less than this is copied too fast to be timed.
_LEAST_COPY = 256 << 10
_FLOATS = ("f16", "f32", "f64", "R")


def measure_roof(subject: Subject, footprint: int) -> Peaks:
    """The peaks now (about 0.3 s). The bandwidth is that of a copy whose two arrays together
    are as large as the kernel's, so that what fits a cache is held against that cache.
    """
    return measure_peaks(subject.builder, subject.target, max(footprint // 2, _LEAST_COPY))


def highest(roofs: Sequence[Peaks]) -> Peaks:
    """The best of several measurements of the same machine."""
    return Peaks(
        max(roof.f32 for roof in roofs),
        max(roof.f64 for roof in roofs),
        max(roof.bandwidth for roof in roofs),
    )


def least_seconds(roof: Peaks, work: Work) -> tuple[float, str]:
    """The least time of `work`, and what it is limited by: `compute` or `memory`.

    Integer operations do not count: their peak is not measured, so that kernels of
    integers are held against memory alone.
    """
    compute = sum(count / roof.gflops(kind) for kind, count in work.ops if kind in _FLOATS)
    memory = work.bytes / roof.bandwidth
    return max(compute, memory) * 1e-9, "compute" if compute > memory else "memory"
