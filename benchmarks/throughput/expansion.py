"""Expansion in one process: attempts, legal and distinct candidates a second, by stage,
with the C of every distinct one.

Nodes are expanded in a seeded random order, each distinct schedule once, until so many
rewrites were attempted: the same work for the same seed and alphabet.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.suite.case import Case
from schedsearch.core.errors import CodegenError
from schedsearch.core.machine import collect_rarely
from schedsearch.core.records import Outcome
from schedsearch.core.trace import Trace
from schedsearch.transforms.children import Child, Expansion
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.registry import select
from schedsearch.transforms.replay import Replayer

PRIMITIVES = (
    "cut_loop",
    "delete_buffer",
    "delete_pass",
    "eliminate_dead_code",
    "expand_alloc",
    "fission",
    "fuse",
    "inline_call",
    "inline_window",
    "join_loops",
    "lift_alloc",
    "lift_scope",
    "merge_writes",
    "mult_loops",
    "remove_loop",
    "reorder",
    "reorder_stmts",
    "shift_loop",
    "simplify",
    "split",
    "stage_scalar",
    "unroll",
)
"""Rewrites that are one operator of Exo's."""

ALPHABETS = {"primitive": PRIMITIVES, "all": None}


@dataclass(frozen=True)
class Explored:
    """`distinct` are new by `ast_key`; of these, `same_code` have C that was seen before.
    `failed` counts failures by outcome, `seconds` are of CPU, `stage_s` of wall clock."""

    kernel: str
    alphabet: str
    expansions: int
    depth: int
    attempts: int
    legal: int
    distinct: int
    same_code: int
    failed: dict[str, int]
    seconds: float
    wall_s: float
    stage_s: dict[str, float]


class Explorer:
    """Which traces to expand next, and what was found so far."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.todo: list[Trace] = [Trace()]
        self.asts: set[str | None] = set()
        self.codes: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.depth = 0

    def next(self) -> Trace:
        return self.todo.pop(self.rng.randrange(len(self.todo)))

    def take(self, expansion: Expansion) -> list[Trace]:
        """The schedules that are new."""
        self.depth = max(self.depth, len(expansion.trace) + 1)
        self.counts["expansions"] += 1
        self.seconds.update(dict(expansion.stage_s))
        new = [expansion.trace.then(c.rewrite) for c in expansion.children if self._is_new(c)]
        self.todo += new
        return new

    def _is_new(self, child: Child) -> bool:
        self.counts["attempts"] += 1
        if child.outcome is not None:
            self.failed[child.outcome.value] += 1
            return False
        self.counts["legal"] += 1
        if child.keys.ast in self.asts:
            return False
        self.counts["distinct"] += 1
        self.asts.add(child.keys.ast)
        return True

    def print_c(self, generator: CodeGenerator, trace: Trace) -> None:
        start = time.perf_counter()
        try:
            key = generator.generate(trace).key
        except CodegenError:
            self.failed[Outcome.CODEGEN_ERROR.value] += 1
        else:
            self.counts["same_code"] += key in self.codes
            self.codes.add(key)
        self.seconds.update({"codegen": time.perf_counter() - start})


def as_a_worker() -> None:
    """Collect garbage as Ray's actors do, once what is imported here is there."""
    collect_rarely()


def explore(case: Case, alphabet: str, attempts: int, seed: int) -> Explored:
    """Expand `case` until `attempts` rewrites were attempted, or none is left.

    A search generates C only of what it measures; here it is generated of all.
    """
    subject = case.load()
    names: Sequence[str] | None = ALPHABETS[alphabet]
    sizes = dict(subject.workload.sizes)
    replayer = Replayer(subject.procedure)
    expander = Expander(replayer, subject.target, select(names), sizes)
    explorer, generator = Explorer(seed), CodeGenerator(replayer)
    cpu, wall = time.process_time(), time.perf_counter()
    while explorer.todo and explorer.counts["attempts"] < attempts:
        for trace in explorer.take(expander.expand(explorer.next())):
            explorer.print_c(generator, trace)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    counts = explorer.counts
    return Explored(
        case.name,
        alphabet,
        counts["expansions"],
        explorer.depth,
        counts["attempts"],
        counts["legal"],
        counts["distinct"],
        counts["same_code"],
        dict(explorer.failed),
        cpu,
        wall,
        dict(explorer.seconds),
    )
