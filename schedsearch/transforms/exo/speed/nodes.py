"""Syntax tree nodes that are cheap to build, copy and tell apart.

Every node of Exo's trees checks the type of every field whenever it is built, by
`isinstance` on abstract classes, which Python answers in Python. The checks stay:

- a check depends on the field and the value's class alone, so that classes which passed once
  are remembered per field;
- `update` builds the copy directly instead of by `attrs.evolve`;
- the classes are given a plain metaclass: nothing is registered as a virtual subclass.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

from asdl_adt.adt import _AsdlAdtBase, _make_validator
from asdl_adt.validators import instance_of
from exo.rewrite import new_analysis_core, new_eff

_BY_CLASS = (new_analysis_core.is_type_bound, new_eff.is_type_bound)
"""Exo's own checks that look at nothing but the class of the value."""

TEXTS = 64
"""Texts remembered of a field: there are fewer operators."""

_exo_update = _AsdlAdtBase.update


class _Plain(type):
    """Metaclass whose `isinstance` is Python's own."""


def patches() -> list[tuple[Any, str, Any]]:
    found: list[tuple[Any, str, Any]] = []
    for cls in set(_subclasses(_AsdlAdtBase)):
        if type(cls) is abc.ABCMeta:
            found.append((cls, "__class__", _Plain))
        if not cls.__abstractmethods__:
            code = cls.__init__.__code__
            fields = code.co_varnames[1 : code.co_argcount]
            found.append((cls, "__init__", _init(fields, cls.__init__.__globals__)))
            found.append((cls, "update", _update(fields)))
    return found


def _subclasses(cls: Any) -> Iterator[Any]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def _init(fields: tuple[str, ...], known: dict[str, Any]) -> Callable[..., None]:
    """The constructor of a node; `known` holds asdl_adt's validator of each field."""
    lines = [f"def __init__({', '.join(('self', *fields))}):"]
    # Fields have names such as `type`: everything else starts with an underscore.
    context: dict[str, Any] = {"_type": type, "_list": list, "_map": map}
    context["_put"] = object.__setattr__
    for name in fields:
        validator = known[f"_validate_{name}"]
        passed: set[type] = set()
        context |= {f"_passed_{name}": passed, f"_check_{name}": _check(validator, passed)}
        copied = f"{name}[:]" if _parts(validator)["seq"] else name
        known_to_pass = (
            f"_type({name}) is _list and _passed_{name}.issuperset(_map(_type, {name}))"
            if _parts(validator)["seq"]
            else f"_type({name}) in _passed_{name}"
        )
        value = f"{copied} if {known_to_pass} else _check_{name}({name})"
        lines.append(f"    _put(self, {name!r}, {value})")
    exec("\n".join([*lines, "    return"]), context)
    return context["__init__"]  # type: ignore[no-any-return]


def _parts(function: Any) -> dict[str, Any]:
    """The variables that a function took from where it was defined."""
    cells = (cell.cell_contents for cell in function.__closure__)
    return dict(zip(function.__code__.co_freevars, cells, strict=True))


def _check(validator: Any, passed: set[type]) -> Callable[[Any], Any]:
    """The validator, noting in `passed` the classes of values that it returns as they are, and what
    it makes of texts (`+` becomes an `Operator`)."""
    assert validator.__code__ is _make_validator(None, False, False).__code__
    point = _parts(validator)["point_valid"]
    by_class = point in _BY_CLASS or point.__code__ is instance_of(object).__code__

    made: dict[str, Any] = {}

    def check(value: Any) -> Any:
        if type(value) is str and value in made:
            return made[value]
        valid = validator(value)
        if by_class and type(value) is str and len(made) < TEXTS:
            made[value] = valid
        if by_class:
            pairs = zip(valid, value, strict=True) if type(valid) is list else [(valid, value)]
            passed.update(type(new) for new, old in pairs if new is old)
        return valid

    return check


def _update(fields: tuple[str, ...]) -> Callable[..., Any]:
    names = frozenset(fields)

    def update(self: Any, **changes: Any) -> Any:
        """A copy with some fields changed. Raises TypeError for other names."""
        if not changes.keys() <= names:
            return _exo_update(self, **changes)
        return type(self)(
            *[changes[name] if name in changes else getattr(self, name) for name in fields]
        )

    return update
