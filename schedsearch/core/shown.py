"""Text from elsewhere, made fit to be shown."""

from __future__ import annotations

_KEPT = "\n\t"


def shown(text: str) -> str:
    """Control characters and other invisible ones become backslash escapes, except for line breaks
    and tabs. A terminal obeys some of them (colours, titles, typed text)."""
    if text.isprintable():
        return text
    return "".join(
        each if each in _KEPT or each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )
