"""Candidates can be `refused` by the sandbox: an older program could not read that outcome."""

from __future__ import annotations

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """No table changes: outcomes are stored as text, without a constraint."""
