"""Calls of rewritten functions: which functions are replaced, traced, refused, or just called."""

from __future__ import annotations

import builtins
import sys
import types as python
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from schedsearch.frontends import types
from schedsearch.frontends.jit.building import Builder
from schedsearch.frontends.jit.functions import FUNCTIONS, MAKERS, function_call, ufunc_call
from schedsearch.frontends.jit.iteration import Items, Range
from schedsearch.frontends.jit.making import converted
from schedsearch.frontends.jit.proxies import Data, Index, Mask, Undefined
from schedsearch.frontends.jit.python_builtins import BUILTINS
from schedsearch.frontends.lowered import Refusal

CHANGING = frozenset(
    {
        *("append", "extend", "insert", "pop", "remove", "clear", "update", "add", "discard"),
        *("setdefault", "sort", "reverse", "popitem", "appendleft", "popleft", "extendleft"),
        *("rotate", "fill", "__next__", "__setitem__", "send"),
    }
)
"""Methods that change what they belong to."""

FOREIGN = frozenset(
    {print, builtins.open, builtins.input, builtins.next, builtins.exec, builtins.eval}
)
RANDOM = ("random", "time", "numpy.random", "secrets", "uuid", "os", "io")
_OWN = __name__.rpartition(".")[0]


def called(
    builder: Builder,
    outside: Mapping[int, str],
    rewritten: Callable[[Any], Any],
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What a call gives. `outside` are objects from around the function, by `id`."""
    if isinstance(function, Data | Index):
        raise Refusal("a call of an array or number", "it is no function", "index it")
    if function in (isinstance, type, hasattr, callable) and args:
        return of_kind(builder, function, *args, **kwargs)
    if hashable(function) and function in BUILTINS:
        return BUILTINS[function](builder, *args, **kwargs)
    owner = getattr(function, "__self__", None)
    if isinstance(function, np.ufunc):
        if any(isinstance(each, Data | Index) for each in args):
            return ufunc_call(builder, function, "__call__", args, kwargs)
        return function(*args, **kwargs)
    if isinstance(owner, np.ufunc) and any(isinstance(each, Data | Index) for each in args):
        return ufunc_call(builder, owner, function.__name__, args, kwargs)
    if isinstance(function, type) and issubclass(function, np.generic):
        if len(args) == 1 and isinstance(args[0], Data | Index):
            return converted(builder, args[0], function)
        return function(*args, **kwargs)
    stand_ins = any(map(has_stand_in, (*args, *kwargs.values())))
    if hashable(function) and function in FUNCTIONS:
        if function in MAKERS or stand_ins:
            return function_call(builder, function, args, kwargs)
        return function(*args, **kwargs)
    _allowed(builder, outside, function, owner)
    module = getattr(function, "__module__", "") or ""
    if module.startswith("numpy") and not isinstance(function, type) and stand_ins:
        return function_call(builder, function, args, kwargs)
    if isinstance(owner, Data):
        return function(*args, **kwargs)
    original = getattr(function, "__schedsearch_function__", None)
    if original is not None:
        function = original
    return rewritten(function)(*args, **kwargs)


def of_kind(builder: Builder, function: Any, value: Any, *more: Any, **kwargs: Any) -> Any:
    """`isinstance`, `type`, `hasattr`: of what a stand-in stands for, where that is certain."""
    name = function.__name__
    words = (
        "what it is in Python is not certain here",
        "decide it outside, with other functions",
    )
    if isinstance(value, Undefined):
        value()  # raises
    if isinstance(value, Range | Items):
        raise Refusal(f"{name}() of a range", *words)
    if not isinstance(value, Data | Index):
        return function(value, *more, **kwargs)
    kinds = _kinds(builder, value)
    found: set[Any]
    if function is type:
        found = {kinds[0]} if len(kinds) == 1 and not more and not kwargs else set()
    elif function is isinstance:
        found = {issubclass(each, *more) for each in kinds}
    else:
        name = more[0] if more else "__call__"
        found = {any(name in vars(c) for c in each.__mro__) for each in kinds}
    if len(found) != 1:
        raise Refusal(f"{function.__name__}() of a number or condition", *words)
    return found.pop()


def _kinds(builder: Builder, value: Any) -> tuple[type, ...]:
    """What Python's type may be."""
    if isinstance(value, Index):
        return (int,)
    if value.ndim:
        return (np.ndarray,)
    if isinstance(value, Mask):
        return (bool, np.bool_)
    if value.weak is int or (value.weak and value.buffer.array in builder.scalars):
        return (value.weak,)
    if value.weak:  # a whole number, or not, by a branch
        return (int, float)
    return (types.DTYPES[value.type].type, np.ndarray, int, float)


def _allowed(builder: Builder, outside: Mapping[int, str], function: Any, owner: Any) -> None:
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", "") or ""
    if isinstance(owner, python.ModuleType):
        module = owner.__name__
    if hashable(function) and function in FOREIGN:
        raise Refusal(
            f"{name}()", "it would happen while the function is traced only", "leave it out"
        )
    base = f"{type(owner).__module__}" if owner is not None else ""
    if any(each == m or each.startswith(f"{m}.") for each in (module, base) for m in RANDOM):
        raise Refusal(
            f"{module or base}.{name}",
            "its value would be that of the trace, in every call",
            "compute it before, and give it as an argument",
        )
    builtin = isinstance(function, python.BuiltinMethodType | python.MethodWrapperType)
    builtin &= owner is not None and not isinstance(owner, python.ModuleType)
    if (builtin or isinstance(owner, list | dict | set)) and name in CHANGING:
        refuse_outside(outside, owner)
        if builder.symbolic:
            raise Refusal(
                f".{name} of a {type(owner).__name__} in a loop or branch",
                "it would happen once, while the function is traced",
                "assign to elements of an array",
            )
    if module.startswith("numpy.linalg") or ".linalg" in module or "fft" in module:
        raise Refusal(
            f"np.linalg.{name}" if "linalg" in module else f"{module}.{name}",
            "kernels do not call libraries",
            "write it with loops, or call it outside",
        )


def refuse_outside(outside: Mapping[int, str], value: Any) -> None:
    """Refuse to change what is from around the function."""
    if (name := outside.get(id(value))) is not None:
        raise Refusal(
            f"a change of {name}",
            "it is from around the function, and would change in the trace only",
            "return what changes it",
        )


def hashable(value: Any) -> bool:
    if isinstance(value, Data | Index):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True


def has_stand_in(value: Any) -> bool:
    if isinstance(value, Data | Index):
        return True
    if isinstance(value, tuple | list):
        return any(map(has_stand_in, value))
    if isinstance(value, slice):
        return any(map(has_stand_in, (value.start, value.stop, value.step)))
    return False


def is_users(function: Any) -> bool:
    """Whether a function is not of Python itself, or of NumPy."""
    whole = getattr(function, "__module__", "") or ""
    module = whole.split(".")[0]
    foreign = module in sys.stdlib_module_names or module == "numpy"
    return (not foreign or module == "__main__") and not whole.startswith(_OWN)
