"""A target, seeded walks over the transforms, and arguments for the test kernels."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import Compiler, Target
from schedsearch.core.trace import Trace
from schedsearch.evaluate.build.host import cpu_identity
from schedsearch.transforms.exo.loader import Source, load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import Transform, apply, select
from schedsearch.transforms.replay import State
from schedsearch.transforms.vector.instruction_sets import load_instructions
from transforms.interpret import DTYPES
from transforms.procs import portable

PROCS = Path(__file__).parent / "procs"

TARGET = Target(
    cpu="test",
    features=(),
    isa="sse2",
    vector_bits=128,
    vector_registers=16,
    line_bytes=64,
    cache_bytes=(1024, 8192),
    cores=1,
    compiler=Compiler("gcc", "12", ""),
    flags=(),
    exo_version="1.0.0",
    z3_version="4",
    instructions=(load_instructions(Path(portable.__file__)),),
)


def runs_here(flags: Sequence[str]) -> bool:
    """Whether this processor runs what gcc makes with these flags."""
    needed: set[str] = set()
    for flag in flags:
        needed |= {"-mavx2": {"avx2"}, "-mfma": {"fma"}}.get(flag, set())
        needed |= {"avx512vl", "avx512bw"} if flag == "-march=x86-64-v4" else set()
    return needed <= set(cpu_identity()[1])


CONTROLS: dict[str, list[dict[str, int]]] = {
    "matmul": [{}],
    "blur": [{}],
    "layernorm": [{}],
    "conv": [{}],
    "gemm": [{"M": 1, "N": 8, "K": 1}, {"M": 5, "N": 16, "K": 3}, {"M": 9, "N": 8, "K": 13}],
    "triangle": [{"n": 1}, {"n": 6}, {"n": 11}],
    "matmul_i8": [{}],
    "windows": [{"n": 5}, {"n": 7}],
    "branches": [{"n": n, "up": up} for n in (1, 2, 3, 9) for up in (0, 1)],
    "configured": [{}],
    "divisions": [{}],
    "ranges": [{"n": n} for n in (6, 9, 13)],
    "chains": [{}],
    "temporaries": [{"n": 1}, {"n": 2}, {"n": 7}],
}
"""Values of the control arguments each kernel is called with."""


@cache
def source(name: str) -> Source:
    """A file of `procs`; several tests share most of them, and loading one takes up to a third of
    a second."""
    return load_source(PROCS / f"{name}.py")


@dataclass(frozen=True)
class Procedures(Mapping[str, Any]):
    """Those of a file of `procs`, loaded at the first use: collecting tests takes their names
    alone, which are read from the text."""

    file: str

    @cached_property
    def _names(self) -> list[str]:
        text = (PROCS / f"{self.file}.py").read_text()
        return re.findall(r"^@proc\ndef (\w+)", text, re.MULTILINE)

    def __getitem__(self, name: str) -> Any:
        return source(self.file).procs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def kernels() -> Mapping[str, Any]:
    procs = source("kernels").procs
    return {name: procs[name] for name in CONTROLS}


def arguments(proc: q.Proc, controls: Mapping[str, int], seed: int) -> list[Any]:
    """Small whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    values: dict[int, int] = {}
    args: list[Any] = []
    for arg in proc.args:
        if arg.type in q.CONTROL_TYPES:
            values[arg.var.uid] = controls[arg.var.name]
            args.append(controls[arg.var.name])
        else:
            shape = [q.evaluate_affine(n, lambda var: values[var.uid]) for n in arg.shape or ()]
            args.append(np.asarray(rng.integers(-3, 4, shape), DTYPES[arg.type]))
    return args


def only(transform: Transform, procedure: Any) -> tuple[Trace, State]:
    """What the one rewrite that a transform proposes makes of a procedure."""
    [rewrite] = transform.rewrites(mirror(procedure), TARGET)
    after = apply(procedure, mirror(procedure), rewrite)
    return Trace((rewrite,)), State(after, mirror(after))


def walk(
    procedure: Any, seed: int, depth: int, target: Target = TARGET
) -> Iterator[tuple[Trace, State]]:
    """States of a random legal trace, one per step; every transform is equally likely."""
    rng = random.Random(seed)
    trace, state = Trace(), State(procedure, mirror(procedure))
    for _ in range(depth):
        choices = {t.name: list(t.rewrites(state.ast, target)) for t in select(None)}
        for _ in range(12):
            name = rng.choice(sorted(name for name, found in choices.items() if found))
            rewrite = rng.choice(choices[name])
            try:
                procedure = apply(state.procedure, state.ast, rewrite, target.fp)
            except RewriteError:
                continue
            trace, state = trace.then(rewrite), State(procedure, mirror(procedure))
            yield trace, state
            break
