"""Commands run as in `tests/cli`, property tests as in `tests/core`."""

from cli.conftest import first, hurried, run, tuned
from core import conftest as repeatable

__all__ = ["first", "hurried", "repeatable", "run", "tuned"]
