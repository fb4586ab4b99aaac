"""What limits a kernel, in a sentence: from the roofline, and from counts of its hottest loop."""

from __future__ import annotations

from schedsearch.evaluate.code.hottest import HotLoop
from schedsearch.evaluate.roof.kinds import unit_of
from schedsearch.evaluate.roof.roofline import Roof

NEAR = 0.7
"""A kernel that reaches this share of its roofline is limited by it, as far as one can tell."""

TINY_S = 50e-9
"""A call takes some nanoseconds itself: of kernels below, it is a good part."""

_CYCLES_A_SECOND = 3e9
_EXPLAINED = 0.5
"""Where counted cycles, at this many a second, explain less of the time than this, it is lost to
what counting does not see: above all to data that is not in the first cache."""

_CLEARLY = 1.5
"""A limit of the hottest loop is named if it is this many times what other limits ask for."""


def limit(roof: Roof | None, seconds: float, hot: HotLoop | None = None) -> str:
    """`Limited by ...`, and how sure that is. `seconds` are of a call, as measured; `hot` is the
    loop with most of its time (`evaluate/code`): without it only the roofline can be named."""
    share = roof.share(seconds) if roof is not None and roof.least_s else None
    if roof is not None and share is not None and at_roof(roof, seconds):
        sure = "measured" if not roof.exceeded(seconds) else "measured, but above the roofline"
        return f"Limited by {_binding(roof)}: it reaches {share:.0%} of it ({sure})."
    reached = f"; it reaches {share:.0%} of its roofline" if share is not None else ""
    if roof is not None and reached and roof.limit == "compute" and roof.of_functions:
        reached += f", which is that of {_binding(roof)}"
    if seconds < TINY_S:
        return (
            f"Limited by the overhead of a call: one takes {seconds * 1e9:.0f} ns{reached} "
            "(likely: so little work cannot fill the core)."
        )
    if hot is None or not hot.share:
        return f"What limits it is not known{reached}."
    explained = hot.iterations * hot.cycles / hot.share / _CYCLES_A_SECOND / seconds
    calls = hot.counts.calls
    if hot.iterations and explained < _EXPLAINED and calls:
        many = f"{_many(calls, 'call')} an iteration"
        return (
            f"Limited by functions that it calls, most likely: its hottest loop has {many}, its "
            f"own cycles explain {explained:.0%} of the time (at 3 GHz){reached} (estimated)."
        )
    if hot.iterations and explained < _EXPLAINED and hot.uncounted:
        return (
            f"What limits it is not known: {_many(hot.uncounted, 'loop')} inside of vector "
            f"instructions could not be counted{reached}."
        )
    if hot.iterations and explained < _EXPLAINED:
        return (
            "Limited by waiting for data in caches or memory, most likely: counted cycles explain "
            f"{explained:.0%} of the time (at 3 GHz){reached} (estimated)."
        )
    return f"Limited by {_of_loop(hot)}{reached} (estimated, by counting instructions)."


def at_roof(roof: Roof, seconds: float) -> bool:
    """Whether the roofline is the limit: loops need not be looked at."""
    return roof.share(seconds) >= NEAR


_DOES = {"arithmetic": "arithmetic", "functions": "functions", "divider": "divisions and roots"}


def _binding(roof: Roof) -> str:
    if roof.limit == "compute":
        return f"{_DOES[unit_of(roof.kind)]}, the {roof.name}"
    where = "bandwidth of memory" if roof.level == "memory" else f"{roof.level} bandwidth"
    return f"{where}, {roof.bandwidth:.3g} GB/s for its loads and stores"


def _of_loop(hot: HotLoop) -> str:
    counts, bounds = hot.counts, hot.counts.bounds
    others = max(cycles for name, cycles in bounds.items() if name != hot.binds)
    part = f"{hot.share:.0%} of the time is in a loop that"
    clearly = bounds[hot.binds] >= _CLEARLY * others
    if hot.binds == "latency" and clearly:
        accumulators = _many(counts.chains, "accumulator")
        return (
            f"latency, a chain of dependent operations: {part} adds to {accumulators} and waits "
            f"{counts.chain} cycles an iteration for it; more accumulators would overlap"
        )
    if hot.binds == "divider":
        many = (
            f"{counts.divisions} divisions or roots"
            if counts.divisions > 1
            else "a division or root"
        )
        return f"the divider: {part} has {many} an iteration"
    if counts.spills and counts.spills * 2 >= counts.loads + counts.stores:
        return (
            f"loads and stores of spilled registers: {part} accesses the stack "
            f"{counts.spills} times an iteration"
        )
    if hot.binds in ("loads", "stores"):
        loads, stores = _many(counts.loads, "load"), _many(counts.stores, "store")
        operations = _many(counts.operations, "operation")
        return f"{hot.binds}: {part} has {loads} and {stores}, for {operations} an iteration"
    if counts.width == 64 and counts.operations:
        return f"scalar code: {part} computes one element at a time"
    if hot.binds == "arithmetic" and counts.vector >= 2 * counts.arithmetic:
        return (
            f"conversions, comparisons and shuffles: {part} has {counts.vector} instructions for "
            f"vector units, of which {counts.arithmetic} are arithmetic"
        )
    if hot.binds == "arithmetic":
        return f"arithmetic: {part} needs the arithmetic units most; waiting for data adds to it"
    return (
        f"what a core starts in a cycle: {part} has {counts.instructions} instructions "
        f"for {counts.operations} operations"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
