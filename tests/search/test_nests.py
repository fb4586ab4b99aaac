"""Nests that are searched alone before their procedure is."""

from __future__ import annotations

from .test_session import asked, listen, options, own_home  # noqa: F401
