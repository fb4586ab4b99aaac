"""Property tests are repeatable, as in `tests/core`."""

from core import conftest as repeatable

__all__ = ["repeatable"]
