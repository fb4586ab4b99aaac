"""Limits of a child that verifies and times: seconds, memory, threads."""

from __future__ import annotations

import math
from dataclasses import dataclass

from schedsearch.evaluate.run.runner import Limits
from schedsearch.evaluate.run.timing import TimingPlan

# A candidate may be this much slower than the reference before verification
# gives up on it; the constant covers process start and filling arrays.
_PATIENCE = 20.0
_VERIFY_S = 3.0
HOPELESS = 5.0
"""While screening, a candidate that takes this many times longer than the fastest is given up."""
_SCREEN_S = 1.0
# Filling and comparing arrays, which is not the candidate's doing: 2 to 4 ns a byte when busy.
_BYTE_S = 8e-9
# Address space beyond the arrays: libraries, stacks, the kernel's own buffers.
_SPARE_BYTES = 2 << 30
_SPARE_FILE_BYTES = 1 << 20
# The child's own clocks come first, with the better messages.
_SPARE_S = 2.0
# Helper threads of OpenMP libraries, beyond the threads that two of them may start.
_SPARE_THREADS = 32
# Stack and malloc arena of a thread; verification uses more threads than cores.
_THREAD_BYTES = 160 << 20
# Runs of a kernel with threads per case (`verify_races` of runtime/harness.c).
_RACE_CHECKS = 5


@dataclass(frozen=True)
class Allowance:
    """Limits for candidates of one baseline: `call_ns` is the time of one baseline call in each
    case, `case_bytes` the memory for the arrays of each, `cores` the number of cores used. All
    calls together have no more than `most_s` seconds."""

    call_ns: tuple[float, ...]
    case_bytes: tuple[int, ...]
    cores: int
    most_s: float = math.inf

    def verify_s(self, plan: TimingPlan | None = None) -> float:
        """Seconds that verification may take; less while screening, once there is something
        fast to compare with."""
        runs = _RACE_CHECKS if self.cores > 1 else 1
        calls_s = (runs * sum(self.call_ns) + self.call_ns[-1]) * 1e-9
        arrays_s = _BYTE_S * sum(self.case_bytes)
        patient = _VERIFY_S + min(_PATIENCE * calls_s, self.most_s)
        if plan is None or plan.give_up_below is None:
            return arrays_s + patient
        return arrays_s + min(patient, _SCREEN_S + HOPELESS * calls_s / plan.give_up_below)

    def limits(self, wall_s: float, silence_s: float, file_bytes: int = 0) -> Limits:
        """Limits of a child that may write `file_bytes`, and report nothing for `silence_s`."""
        threads = 2 * self.cores + 1
        memory = 4 * max(self.case_bytes, default=0) + threads * _THREAD_BYTES + _SPARE_BYTES
        return Limits(
            wall_s,
            silence_s + _SPARE_S,
            memory,
            file_bytes + _SPARE_FILE_BYTES,
            _SPARE_THREADS + 2 * threads,
        )
