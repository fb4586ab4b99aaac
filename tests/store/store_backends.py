"""The backends that the contract is checked of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from schedsearch.store import Store

BACKENDS: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda directory: Store.open(directory / "tuning.sqlite"),
}
"""How to open, again and again, one store that keeps its data in a directory."""

Reopen = Callable[[], Store]
