"""Steps of a schedule for one procedure, looked for in another.

The same transform is wanted at the place most like the one it had: path and label
(without its numbers, which are sizes). Arguments are kept where proposals there differ
in them; what all of them agree on (the lanes of a vector, say) the place dictates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import log2

from schedsearch.core.ast import Path
from schedsearch.core.trace import ArgValue, Rewrite

TRIES = 3
"""Rewrites tried for one step; a step for which none is legal is left out."""

OTHER_LABEL = 1.5
"""A statement that reads differently counts like so many differing parts of its path."""
OTHER_VALUE = 2.0
"""An argument that is no number differs by so much, numbers by the logarithm of their ratio."""


def similar(wanted: Rewrite, proposals: Sequence[Rewrite]) -> list[Rewrite]:
    """At most `TRIES` rewrites to try instead of `wanted`, the most similar first.

    `proposals` are those of its transform; the first of the answer may be none of them.
    """
    nearest = sorted(proposals, key=lambda proposal: distance(wanted, proposal))
    if not nearest:
        return []
    there = [other for other in proposals if other.path == nearest[0].path]
    kept = replace(nearest[0], args=_keep(wanted, nearest[0], there))
    return list(dict.fromkeys([kept, *nearest]))[:TRIES]


def distance(wanted: Rewrite, proposal: Rewrite) -> float:
    """How much a proposal differs from what is wanted in place and arguments."""
    label = 0.0 if _wording(wanted.label) == _wording(proposal.label) else OTHER_LABEL
    given, offered = dict(wanted.args), dict(proposal.args)
    arguments = sum(_apart(given.get(name), offered.get(name)) for name in given | offered)
    return _steps_apart(wanted.path, proposal.path) + label + arguments


def _keep(
    wanted: Rewrite, proposal: Rewrite, there: Sequence[Rewrite]
) -> tuple[tuple[str, ArgValue], ...]:
    given = dict(wanted.args)
    offered = [dict(other.args) for other in there]
    free = {name for name in given if len({args.get(name) for args in offered}) > 1}
    return tuple((name, given[name] if name in free else value) for name, value in proposal.args)


def _wording(label: str) -> str:
    return re.sub(r"\d+", "#", label)


def _steps_apart(one: Path, other: Path) -> int:
    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    return max(len(one), len(other)) - common


def _apart(one: ArgValue | None, other: ArgValue | None) -> float:
    if one == other:
        return 0.0
    numbers = [v for v in (one, other) if isinstance(v, int) and not isinstance(v, bool) and v > 0]
    return abs(log2(numbers[0] / numbers[1])) if len(numbers) == 2 else OTHER_VALUE
