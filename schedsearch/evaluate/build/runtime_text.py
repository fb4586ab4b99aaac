"""The C files that kernels run in (`evaluate/runtime`)."""

from __future__ import annotations

from importlib import resources

_RUNTIME = resources.files("schedsearch.evaluate") / "runtime"


def runtime_source(name: str) -> str:
    return (_RUNTIME / name).read_text()
