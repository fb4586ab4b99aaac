"""Base class of objects that close when their `with` block ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closeable(ABC):
    """A context manager; its `with` block works with the object itself."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; a second call does no harm."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
