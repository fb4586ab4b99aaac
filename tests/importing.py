"""What this process is like, before and after something; run by `test_importing.py`."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from types import ModuleType

import exo.API
import exo.stdlib.scheduling  # noqa: F401
import ray  # noqa: F401
import yapf  # noqa: F401
import z3

import schedsearch
from schedsearch.core.machine import collect_rarely

FOREIGN = {"exo", "z3", "pysmt", "asdl_adt", "yapf"}


def state() -> dict[str, object]:
    """What a library could change for the program that imports it."""
    found: dict[str, object] = {
        "gc": (gc.get_threshold(), gc.get_freeze_count()),
        "rlimit": z3.get_param("rlimit"),
        "ctrl_c": z3.get_param("ctrl_c"),
        "environment": dict(os.environ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "recursion": sys.getrecursionlimit(),
    }
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in FOREIGN:
            found |= {f"{name}.{key}": id(value) for key, value in attributes(module)}
    return found


def attributes(module: ModuleType) -> list[tuple[str, object]]:
    """Of a module and of its classes."""
    own = [(key, value) for key, value in vars(module).items() if not isinstance(value, ModuleType)]
    return own + [
        (f"{name}.{key}", value)
        for name, kind in own
        if isinstance(kind, type)
        for key, value in [*vars(kind).items(), ("__class__", kind.__class__)]
        if not key.startswith("_abc_")
    ]


def changed(by: Callable[[], None]) -> set[str]:
    before = state()
    by()
    after = state()
    return {key for key in before if after.get(key) != before[key]}


def import_all() -> None:
    for found in pkgutil.walk_packages(schedsearch.__path__, "schedsearch."):
        if "migrations" not in found.name:  # scripts, which Alembic runs
            importlib.import_module(found.name)


def prepare_all() -> None:
    from schedsearch.transforms.exo.compat import prepare

    prepare()
    collect_rarely()


if __name__ == "__main__":
    print(*sorted(changed({"import": import_all, "prepare": prepare_all}[sys.argv[1]])))
    print(gc.get_freeze_count(), gc.get_threshold()[0])
