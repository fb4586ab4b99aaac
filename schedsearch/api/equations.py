"""`schedsearch.program`: equations that run on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeVar, overload

import numpy as np

from schedsearch.core.errors import UserError
from schedsearch.core.given import given_text
from schedsearch.core.suggest import unknown
from schedsearch.core.text_file import read_text
from schedsearch.deploy.kernel import Kernel, lowered_kernel
from schedsearch.frontends.equations import equations
from schedsearch.frontends.equations import explain as explained
from schedsearch.frontends.equations.arraywise import elements, has_all, planned
from schedsearch.frontends.equations.build import Equations
from schedsearch.frontends.equations.calling import Known, named, results, sizes
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Lowered

Backend = Literal["auto", "native", "numpy"]
_Name = TypeVar("_Name")
BACKENDS = ("auto", "native", "numpy")

PATIENCE_S = 0.01
"""For timing one of several ways to compute, unless a call takes longer."""

ROUNDS = 5
"""In which they are timed, so that a disturbance does not decide."""

CLEARLY = 0.96
"""Of a time, for a later way to be taken."""

MOST_ELEMENTS = 1e7
"""Of an array on the way, if NumPy is to be tried."""

_Results = Mapping[str, tuple[list[int], Any]]


def known_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise UserError(unknown("backend", backend, BACKENDS))


def fastest(ways: Mapping[_Name, Callable[[], Any]]) -> _Name:
    """Which of some ways to compute the same is fastest: by the least time of each, in rounds. An
    earlier one is kept unless a later one is clearly faster."""
    if len(ways) == 1:
        return next(iter(ways))
    for way in ways.values():
        way()  # compiles, and brings the arrays into caches
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            best[name] = min(best[name], _least(way))
    names = iter(ways)
    found = next(names)
    for name in names:
        if best[name] < CLEARLY * best[found]:
            found = name
    return found


def _least(way: Callable[[], Any]) -> float:
    """Of the calls in a round."""
    best, began = float("inf"), perf_counter()
    while (start := perf_counter()) - began < PATIENCE_S / ROUNDS:
        way()
        best = min(best, perf_counter() - start)
    return best


class Program:
    """Equations that are called on arrays. `schedsearch.tune` takes it too."""

    def __init__(self, of: Equations) -> None:
        of.graph  # noqa: B018  # refuses what no backend computes
        self.equations = of

    @cached_property
    def lowered(self) -> Lowered:
        """The Exo module that the equations are."""
        return lower(self.equations.graph)

    @overload
    def explain(self) -> str: ...
    @overload
    def explain(self, *, json: Literal[False]) -> str: ...
    @overload
    def explain(self, *, json: Literal[True]) -> dict[str, Any]: ...

    def explain(self, *, json: bool = False) -> str | dict[str, Any]:
        """What is computed: sources, equations with their indices and projections, sinks."""
        as_asked = explained.as_json if json else explained.as_text
        return as_asked(self.equations, self.lowered)

    def compile(self, backend: Backend = "auto") -> Compiled:
        """A function on arrays: compiled code (`native`), NumPy, or for every shape the one that
        is faster when it is called first (`auto`)."""
        return Compiled(self, backend)

    @cached_property
    def _compiled(self) -> Compiled:
        return self.compile()

    def __call__(self, *arrays: Any, **more: Any) -> Any:
        """The results for these inputs, by position or by name: those of `out:`, as it has them,
        or in the order of the equations. An array that is given and written (`+=`) is changed."""
        return self._compiled(*arrays, **more)

    def __repr__(self) -> str:
        of = self.equations
        return f"<equations {of.name}: {', '.join(of.inputs)} -> {', '.join(of.returned)}>"


class Compiled:
    """A program with its ways to compute, and which is taken: `chosen`, by shapes. Compiled code
    runs schedules as kernels do (`schedsearch.kernel`). Shapes that were called before
    keep what they run: compile again after a search."""

    def __init__(self, program: Program, backend: Backend) -> None:
        known_backend(backend)
        self._of = program.equations
        if backend == "numpy" and not has_all(self._of):
            raise UserError("NumPy has not all of these functions; use the backend native")
        self._program, self._backend = program, backend
        self._planned: dict[tuple[int, ...], Callable[[Mapping[str, Any]], None]] = {}
        self.chosen: dict[tuple[tuple[int, ...], ...], str] = {}
        self._known: dict[tuple[tuple[int, ...], ...], tuple[Known, _Results]] = {}

    def __call__(self, *arrays: Any, **more: Any) -> Any:
        of = self._of
        held = named(of, arrays, more)
        shapes = tuple([each.shape for each in held.values()])
        if shapes not in self._known:
            known = sizes(of, held)
            self._known[shapes] = known, results(of, known)
        known, made = self._known[shapes]
        held |= {name: np.empty(*each) for name, each in made.items()}
        if shapes not in self.chosen:
            self.chosen[shapes] = self._choose(held, known)
        self._run(self.chosen[shapes], held, known)
        for name, path in of.sinks.items():
            _save(path, held[name])
        found = [held[n] if n in of.inputs else held[n][()] for n in of.returned]
        return found[0] if len(found) == 1 else tuple(found)

    @cached_property
    def kernel(self) -> Kernel:
        """The procedure as a function on arrays, its sizes and its results."""
        return lowered_kernel(self._program.lowered)

    def _choose(self, held: Mapping[str, Any], known: Known) -> str:
        if self._backend != "auto":
            return self._backend
        if not has_all(self._of) or elements(self._of, known) > MOST_ELEMENTS:
            return "native"
        trial = dict(held)
        for name in self._of.outputs:
            trial[name] = held[name].copy()
        return fastest({way: partial(self._run, way, trial, known) for way in BACKENDS[1:]})

    def _run(self, way: str, held: Mapping[str, Any], known: Known) -> None:
        if way == "native":
            self._native(held, known)
        else:
            key = tuple(known.values())
            if key not in self._planned:
                self._planned[key] = planned(self._of, known)
            self._planned[key](held)

    def _native(self, held: Mapping[str, Any], known: Known) -> None:
        # sizes that shapes tell may be given as well
        call = {self._renamed[name]: array for name, array in held.items()}
        self.kernel(**call, **{self._renamed[var.name]: n for var, n in known.items()})

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """What parameters are called in the procedure, where that is not their own name."""
        graph = self._of.graph
        names = [each.name for each in graph.parameters]
        return dict(zip(names, self._program.lowered.parameters, strict=True))


def _save(path: Path, array: Any) -> None:
    try:
        np.save(path, array, allow_pickle=False)
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}; choose another place"
        ) from error


def program(
    text: str | Path,
    *,
    types: Mapping[str, str] | None = None,
    default: str = "f32",
    name: str = "equations",
) -> Program:
    """Equations as a function on arrays: `C[i,j] = A[i,k] * B[k,j]`, one a line; a path is that of
    a file of them. Indices on the right alone are summed, term by term; `max=`, `min=` and `prod=`
    project by that. `types` are types of arrays by name (f16, f32, f64, i8, ui8, ui16, i32),
    `default` is that of others. Raises UserError for what is refused, with line and column.
    """
    if not isinstance(text, str | Path):
        raise UserError(f"equations are a text, or the path of a file, not {type(text).__name__}")
    if not isinstance(types, Mapping | None):
        raise UserError(f"types {types!r}: give types by name, for example {{'A': 'f64'}}")
    given_text("default", default)
    given_text("name", name)
    if isinstance(text, Path):
        folder, file, text = text.parent, str(text), read_text(text)
    else:
        folder, file = Path(), name
    made = equations(text, types=types, default=default, name=name, file=file, folder=folder)
    return Program(made)
