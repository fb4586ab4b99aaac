"""Public names that are loaded when they are first used: Exo takes a second to import, Ray two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    module: dict[str, Any], places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a module, which gives its `globals()`: `places` has the
    module and the attribute of each name, as `package.module:name`, or a module alone."""

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        where, _, attribute = places[name].partition(":")
        loaded = import_module(where)
        found = module[name] = getattr(loaded, attribute) if attribute else loaded
        return found  # the next use is direct

    return find, lambda: sorted({*module, *places})
