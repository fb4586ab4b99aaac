"""Lowered programs, loaded by Exo and compiled together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transforms.native import Library

from frontends.meaning import evaluate
from schedsearch.core import ast as q
from schedsearch.frontends import graph as g
from schedsearch.frontends.lower import lower
from schedsearch.frontends.types import DTYPES
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source, pick
from schedsearch.transforms.exo.mirror import mirror


class Kernels:
    """Programs as functions, in order. `procs` are as Exo has them, `texts` their modules."""

    def __init__(self, programs: Sequence[g.Program], folder: Path) -> None:
        self.programs = programs
        self.lowered = [lower(each) for each in programs]
        codes, self.procs = [], []
        for number, each in enumerate(self.lowered):
            path = folder / f"program_{number}.py"
            path.write_text(each.text)
            procedure = pick(load_source(path), each.name)
            self.procs.append(mirror(procedure))
            code = generate_c(procedure)
            # each has its own functions: they are not those of the text before
            own = code.source.replace(" HAVE_", f" HAVE_{number}_")
            codes.append(replace(code, source=own))
        # integers wrap, as in NumPy; what overflows an `int` does too
        self.library = Library(codes, folder, ("-O1", "-fwrapv"))

    def run(self, number: int, sizes: Mapping[str, int], arrays: Sequence[Any]) -> None:
        """Arrays, in the order of the program, are changed in place."""
        left = iter(arrays)
        args = [
            sizes[each.name] if isinstance(each, q.Var) else next(left)
            for each in self.programs[number].parameters
        ]
        self.library.call(number, self.procs[number], args)

    def check(self, number: int, sizes: Mapping[str, int], seed: int) -> None:
        """The kernel does what the program means, on random data."""
        program = self.programs[number]
        known = {each: sizes[each.name] for each in program.parameters if isinstance(each, q.Var)}
        rng = np.random.default_rng(seed)
        wanted = {
            each: data(rng, each.type, [_size(n, known) for n in each.shape])
            for each in program.parameters
            if isinstance(each, g.Array)
        }
        found = [each.copy() for each in wanted.values()]
        evaluate(program, wanted, known)
        self.run(number, sizes, found)
        for array, a, b in zip(wanted, wanted.values(), found, strict=True):
            same(b, a, f"{array.name}, {sizes}, seed {seed}\n{self.lowered[number].text}")


def _size(n: q.Affine, known: Mapping[q.Var, int]) -> int:
    return q.evaluate_affine(n, lambda atom: known[atom])  # type: ignore[index]


def data(rng: np.random.Generator, kind: str, shape: Sequence[int]) -> Any:
    """Floats of moderate size, and integers of all sizes."""
    dtype = DTYPES[kind]
    if dtype.kind == "f":
        return np.asarray(rng.uniform(-2, 2, shape)).astype(dtype)
    info = np.iinfo(dtype)
    bounds = (-1000, 1000) if kind == "i32" else (info.min, info.max)
    return np.asarray(rng.integers(bounds[0], bounds[1], shape, endpoint=True)).astype(dtype)


def same(found: Any, wanted: Any, message: str) -> None:
    if wanted.dtype.kind == "f":
        eps = np.finfo(wanted.dtype).eps
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
        np.testing.assert_allclose(
            found, wanted, rtol=400 * eps, atol=400 * eps * scale, err_msg=message
        )
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=message)


def store(array: g.Array, value: g.Value, *, add: bool = False, line: int = 0) -> g.Store:
    """All of an array."""
    names = tuple(g.fresh("") for _ in value.shape)
    return g.Store(array, names, tuple(map(q.as_affine, names)), value, add, line)


def calls(function: str, *values: g.Value) -> g.Apply:
    return g.Apply(function, values, values[0].type, values[0].shape)
