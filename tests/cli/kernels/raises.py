"""A file that cannot be imported."""

from __future__ import annotations

LIMIT = 1 / 0
