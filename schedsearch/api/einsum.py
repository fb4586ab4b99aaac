"""`schedsearch.einsum`: NumPy's einsum, computed in the fastest way that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from schedsearch.api.equations import Backend, fastest, known_backend
from schedsearch.core.errors import UserError
from schedsearch.deploy.explanation import Explanation
from schedsearch.deploy.kernel import Kernel, lowered_kernel
from schedsearch.frontends.equations.build import Equations
from schedsearch.frontends.equations.einsum import (
    Subscripts,
    dtype_of,
    lengths_of,
    parsed,
    result_shape,
)
from schedsearch.frontends.equations.einsum import einsum as as_equations
from schedsearch.frontends.equations.stepwise import ways
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Lowered

MOST_CALLS = 4096
"""Of different shapes, layouts and types, whose ways to compute are kept."""


MOST_ROUNDS = 3e8
"""Of loops that are compiled as written, if they are to be timed: a second at most."""


class Chosen(NamedTuple):
    """What computes a call: `native` or `numpy`, and a function of the operands."""

    by: str
    run: Callable[[Sequence[Any]], Any]


class Einsum:
    """`numpy.einsum` on arrays: `einsum("ij,jk->ik", A, B)`.

    The first call with some shapes, layouts and types times compiled code (`native`), and ways to
    compute it by NumPy, and keeps the fastest (`auto`). The type of the result is NumPy's; where
    NumPy's is a view, so is this. Raises UserError for what NumPy refuses, and for types that
    kernels do not have.
    """

    def __init__(self) -> None:
        self._chosen: dict[Any, Chosen] = {}

    def __call__(self, subscripts: str, *operands: Any, backend: Backend = "auto") -> Any:
        for each in operands:
            if type(each) is not np.ndarray:
                return self(subscripts, *map(np.asarray, operands), backend=backend)
        try:
            found = self._chosen[_key(backend, subscripts, operands)]
        except (KeyError, TypeError):
            found = self.chosen(subscripts, *operands, backend=backend)
        return found.run(operands)

    def chosen(self, subscripts: str, *operands: Any, backend: Backend = "auto") -> Chosen:
        """What computes a call with such operands."""
        _check(subscripts)
        known_backend(backend)
        arrays = [np.asarray(each) for each in operands]
        key = _key(backend, subscripts, arrays)
        if key not in self._chosen:
            found = _choose(subscripts, arrays, backend)
            if len(self._chosen) >= MOST_CALLS:
                self._chosen.clear()
            self._chosen[key] = found
        return self._chosen[key]

    def lowered(self, subscripts: str, *operands: Any) -> Lowered:
        """The Exo module that computes this. Calls that come first after it was tuned time the
        schedule that was found."""
        _check(subscripts)
        return _lowered(_equations(subscripts, [np.asarray(each) for each in operands]))

    def explain(self, subscripts: str, *operands: Any) -> Explanation:
        """Which schedule the compiled code has for such operands, as `Kernel.explain`."""
        _check(subscripts)
        arrays = [np.asarray(each) for each in operands]
        of = _equations(subscripts, arrays)
        shape = result_shape(parsed(subscripts, tuple(each.ndim for each in arrays)), arrays)
        packed = map(_packed, arrays)
        return _kernel(of).explain(*packed, np.empty(shape, dtype_of(of)))

    def __repr__(self) -> str:
        return "<schedsearch.einsum>"


einsum = Einsum()


def _key(backend: Backend, subscripts: str, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What the fastest way depends on."""
    key: list[Any] = [backend, subscripts]
    for each in arrays:
        key += (each.shape, each.strides, each.dtype, each.flags.aligned)
    return tuple(key)


def _check(subscripts: str) -> None:
    if not isinstance(subscripts, str):
        raise UserError("einsum: its first argument is a string, such as 'ij,jk->ik'")


def _equations(subscripts: str, arrays: Sequence[Any]) -> Equations:
    return as_equations(subscripts, [(each.shape, each.dtype) for each in arrays])


@cache
def _lowered(of: Equations) -> Lowered:
    return lower(of.graph)


@cache
def _kernel(of: Equations) -> Kernel:
    """One for all shapes of the same equations."""
    return lowered_kernel(_lowered(of))


def _choose(subscripts: str, arrays: Sequence[Any], backend: Backend) -> Chosen:
    if any(not each.size for each in arrays):
        # kernels have one element at least
        return Chosen("numpy", lambda operands: np.einsum(subscripts, *operands))
    of = _equations(subscripts, arrays)
    found = parsed(subscripts, tuple(each.ndim for each in arrays))
    if backend != "native" and len(arrays) == 1 and {*found.operands[0]} == {*found.result}:
        return Chosen("numpy", _viewed(subscripts, found))
    choices = []
    if backend != "native":
        choices += [Chosen("numpy", way) for way in _by_numpy(subscripts, found, arrays, of)]
    if backend == "native" or (backend == "auto" and _may_win(subscripts, arrays, of)):
        choices.append(Chosen("native", _native(found, arrays, of)))
    return fastest({each: partial(each.run, arrays) for each in choices})


def _may_win(subscripts: str, arrays: Sequence[Any], of: Equations) -> bool:
    """Whether compiled code is worth a try: long loops are, if it has a schedule."""
    shapes = [each.shape for each in arrays]
    lengths = lengths_of(parsed(subscripts, tuple(map(len, shapes))), shapes)
    rounds = sum(prod(lengths[name] for name in each.indices) for each in of.meant)
    return rounds <= MOST_ROUNDS or (einsum.explain(subscripts, *arrays).choice.offer is not None)


def _viewed(subscripts: str, found: Subscripts) -> Callable[..., Any]:
    [axes] = found.operands
    if not axes:
        return lambda operands: operands[0][()]
    if len(axes) > len(found.result):
        return lambda operands: np.einsum(subscripts, *operands)
    places = tuple(axes.index(name) for name in found.result)
    return lambda operands: operands[0].transpose(places)


def _by_numpy(
    subscripts: str, found: Subscripts, arrays: Sequence[Any], of: Equations
) -> list[Callable[..., Any]]:
    """Ways on operands of one type: NumPy computes what is between in narrower ones."""
    dtype = dtype_of(of)
    of_one_type = [each.astype(dtype, copy=False) for each in arrays]
    shapes, strides = ([*map(attrgetter(name), of_one_type)] for name in ("shape", "strides"))
    path = np.einsum_path(subscripts, *of_one_type, optimize=True)[0]
    known = [
        *ways(found, shapes, strides, dtype),
        lambda operands: np.einsum(subscripts, *operands, optimize=path),
    ]
    if all(each.dtype == dtype for each in arrays):
        return known
    return [
        lambda operands, way=way: way([each.astype(dtype, copy=False) for each in operands])
        for way in known
    ]


def _packed(array: Any) -> Any:
    """An array as kernels take it."""
    return np.require(array, requirements=("C", "A"))


def _native(found: Subscripts, arrays: Sequence[Any], of: Equations) -> Callable[..., Any]:
    kernel, dtype, shape = _kernel(of), dtype_of(of), result_shape(found, arrays)
    packed = all(each.flags.c_contiguous and each.flags.aligned for each in arrays)

    def run(operands: Sequence[Any]) -> Any:
        result = np.empty(shape, dtype)
        if packed:
            kernel(*operands, result)
        else:
            kernel(*map(_packed, operands), result)
        return result if shape else result[()]

    return run
