"""Numbers, schedules and outcomes as people read them."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from schedsearch.core.alignment import arrays
from schedsearch.core.build import DEFAULT_BUILD, Build
from schedsearch.core.decision import TOLERANCE, Decision, first_answer
from schedsearch.core.floats import MEANINGS, FloatingPoint
from schedsearch.core.numbers import count as count
from schedsearch.core.numbers import duration as duration
from schedsearch.core.numbers import speedup as speedup
from schedsearch.core.records import Measurement, Outcome, Target, TuningRecord, Workload
from schedsearch.core.stats import Estimate

if TYPE_CHECKING:  # they take a while to load
    from schedsearch.evaluate.oracle.agreed import Agreement
    from schedsearch.evaluate.roof.roofline import Roof
    from schedsearch.search.engine.progress import Progress
    from schedsearch.search.setup.run_summary import Elsewhere, Inspection

_BARS = "▁▂▃▄▅▆▇█"


def of_roof(roof: Roof, seconds: float) -> str:
    """`92 % of its roofline (f32 multiply-add peak, 214 GFLOP/s)`"""
    text = f"{100 * roof.share(seconds):.0f} % of its roofline ({roof.name})"
    return f"{text}; {OVER_ROOF}" if roof.exceeded(seconds) else text


def reached(roof: Roof | None, ns: float) -> str:
    """`1.2 ms, 92 % of its roofline (...)` of nanoseconds a call; without one the time alone."""
    time = duration(ns * 1e-9)
    return f"{time}, {of_roof(roof, ns * 1e-9)}" if roof and roof.least_s else time


OVER_ROOF = (
    "above what the machine can do: an error of measuring, or fewer operations do than were counted"
)


def decided(decision: Decision, rounds: int) -> str:
    """The decision of a test of so many rounds, as a sentence."""
    number = count(rounds, "round")
    match decision:
        case Decision.INCONCLUSIVE:
            return f"Inconclusive: {number} do not tell them apart on this machine now."
        case Decision.SAME:
            return f"The same: a difference of more than {TOLERANCE:.0%} is ruled out by {number}."
        case _:
            return f"Clearly {decision}, by a signed-rank test of {number}."


def tested(measurement: Measurement, margin: float) -> str:
    """Whether it is faster than the procedure as written, by rounds against that, and whether the
    interval, which holds in other sessions, says so too."""
    if not measurement.as_written:
        return "Not tested: it was timed against another schedule, not the procedure as written."
    decision, rounds = first_answer([each.speedup for each in measurement.rounds], margin)
    least, number = measurement.speedup.low, count(rounds, "round")
    if decision is Decision.FASTER and least <= 1.0:
        return (
            f"Faster in this session, by a signed-rank test of {number}, but not for certain in "
            "others: the interval includes 1."
        )
    if decision is Decision.INCONCLUSIVE and least > 1.0:
        return f"The interval is above 1; {number} are too few for a signed-rank test to tell."
    return decided(decision, rounds)


def noise(measurement: Measurement) -> str:
    """`Noise of this session: 0.3% (the schedule against itself, 0.997 from 0.992 to 1.001).`"""
    estimate = measurement.ratio
    return (
        f"Noise of this session: {abs(estimate.value - 1):.1%} (the schedule against itself, "
        f"{estimate.value:.3f} from {estimate.low:.3f} to {estimate.high:.3f})."
    )


def conditions(measurement: Measurement) -> str:
    """`, cpu time, warm caches, arrays aligned to 16 bytes`; nothing of what earlier versions
    measured"""
    host = dict(measurement.host)
    if "clock" not in host or "cache" not in host:
        return ""
    where = f", arrays aligned to {host['align']} bytes" if "align" in host else ""
    return f", {host['clock']} time, {host['cache']} caches{where}"


def anchored(measurement: Measurement) -> str:
    """`, of a schedule of about 12.3x`; nothing if against the procedure as written"""
    own = measurement.reference_speedup
    return "" if measurement.as_written else f", of a schedule of about {own:.3g}x"


def nothing_faster(name: str) -> str:
    return f"No schedule faster than {name} as written was found."


def nothing_measured(name: str, seconds: float, before_s: float) -> str:
    """`before_s` of the seconds passed before the search began."""
    share = f", {before_s:.0f} s of which it took to verify and time {name} as written"
    took = f"{seconds:.0f} s{share if before_s > seconds / 4 else ''}"
    more = max(30, 10 * math.ceil(seconds / 5))
    return f"No schedule of {name} was measured in {took}: give it more, as --budget {more}s."


def reference(name: str, agreement: Agreement) -> str:
    """How the procedure as written was verified itself."""
    return f"{name} as written, compiled, {agreement}."


def sanitized(inspection: Inspection | None) -> list[str]:
    return [f"Sanitizers, {check}." for check in inspection.checks] if inspection else []


def elsewhere(found: Elsewhere | None) -> list[str]:
    """`On arrays aligned to 64 bytes: ...`; nothing if it is as fast on them."""
    return [f"On {found}."] if found and found.differs else []


def counted(progress: Progress) -> str:
    return f"{progress.measured} measured, {progress.expanded} expanded"


AS_WRITTEN = "as written, without rewrites"
"""In place of a claim."""


def claim(measurement: Measurement) -> str:
    """`24.8x [24.1, 25.6] the speed of the procedure as written, confirmed`"""
    state = "confirmed" if measurement.confirmed else "not confirmed yet"
    return f"{speedup(measurement.speedup)} the speed of the procedure as written, {state}"


def so_far(measurement: Measurement) -> str:
    """While a search goes on: `24.8x`; with an interval once that was confirmed."""
    found = measurement.speedup
    return speedup(found if measurement.confirmed else Estimate(found.value))


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """The last `width` values as bars, the largest full height."""
    shown = list(values)[-width:]
    if not shown:
        return ""
    top = max(shown) or 1.0
    return "".join(_BARS[min(7, int(value / top * 7.999))] for value in shown)


def outcomes(counts: Mapping[Outcome | None, int]) -> str:
    """`12 correct · 3 illegal · 40 not measured`"""
    parts = [f"{counts[o]} {o.value.replace('_', ' ')}" for o in Outcome if counts.get(o)]
    if counts.get(None):
        parts.append(f"{counts[None]} not measured")
    return " · ".join(parts) or "none yet"


def state(record: TuningRecord) -> str:
    """`compile error`; without an outcome `legal, not measured`"""
    return record.outcome.value.replace("_", " ") if record.outcome else "legal, not measured"


def target(machine: Target, build: Build = DEFAULT_BUILD) -> str:
    """`zen5 · avx512, 512-bit vectors · fp strict · gcc 12.2.0 -O3 -march=native · arrays
    aligned to 16 bytes`"""
    threads = f"{machine.threads} threads · " if machine.threads > 1 else ""
    vectors = f", {machine.vector_bits}-bit vectors" if machine.vector_bits else ""
    fp = f" · fp {machine.fp}"
    place = f"{threads}{machine.cpu} · {machine.isa}{vectors}{fp}"
    return f"{place} · {compiled(machine, build)} · {arrays(machine.align)}"


def contract(fp: FloatingPoint) -> str:
    """`strict: results are bit for bit those of the C as written`"""
    return f"{fp}: {MEANINGS[fp]}"


def compiled(machine: Target, build: Build) -> str:
    """`gcc 12.2.0 -O3 -march=native -ffast-math`"""
    compiler = machine.compiler_for(build)
    version = f"{compiler.kind} {compiler.version}" if compiler else build.compiler
    return f"{version} {' '.join(build.flags(machine.flags))}"


def sizes(values: Sequence[tuple[str, int]], fixed: Container[str] = ()) -> str:
    """`M=512 only, N=64`, or nothing; `fixed` names sizes that are constants."""
    only = {True: " only", False: ""}
    return ", ".join(f"{name}={value}{only[name in fixed]}" for name, value in values)


def kernel(workload: Workload) -> str:
    """`gemv (K=512, M=64 only)`, or the name alone if it has no sizes to bind"""
    bound = sizes(workload.sizes, workload.specialized)
    return f"{workload.proc} ({bound})" if bound else workload.proc
