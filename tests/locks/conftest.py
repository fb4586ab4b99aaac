"""Commands run as in `tests/cli`."""

from cli.conftest import first, hurried, run, tuned

__all__ = ["first", "hurried", "run", "tuned"]
