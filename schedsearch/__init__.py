"""schedsearch: a schedule-search autotuner for Exo.

A schedule is a list of data (a trace); everything else finds, checks, times
or remembers traces.

From Python: `tune` searches, `explore` goes step by step, `open` shows what a store knows;
`register` makes a transform of one's own known to all three. `kernel` calls a procedure on arrays,
in the best schedule that is known, or in those of `using`; `record` counts the calls, and
`tune_recorded` searches where their time goes. Kernels can also be written as functions on NumPy
arrays (`jit`) and as equations (`program`, `einsum`). `Result` and `Candidate` are what `tune` and
`open` return; all of them raise `UserError` for what the caller can mend. `schedsearch.ext` has
what own transforms and strategies are made with.
"""

from schedsearch.core.lazy import lazily

__version__ = "0.1.0"

__all__ = [
    "Candidate",
    "Result",
    "UserError",
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
    "Candidate": "schedsearch.api.candidate:Candidate",
    "Result": "schedsearch.api.tuning:Result",
    "UserError": "schedsearch.core.errors:UserError",
    "einsum": "schedsearch.api.einsum:einsum",
    "explore": "schedsearch.api.exploring:explore",
    "ext": "schedsearch.ext",
    "jit": "schedsearch.api.jit:jit",
    "kernel": "schedsearch.deploy.kernel:kernel",
    "open": "schedsearch.api.opened:open_store",
    "program": "schedsearch.api.equations:program",
    "record": "schedsearch.deploy.recorder:record",
    "register": "schedsearch.transforms.own:register",
    "tune": "schedsearch.api.tuning:tune",
    "tune_recorded": "schedsearch.api.recorded:tune_recorded",
    "using": "schedsearch.deploy.sources:using",
}

__getattr__, __dir__ = lazily(globals(), _PLACES)
