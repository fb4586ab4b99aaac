"""What is around a function: globals and closures that it reads, which freeze in a trace."""

from __future__ import annotations

import dis
import sys
import types as python
from collections.abc import Iterator
from typing import Any

import numpy as np

from schedsearch.frontends.jit.rewrite import codes_of
from schedsearch.frontends.lowered import Refusal

MOST = 1000
"""Elements of lists and arrays that are compared at every call."""

_MISSING = object()
_SIMPLE = (int, float, complex, str, bytes, bool, type(None), np.generic)


class Around:
    """Values around functions, as they were before a trace. `outside`: lists and so on, by
    identity."""

    def __init__(self) -> None:
        self.places: list[tuple[str, Any, Any, Any]] = []
        self.outside: dict[int, str] = {}
        self._kept: list[Any] = []
        self._deep: set[Any] = set()

    def add(self, function: python.FunctionType, deep: bool = False) -> None:
        """What a function reads, before it is traced. `deep`: and the functions that it calls,
        which are not rewritten."""
        count = len(self._kept)
        for name in dict.fromkeys(_globals(function.__code__)):
            self._add(name, function.__globals__, name)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._add(name, cell, None)
        for value in self._kept[count:] if deep else ():
            called = getattr(value, "__schedsearch_function__", value)
            if isinstance(called, python.FunctionType) and called not in self._deep:
                module = (called.__module__ or "").split(".")[0]
                if module not in sys.stdlib_module_names - {"__main__"} and module != "numpy":
                    self._deep.add(called)
                    self.add(called, deep)

    def value(self, name: str, value: Any) -> None:
        """An argument that is neither array nor number."""
        self._add(name, {name: value}, name)

    def changed(self) -> str:
        """The name of what has changed since. Empty if nothing has."""
        for name, owner, key, was in self.places:
            now = _read(owner, key)
            if (type(now) in _AS_ONE and was == (type(now), id(now))) or snapshot(now) == was:
                continue
            return name
        return ""

    def _add(self, name: str, owner: Any, key: Any) -> None:
        value = _read(owner, key)
        self._kept.append(value)
        self.places.append((name, owner, key, snapshot(value, self.outside, name)))


_AS_ONE = (python.FunctionType, python.ModuleType, python.BuiltinFunctionType, type, np.ufunc)


def _read(owner: Any, key: Any) -> Any:
    if key is not None:
        return owner.get(key, _MISSING)
    try:
        return owner.cell_contents
    except ValueError:
        return _MISSING


def _globals(code: python.CodeType) -> Iterator[str]:
    for own in codes_of(code):
        for each in dis.get_instructions(own):
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield each.argval


def snapshot(
    value: Any, outside: dict[int, str] | None = None, name: str = "", depth: int = 3
) -> Any:
    """What tells whether a value has changed. Functions, modules and classes are themselves."""

    def inner(each: Any) -> Any:
        return snapshot(each, outside, name, depth - 1)

    if isinstance(value, _SIMPLE):
        return type(value), repr(value)
    if isinstance(value, np.ndarray):
        if value.size > MOST:
            raise Refusal(
                f"{name or 'an array'}, of {value.size} elements, from around the function",
                "calls would not see that it changes",
                "give it as an argument",
            )
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, tuple | list | set | frozenset | dict):
        if outside is not None and not isinstance(value, tuple | frozenset):
            outside[id(value)] = name
        if not depth or len(value) > MOST:
            return type(value), id(value), len(value)
        if isinstance(value, dict):
            return type(value), tuple((inner(k), inner(v)) for k, v in value.items())
        parts = tuple(map(inner, value))
        return type(value), parts if isinstance(value, tuple | list) else frozenset(parts)
    own = getattr(value, "__dict__", None)
    module = (getattr(type(value), "__module__", "") or "").split(".")[0]
    foreign = module in ("numpy", "schedsearch") or (
        module in sys.stdlib_module_names and module != "__main__"
    )
    if depth and type(own) is dict and not foreign and not isinstance(value, _AS_ONE):
        return type(value), id(value), tuple((k, inner(v)) for k, v in own.items())
    if depth and isinstance(value, python.MethodType):
        return type(value), id(value.__func__), inner(value.__self__)
    return type(value), id(value)
