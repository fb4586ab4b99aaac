"""A file without a procedure."""

from __future__ import annotations

LIMIT = 3
