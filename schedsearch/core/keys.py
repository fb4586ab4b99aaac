"""Stable hashing: the same data gives the same key in any process."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest(text: str | bytes) -> str:
    """SHA-256 of `text`, first 32 hex digits (128 bits)."""
    data = text.encode() if isinstance(text, str) else text
    return hashlib.sha256(data).hexdigest()[:32]


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest_of(value: Any) -> str:
    """Key of a JSON-able value."""
    return digest(canonical_json(value))
