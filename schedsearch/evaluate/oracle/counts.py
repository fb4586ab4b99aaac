"""Which loops of an instruction's C no call enters, whatever the sizes.

An instruction that takes `n` elements goes on in all its chains, then in one, then to a masked end.
If rows have 70 elements, or a multiple of 8, some of these are for other numbers: no call runs
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from schedsearch.core import ast as q

_FUNCTION = re.compile(r"^ *static .*\bvoid (\w+) ?\(")
_CALLED = re.compile(r"\b(\w+)\(")
_WHOLE = re.compile(r"^ *for \(; (?:n - l >= (\d+); l \+= \1|q \+ (\d+) <= 4 \* n; q \+= \2)\) \{$")
"""By elements, or by bytes, four of them to an element."""
_ENDS = ("if (l < n) {", "if (q < 4 * n) {")
_COMMENT = "/* relying on the following instruction"
"""Exo's, before or after the kernel, with the call of an instruction in it."""
_ALIGNED = "const long before ="


@dataclass(frozen=True)
class Count:
    """Numbers of elements that a call may have: `first`, and all that differ from it by multiples
    of `step`; one number if that is 0."""

    first: int
    step: int

    def rest(self, by: int) -> int:
        """The largest rest of a division by `by`."""
        step = gcd(self.step, by)
        return self.first % by if self.step == 0 else by - step + self.first % step


def counts(kernel: q.Proc) -> dict[str, frozenset[Count]]:
    """By instruction, of those whose first argument is a number of elements."""
    found: dict[str, set[Count]] = {}
    for call in q.walk(kernel.body):
        if isinstance(call, q.Call) and call.proc.args and call.proc.args[0].type == "size":
            (number, *_) = call.args
            terms = number.terms if isinstance(number, q.Affine) else ((None, 1),)
            first = number.const if isinstance(number, q.Affine) else 0
            step = gcd(*(factor for _, factor in terms)) if terms else 0
            found.setdefault(call.proc.name, set()).add(Count(first, step))
    return {name: frozenset(each) for name, each in found.items()}


def never_entered(source: str, given: Mapping[str, frozenset[Count]]) -> Iterator[int]:
    """The numbers of the lines that open a loop or a branch which no call enters."""
    lines = source.splitlines()
    hidden = _called_elsewhere(lines)
    own: frozenset[Count] = frozenset()
    before = 0
    for number, line in enumerate(lines):
        if function := _FUNCTION.match(line):
            name = function[1]
            own, before = given.get(name, frozenset()) if name not in hidden else frozenset(), 0
        elif _ALIGNED in line:  # how many are left after these depends on addresses
            own = frozenset()
        whole = _WHOLE.match(line)
        least = (int(whole[1]) if whole[1] else int(whole[2]) // 4) if whole else 1
        opens = whole or (before and line.strip() in _ENDS)
        if own and opens and all(_most(count, before) < least for count in own):
            yield number
        before = least if whole else before


def _called_elsewhere(lines: Iterable[str]) -> set[str]:
    """Functions that others than the kernel call, with numbers that its own calls do not tell:
    those of parts for threads, and of procedures with calls of their own."""
    found, inside = set[str](), False
    for line in lines:
        if _FUNCTION.match(line):
            inside = True
        elif line.startswith(("void ", _COMMENT)):
            inside = False
        elif inside:
            found.update(_CALLED.findall(line))
    return found


def _most(count: Count, before: int) -> float:
    """Elements that are left, at most, behind a loop of `before` at a time, if there is one."""
    if before:
        return count.rest(before)
    return float("inf") if count.step else count.first
