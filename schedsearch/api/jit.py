"""`schedsearch.jit`: a Python function on NumPy arrays, run as a kernel."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_flag, given_path, given_place, optional
from schedsearch.core.text import show_affine
from schedsearch.deploy.explanation import Explanation
from schedsearch.deploy.kernel import Kernel, lowered_kernel
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.jit.function import (
    ArrayOf,
    Given,
    Known,
    Result,
    ScalarOf,
    SizeOf,
    Traced,
    annotated,
    place_of,
    sizes_as_data,
    trace,
)
from schedsearch.frontends.jit.sizes import FreezeError
from schedsearch.frontends.lower import lower
from schedsearch.frontends.lowered import Lowered, refused

_NAMES = {dtype: name for name, dtype in types.DTYPES.items()}

SHORT = 4
"""Rows of so many elements at most have a length that is known: the channels of a pixel, the
coordinates of a point."""


class Jitted:
    """A function that runs as a kernel: `f(A, B)`.

    The first call with some types, ranks and constants traces the function and compiles it; calls
    with other lengths use the same kernel. Arguments that the function writes are written; what it
    returns is allocated. Raises UserError, with file and line, for what no kernel can have.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        preprocess: bool,
        store: Path | str | None,
        lock: Path | str | None,
    ) -> None:
        if not inspect.isfunction(function):
            name = getattr(function, "__qualname__", repr(function))
            raise refused(
                *place_of(getattr(function, "__func__", function)),
                f"{name}, a {type(function).__name__}",
                "a kernel is made of the text of a Python function",
                "write a function by def that calls it",
            )
        update_wrapper(self, function)
        self.__schedsearch_function__ = function
        self._function = function
        self._preprocess = preprocess
        self._where = {"store": store, "lock": lock}
        self._known: dict[Any, _Specialised] = {}
        self._frozen: dict[Any, tuple[tuple[str, int | None], ...]] = {}
        kinds = {p.kind for p in self._signature.parameters.values()}
        if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            file, line = place_of(function)
            raise refused(
                file,
                line,
                f"{function.__name__}(*args)",
                "a kernel has fixed arguments",
                "name them",
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._bound(args, kwargs)
        return self._specialised(values).call(values)

    def lowered(self, *examples: Any, **named: Any) -> Lowered:
        """The kernel for arguments like these, as an Exo module, and their sizes. None are needed
        if all are annotated."""
        values = self._bound(examples, named, partly=True)
        made = self._specialised(values)
        return replace(made.lowered, sizes=made.sizes(values))

    def explain(self, *examples: Any, **named: Any) -> Explanation:
        """What a call with these arguments would run, as `Kernel.explain`."""
        values = self._bound(examples, named)
        return self._specialised(values).explain(values)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Of arguments, unless some of them have to be named."""
        parameters = self._signature.parameters.values()
        named = any(p.kind is p.KEYWORD_ONLY for p in parameters)
        return () if named else tuple(p.name for p in parameters)

    def _bound(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], partly: bool = False
    ) -> dict[str, Any]:
        if not kwargs and len(args) == len(self._names):  # the usual call, without its cost
            return {n: self._plain(n, v) for n, v in zip(self._names, args, strict=True)}
        bound = self._signature.bind_partial(*args, **kwargs) if partly else None
        bound = bound or self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return {name: self._plain(name, value) for name, value in bound.arguments.items()}

    def _plain(self, name: str, value: Any) -> Any:
        """Tensors and buffers as NumPy arrays on the same memory."""
        if type(value) in (np.ndarray, float, int):
            return value
        if isinstance(value, np.ndarray) and type(value) is not np.memmap:
            raise refused(
                *place_of(self._function),
                f"argument {name}: {type(value).__name__}",
                "its operators are not those of plain arrays",
                "give np.asarray of it, and masks as arrays of their own",
            )
        simple: Any = np.ndarray | np.generic | int | float | complex | str | tuple | list | None
        if isinstance(value, simple):
            return value
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        return value

    def __get__(self, owner: Any, kind: Any = None) -> Jitted:
        """Of a class: methods are refused, not static ones."""
        if owner is None:
            return self
        raise refused(
            *place_of(self._function),
            f"{self._function.__name__} as a method",
            "a kernel takes arrays and numbers, not an object",
            "make it a function of the arrays, or a staticmethod",
        )

    def _specialised(self, values: dict[str, Any]) -> _Specialised:
        key = tuple((name, _kind(value)) for name, value in values.items())
        while True:
            frozen = self._frozen.get(key, ())
            numbers = tuple(_number(values, name, axis) for name, axis in frozen)
            found = self._known.get((key, numbers))
            if found is None or found.traced.around.changed():
                try:
                    found = self._made(values, dict(zip(frozen, numbers, strict=True)))
                except _AgainError as again:
                    self._frozen[key] = (*frozen, *again.places)
                    continue
                self._known[key, numbers] = found
            if found.fits(values) or not (more := self._as_numbers(found, values, frozen)):
                return found
            self._frozen[key] = (*frozen, *more)

    def _as_numbers(
        self, made: _Specialised, values: dict[str, Any], frozen: tuple[tuple[str, int | None], ...]
    ) -> tuple[tuple[str, int | None], ...]:
        """Sizes that have to be numbers for what these arguments contradict, such as `x[:100]` of a
        shorter array. None, if there would be no kernel either."""
        again = tuple(each for each in made.places.values() if each not in frozen)
        if any(name not in values for name, _ in again):
            return ()
        numbers = {each: _number(values, *each) for each in (*frozen, *again)}
        try:
            self._made(values, numbers)
        except (UserError, _AgainError):
            return ()
        return again

    def _made(
        self, values: dict[str, Any], frozen: Mapping[tuple[str, int | None], int]
    ) -> _Specialised:
        given, places = self._given(values)
        numbers = {var: frozen[place] for var, place in places.items() if place in frozen}
        try:
            traced = trace(self._function, given, numbers, self._preprocess)
            for name in sizes_as_data(traced, given):
                other = {**given, name: ScalarOf("f64", int)}
                try:
                    traced = trace(self._function, other, numbers, self._preprocess)
                except (UserError, FreezeError):
                    continue
                given = other
        except FreezeError as error:
            again = tuple(places[v] for v in error.names if v in places and v not in numbers)
            known = all(place[0] in values for place in again)
            if not again or not known:
                raise error.refusal from None
            raise _AgainError(again) from None
        return _Specialised(traced, given, places, self._where, self._function)

    def _given(
        self, values: dict[str, Any]
    ) -> tuple[dict[str, Given], dict[q.Var, tuple[str, int | None]]]:
        """What each argument is, and where each size is found: an axis, or a number."""
        names: dict[str, q.Var] = {}
        places: dict[q.Var, tuple[str, int | None]] = {}
        given: dict[str, Given] = {}
        for name, parameter in self._signature.parameters.items():
            kind = annotated(self._function, names, name, parameter.annotation)
            if kind is None:
                if name not in values:
                    file, line = place_of(self._function)
                    raise refused(
                        file,
                        line,
                        f"argument {name}",
                        "its type is unknown",
                        'give an example, or annotate it ("f64[N, M]")',
                    )
                kind = _from_value(self._function, name, values[name], names)
            elif name in values:
                _check(self._function, name, kind, values[name])
            given[name] = kind
            if isinstance(kind, SizeOf):
                places[kind.var] = name, None
        for name, kind in given.items():
            for axis, n in enumerate(kind.lengths if isinstance(kind, ArrayOf) else ()):
                if (var := n.as_var) is not None:
                    places.setdefault(var, (name, axis))
        return given, places


class _AgainError(Exception):
    """These sizes have to be numbers."""

    def __init__(self, places: tuple[tuple[str, int | None], ...]) -> None:
        super().__init__()
        self.places = places


def _kind(value: Any) -> Any:
    """What a specialisation depends on. Lengths of 1 are repeated where arrays meet."""
    if isinstance(value, np.ndarray):
        shape = value.shape
        last = shape[-1] if len(shape) > 1 and shape[-1] <= SHORT else 0
        return value.dtype, last, tuple([n if n <= 1 else 0 for n in shape])
    if type(value) is int and value > 1:
        return int
    if type(value) is float:
        return float
    if isinstance(value, np.floating):
        return type(value)
    return type(value), repr(value) if not callable(value) else id(value)


def _number(values: dict[str, Any], name: str, axis: int | None) -> int:
    value = values[name]
    return int(value) if axis is None else int(value.shape[axis])


def _from_value(function: Any, name: str, value: Any, names: dict[str, q.Var]) -> Given:
    def refuse(construct: str, reason: str, instead: str) -> UserError:
        return refused(*place_of(function), f"argument {name}: {construct}", reason, instead)

    if isinstance(value, np.ndarray | np.floating):
        truth = value.dtype == bool
        if value.dtype not in _NAMES and not truth:
            raise refuse(
                f"{value.dtype}",
                f"kernels have {', '.join(map(str, _NAMES))}",
                "convert it with astype",
            )
        kind = "ui8" if truth else _NAMES[value.dtype]
        if isinstance(value, np.ndarray) and not value.ndim:
            raise refuse("an array of rank 0", "kernels do not write it", "give a number")
        if not value.ndim:
            return ScalarOf(kind)
        if 0 in value.shape:
            raise refuse("an empty array", "lengths are 1 at least", "give it elements")
        lengths = [
            q.Affine(n)
            if n == 1 or (0 < axis == value.ndim - 1 and n <= SHORT)
            else q.as_affine(g.fresh(f"{name}_{axis}"))
            for axis, n in enumerate(value.shape)
        ]
        return ArrayOf(kind, tuple(lengths), truth)
    if type(value) is int and value > 1:
        return SizeOf(names.setdefault(name, g.fresh(name)))
    if type(value) is float:
        return ScalarOf("f64", float)
    if isinstance(value, complex):
        raise refuse("a complex number", "kernels have none", "give both parts")
    if not _is_constant(value):
        raise refuse(
            type(value).__name__, "it is neither an array nor a constant", "give what it holds"
        )
    return Known(value)


def _is_constant(value: Any) -> bool:
    """What a specialisation may depend on: its text tells all of it, or it cannot change."""
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(_is_constant(each) for pair in value.items() for each in pair)
    simple = bool | int | float | str | bytes | np.generic | np.dtype | type | None
    return isinstance(value, simple) or callable(value)


def _check(function: Any, name: str, kind: Given, value: Any) -> None:
    """An argument against its annotation."""
    match kind:
        case ArrayOf() if isinstance(value, np.ndarray) and value.ndim == len(kind.lengths):
            fits = value.dtype == (np.bool_ if kind.truth else types.DTYPES[kind.type])
        case ScalarOf():
            simple: Any = int | float | np.integer | np.floating | np.bool_
            fits = isinstance(value, simple) or (
                isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind in "biuf"
            )
        case SizeOf():
            fits = isinstance(value, int | np.integer)
        case _:
            fits = False
    if not fits:
        got = f"{value.dtype} of rank {value.ndim}" if isinstance(value, np.ndarray) else value
        raise TypeError(
            f"{function.__name__}, argument {name}: it is annotated otherwise; got {got}"
        )


@dataclass(frozen=True, eq=False)
class _Specialised:
    """A function for arguments of some types, ranks and constants."""

    traced: Traced
    given: Mapping[str, Given]
    places: Mapping[q.Var, tuple[str, int | None]]
    where: Mapping[str, Any]
    function: Callable[..., Any]
    results: dict[tuple[int, ...], tuple[tuple[str, list[int], Any], ...]] = field(
        default_factory=dict
    )
    """What is allocated, by sizes."""

    @cached_property
    def lowered(self) -> Lowered:
        return lower(self.traced.program)

    @cached_property
    def kernel(self) -> Kernel:
        return lowered_kernel(self.lowered, **self.where)

    def sizes(self, values: dict[str, Any]) -> dict[str, int]:
        """The kernel's sizes, by name, as far as these arguments tell them."""
        pairs = zip(self.lowered.parameters, self.traced.program.parameters, strict=True)
        of = {n: self.places[p] for n, p in pairs if isinstance(p, q.Var) and p in self.places}
        return {n: _number(values, *place) for n, place in of.items() if place[0] in values}

    @cached_property
    def named(self) -> tuple[tuple[str, q.Var], ...]:
        """Sizes that no shape tells, which the kernel is given by name."""
        parameters = self.traced.program.parameters
        told = {n.as_var for each in parameters if isinstance(each, g.Array) for n in each.shape}
        pairs = zip(self.lowered.parameters, parameters, strict=True)
        return tuple((n, p) for n, p in pairs if isinstance(p, q.Var) and p not in told)

    def fits(self, values: dict[str, Any]) -> bool:
        """Whether sizes are such as it requires, as far as these arguments tell them."""
        if any(name not in values for name, _ in self.places.values()):
            return True
        sizes = {var: _number(values, *place) for var, place in self.places.items()}
        try:
            return tuple(sizes.values()) in self.results or bool([self._results(sizes)])
        except ValueError:
            return False

    def call(self, values: dict[str, Any]) -> Any:
        arrays, sizes, results = self._arguments(values)
        if self.traced.program.body:
            self.kernel(*arrays, **{name: sizes[var] for name, var in self.named})
        return self._result(self.traced.result, values, sizes, results)

    def explain(self, values: dict[str, Any]) -> Explanation:
        arrays, sizes, _ = self._arguments(values)
        return self.kernel.explain(*arrays, **{name: sizes[var] for name, var in self.named})

    def _arguments(
        self, values: dict[str, Any]
    ) -> tuple[list[Any], dict[q.Var, int], dict[str, Any]]:
        """The kernel's arguments, and sizes. Raises ValueError if sizes contradict each other."""
        sizes = {
            var: int(values[name]) if axis is None else values[name].shape[axis]
            for var, (name, axis) in self.places.items()
        }
        numbers = tuple(sizes.values())
        if (made := self.results.get(numbers)) is None:
            made = self.results[numbers] = self._results(sizes)
        results = {name: np.empty(shape, dtype) for name, shape, dtype in made}
        arrays = [self._argument(name, values[name]) for name in self.traced.arguments]
        return [*arrays, *results.values()], sizes, results

    def _results(self, sizes: dict[q.Var, int]) -> tuple[tuple[str, list[int], Any], ...]:
        """Name, shape and dtype of what is allocated for these sizes, which are checked."""
        for var, value in self.traced.equal.items():
            wanted = _evaluated(value, sizes, self.traced.equal)
            if var in sizes and wanted != sizes[var]:
                name, axis = self.places[var]
                what = name if axis is None else f"{name}.shape[{axis}]"
                file, line = place_of(self.function)
                raise ValueError(
                    f"{file}:{line}: {self.traced.program.name}: {what} is {sizes[var]}, and has "
                    f"to be {wanted}"
                )
        self._check(sizes)
        return tuple(
            (
                name,
                [_evaluated(n, sizes, self.traced.equal) for n in each.lengths] or [1],
                types.DTYPES[each.type],
            )
            for name, each in self.traced.results.items()
        )

    def _check(self, sizes: Mapping[q.Var, int]) -> None:
        """Conditions on sizes, in the user's words."""
        for condition in self.traced.program.asserts:
            assert isinstance(condition, q.BinOp)
            assert isinstance(condition.lhs, q.Affine)
            if _evaluated(condition.lhs, dict(sizes), self.traced.equal) >= 0:
                continue
            names, got = {}, []
            for var in sorted(q.expr_vars(condition.lhs), key=lambda var: var.uid):
                if var in self.places:
                    name, axis = self.places[var]
                    what = name if axis is None else f"{name}.shape[{axis}]"
                    got.append(f"{what} is {sizes[var]}")
                    names[var.name] = what
            shown = show_affine(condition.lhs)
            shown = re.sub(r"\w+", lambda found: names.get(found[0], found[0]), shown)  # noqa: B023
            file, line = place_of(self.function)
            raise ValueError(
                f"{file}:{line}: {self.traced.program.name}: {', '.join(got)}, and "
                f"{shown} >= 0 has to hold (of an index, slice, length or type)"
            )

    def _argument(self, name: str, value: Any) -> Any:
        match self.given[name]:
            case ScalarOf():
                return value if type(value) is float else float(value)
            case ArrayOf(truth=True):
                return value.view(np.uint8)
            case _:
                return value

    def _result(
        self,
        result: Result,
        values: dict[str, Any],
        sizes: dict[q.Var, int],
        results: dict[str, Any],
    ) -> Any:
        match result.kind:
            case "tuple" | "list":
                found = [self._result(each, values, sizes, results) for each in result.parts]
                return tuple(found) if result.kind == "tuple" else found
            case "argument":
                return self._seen(result, values[result.name], sizes)
            case "size":
                return _evaluated(result.value, sizes, self.traced.equal)
            case "made":
                array = results[result.name]
                if result.truth:
                    array = array.view(np.bool_)
                if result.lengths:
                    return self._seen(result, array, sizes)
                return float(array[0]) if result.value else array[0]
            case _:
                return result.value

    def _seen(self, result: Result, array: Any, sizes: dict[q.Var, int]) -> Any:
        """In the shape that the function gives it."""
        if result.seen is None:
            return array
        return array.reshape([_evaluated(n, sizes, self.traced.equal) for n in result.seen])


def _evaluated(value: q.Affine, sizes: dict[q.Var, int], equal: Mapping[q.Var, q.Affine]) -> int:
    def of(atom: q.Atom) -> int:
        assert isinstance(atom, q.Var)
        if atom in sizes:
            return sizes[atom]
        return _evaluated(equal[atom], sizes, equal)

    return q.evaluate_affine(value, of)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    preprocess: bool = True,
    store: Path | str | None = None,
    lock: Path | str | None = None,
) -> Any:
    """Run a Python function on NumPy arrays as a kernel; a decorator.

    Its loops, branches and NumPy's functions become an Exo procedure (`lowered`), which `kernel`
    calls in the best schedule that is known. Types come from annotations (`"f64[N, M]"`), or from
    the arguments of the first call; lengths may differ from call to call. `preprocess=False` only
    traces the function, and refuses branches and loops that depend on arguments. `store` and `lock`
    are those of `kernel`. Raises UserError for what is no function of Python's `def`; what no
    kernel can have raises it in the first call, with file and line.
    """
    given_flag("preprocess", preprocess)
    optional(given_place, "store=", store)
    optional(given_path, "lock=", lock)
    if function is None:
        return lambda each: Jitted(each, preprocess, store, lock)
    return Jitted(function, preprocess, store, lock)
