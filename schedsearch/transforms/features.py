"""Features of a schedule for the learned cost model: one vector of numbers per query AST.

Nothing is executed; loop bounds are taken at the timed sizes. A feature is, in this
order: a part of the analytic estimate (`cost.py`), what a call executes, the text as it
stands, the busiest innermost loop and the nest around it, or how it is built. Counts
and bytes are `log2(1 + n)`, so that products of trip counts become sums.

`FEATURES_VERSION` changes with anything that changes a vector: vectors of different
versions are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np
from numpy.typing import NDArray

from schedsearch.core import ast as q
from schedsearch.core.records import Target
from schedsearch.transforms.activity import Activity, Innermost, activity
from schedsearch.transforms.cost import Estimate, estimate
from schedsearch.transforms.scene import Scene
from schedsearch.transforms.vector.registers import register_kind

FEATURES_VERSION = 3
CACHES = 4
"""Levels of `Traffic.misses` that have a column: pages, and three caches."""
NEST = 4
"""Loops around the busiest statements, from the inside out, that have columns."""

_TOTALS = (
    *("log_cost", "compute", "misses_cost", "tlb_misses", "l1_misses", "l2_misses", "l3_misses"),
    *("footprint", "arithmetic", "compiler_vectorised", "instruction_lanes", "externs"),
    *("instructions", "vector_loads", "vector_stores", "scalar_operands", "prefetches"),
    *("loads_invariant", "loads_unit", "loads_strided", "loads_irregular"),
    *("stores_invariant", "stores_unit", "stores_strided", "stores_irregular"),
    *("copies", "iterations", "inner_loops", "branches", "forks", "heap_allocations"),
)
_TEXT = (
    *("statements", "calls", "loops", "depth", "conditions", "divisions", "scalars"),
    *("heap_bytes", "stack_bytes", "static_bytes", "vectors_live", "register_pressure"),
)
_BUSIEST = (
    *("share", "body", "body_operations", "body_loads", "body_stores", "intensity"),
    *("by_compiler", "constant_trips", "accumulators", "chained", "element_bits", "lanes"),
)
_BUILD = ("clang", "restrict", "o2", "unroll_loops", "wide_vectors", "narrow_vectors", "threads")

COLUMNS: tuple[str, ...] = (
    *_TOTALS,
    *_TEXT,
    *(f"busiest_{name}" for name in _BUSIEST),
    *(f"nest{level}_{name}" for level in range(NEST) for name in ("trips", "touched")),
    *_BUILD,
)
"""Names of the features.

Totals of one call: the estimate and its parts; scalar operations, those of them in loops
that compilers vectorise, and those of instructions; calls of external functions; accesses
by how far they move per iteration of their loop (not, one element, further, unpredictably);
assignments that only copy; iterations; executions of innermost loops.
Text: statements, calls of instructions, loops, nesting depth, ifs, divisions in indices,
scalars; bytes of buffers by memory; vector registers named, and their ratio to the target's.
Busiest innermost loop: its share of all operations, and per iteration its statements,
operations, loads and stores; operations per access; whether compilers vectorise it; whether
its trips are constant; places it adds to; whether it adds to one memory place all the time.
Nest: trips of the loops around, and bytes of cache lines that an iteration touches,
relative to the first-level cache.
"""
TOTALS = len(_TOTALS)
"""The first columns, which grow with the problem: meaningful between kernels only as
difference to the unscheduled procedure."""


_PACKED = np.dtype("<f4")


def unpack(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    """Packed feature vectors as rows of a new array, one column for each of `COLUMNS`."""
    flat = np.frombuffer(b"".join(vectors), dtype=_PACKED)
    return flat.reshape(len(vectors), len(COLUMNS)).astype(np.float32)


def log_costs(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    """The analytic estimate that is part of each packed vector."""
    return unpack(vectors)[:, COLUMNS.index("log_cost")]


def features(proc: q.Proc, target: Target, sizes: Mapping[str, int]) -> tuple[Estimate, bytes]:
    """The analytic estimate of a procedure and its feature vector, packed: 4 bytes a column.

    `sizes` binds arguments by name; `target.build` is how the candidate is built.
    """
    scene = Scene(proc, target, sizes)
    guess, done = estimate(scene), activity(scene)
    row = [
        *_totals(guess, done),
        *_text(done, target),
        *_busiest(done.busiest, done.operations, target),
        *_nest(done.busiest, guess, target),
        *_build(target),
    ]
    return guess, np.array(row, dtype=_PACKED).tobytes()


def _log(value: float) -> float:
    return log2(1.0 + value)


def _totals(guess: Estimate, done: Activity) -> list[float]:
    moved = guess.traffic
    misses = [_log(m) for m in moved.misses[:CACHES]]
    misses += [misses[-1]] * (CACHES - len(misses))
    counted = [
        *(done.arithmetic, done.compiler_vectorised, done.instruction_lanes, done.externs),
        *(done.instructions, done.vector_loads, done.vector_stores, done.scalar_operands),
        *(done.prefetches, *done.loads, *done.stores, done.copies, done.iterations),
        *(done.inner_loops, done.branches, done.forks, done.heap_allocations),
    ]
    costs = [guess.log_cost, _log(guess.compute), _log(guess.misses)]
    return [*costs, *misses, _log(moved.footprint), *map(_log, counted)]


def _text(done: Activity, target: Target) -> list[float]:
    sizes = dict.fromkeys(("heap", "stack", "static"), 0)
    vectors = 0.0
    for mem, size in done.buffers:
        register = register_kind(mem)
        if register is not None:
            kind, length = register
            vectors += size / (length * int(kind.lstrip("fiu")) / 8)
        elif "STACK" in mem:
            sizes["stack"] += size
        elif "STATIC" in mem:
            sizes["static"] += size
        else:
            sizes["heap"] += size
    counted = (done.statements, done.calls, done.loops, done.depth, done.conditions)
    return [
        *map(_log, (*counted, done.divisions, done.scalars, *sizes.values(), vectors)),
        vectors / max(target.vector_registers, 1),
    ]


def _busiest(loop: Innermost, operations: float, target: Target) -> list[float]:
    accesses = loop.loads + loop.stores
    return [
        loop.times * loop.operations / max(operations, 1.0),
        *map(_log, (loop.statements, loop.operations, loop.loads, loop.stores)),
        loop.operations / max(accesses, 1.0),
        *(float(loop.by_compiler), float(loop.constant), _log(loop.accumulators)),
        *(float(loop.chained), float(loop.bits), max(target.vector_bits / loop.bits, 1.0)),
    ]


def _nest(loop: Innermost, guess: Estimate, target: Target) -> list[float]:
    l1 = target.cache_bytes[0] if target.cache_bytes else 1
    moved = guess.traffic
    row = []
    for level in range(NEST):
        inside = level < len(loop.nest)
        uid, trips = loop.nest[-1 - level] if inside else (-1, 1)
        row += [_log(trips), log2(max(moved.touched.get(uid, moved.footprint), 1) / l1)]
    return row


def _build(target: Target) -> list[float]:
    build = target.build
    compiler = target.compiler_for(build) or target.compiler
    return [
        float(flag)
        for flag in (
            compiler.kind == "clang",
            build.restrict,
            build.options == "-O2",
            build.options == "-funroll-loops",
            build.options == "-mprefer-vector-width=512",
            build.options == "-mprefer-vector-width=256",
            target.threads,
        )
    ]
