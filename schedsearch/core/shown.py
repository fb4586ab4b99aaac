"""Text from elsewhere, made fit to be shown."""

from __future__ import annotations

_KEPT = "\n\t"


def shown(text: str) -> str:
    """Control characters, and what else cannot be seen, as backslash escapes; but lines and
    tabs are kept. A terminal obeys some of them (colours, titles, what was typed)."""
    if text.isprintable():
        return text
    return "".join(
        each if each in _KEPT or each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )
