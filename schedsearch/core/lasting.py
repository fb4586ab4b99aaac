"""What C keeps between calls, which its callers have to know."""

from __future__ import annotations

import re

from schedsearch.core.records import GeneratedC

NOT_REENTRANT = "not re-entrant"

# Variables that keep their values between calls, unless each thread has its own.
_LASTING = re.compile(
    r"^[ \t]*static (?!.*\b(?:const|_Thread_local|__thread)\b)"
    r"(?P<declared>(?:\[[^]]*\]|[^][(){};=])+)(?:=[^;]*)?;",
    re.MULTILINE,
)
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^]]*\]\s*)*(?:,|$)")


def lasting_memory(source: str) -> tuple[str, ...]:
    """Names of the variables in C that are there once for all calls, so that two calls at the
    same time share them."""
    found = _LASTING.finditer(source)
    return tuple(name for match in found for name in _DECLARED.findall(match["declared"].strip()))


def caveats(code: GeneratedC) -> tuple[str, ...]:
    """What makes a kernel less than others, to be said wherever it is offered."""
    names = lasting_memory(code.source)
    if not names:
        return ()
    return (
        f"{NOT_REENTRANT}: it keeps {', '.join(names)} in static memory; only one thread at a "
        "time may call it",
    )
