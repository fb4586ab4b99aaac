"""What a mistyped name was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from schedsearch.core.fields import brief


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """`--fp 'fst' is unknown; known: strict, fast. Did you mean 'fast'?`"""
    names = list(map(str, known))
    close = did_you_mean(given, names) if isinstance(given, str) else ""
    return f"{what} {brief(given)} is unknown; known: {', '.join(names)}{close}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`. Did you mean 'reorder'?`, to end a sentence with; empty if nothing is close."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f". Did you mean {by_lower[close[0]]!r}?" if close else ""
