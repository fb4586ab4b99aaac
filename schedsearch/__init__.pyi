# What type checkers and editors read: the entry points are loaded when they are first used.
from schedsearch import ext as ext
from schedsearch.api.candidate import Candidate
from schedsearch.api.einsum import einsum
from schedsearch.api.equations import program
from schedsearch.api.exploring import explore
from schedsearch.api.jit import jit
from schedsearch.api.opened import open_store as open
from schedsearch.api.recorded import tune_recorded
from schedsearch.api.tuning import Result, tune
from schedsearch.core.errors import UserError
from schedsearch.deploy.kernel import kernel
from schedsearch.deploy.recorder import record
from schedsearch.deploy.sources import using
from schedsearch.transforms.own import register

__version__: str
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
