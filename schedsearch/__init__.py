"""schedsearch: a schedule-search autotuner for Exo.

A schedule is a list of data (a trace); everything else finds, checks, times
or remembers traces.

From Python: `tune` searches, `explore` goes step by step, `open` shows what a store knows;
`register` makes a transform of one's own known to all three. `kernel` calls a procedure on arrays,
in the best schedule that is known, or in those of `using`; `record` counts the calls, and
`tune_recorded` searches where their time goes. Kernels can also be written as functions on NumPy
arrays (`jit`) and as equations (`program`, `einsum`).
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = [
    "einsum",
    "explore",
    "jit",
    "kernel",
    "open",
    "program",
    "record",
    "register",
    "tune",
    "tune_recorded",
    "using",
]

_PLACES = {
    "einsum": ("schedsearch.api.einsum", "einsum"),
    "explore": ("schedsearch.api.exploring", "explore"),
    "jit": ("schedsearch.api.jit", "jit"),
    "kernel": ("schedsearch.deploy.kernel", "kernel"),
    "open": ("schedsearch.api.opened", "open_store"),
    "program": ("schedsearch.api.equations", "program"),
    "record": ("schedsearch.deploy.recorder", "record"),
    "register": ("schedsearch.transforms.own", "register"),
    "tune": ("schedsearch.api.tuning", "tune"),
    "tune_recorded": ("schedsearch.api.recorded", "tune_recorded"),
    "using": ("schedsearch.deploy.sources", "using"),
}


def __getattr__(name: str) -> Any:
    """Loaded when first used: importing Exo takes a second, Ray two."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PLACES[name]
    found = globals()[name] = getattr(import_module(module), attribute)  # the next use is direct
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
