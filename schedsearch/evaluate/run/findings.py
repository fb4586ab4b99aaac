"""What sanitizers found in a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

BUT = "but not with"
"""How the reason begins where calls were left out."""


class Finding(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One sanitizer run: `detail` has its findings, or the reason why it could not run."""

    what: str
    verdict: Finding
    detail: str = ""

    @property
    def in_part(self) -> bool:
        """Whether another time may tell more: it was not checked, or not in all calls."""
        return self.verdict is Finding.NOT_CHECKED or self.detail.startswith(BUT)

    def __str__(self) -> str:
        return f"{self.what}: {self.verdict}{f' ({self.detail})' if self.detail else ''}"
