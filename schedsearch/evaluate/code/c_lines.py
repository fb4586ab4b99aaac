"""Lines of a kernel's C, with the statements of the procedure that they come from.

Exo writes a line per statement, in order, and our canonical names have the numbers of the query
AST's variables: `for (int_fast32_t i7 = ...` is the loop over the variable with uid 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from schedsearch.analysis.conditions import holds
from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.records import GeneratedC
from schedsearch.core.text import header
from schedsearch.evaluate.arguments.binding import Binding, control_values

_LOOP = re.compile(r"^for \(int_fast32_t i(\d+)(?:_\d+)? = ")
_BRANCH = re.compile(r"^if \(")
_NO_STATEMENT = re.compile(r"^(?:free\(|#pragma|;$|//|\})")


@dataclass(frozen=True)
class Line:
    """`statement` is Exo's, empty where that is not known; `runs`: how often a call executes it,
    every branch taken that sizes do not rule out; `inside` are the numbers of the loops around, the
    outermost first. `bits`: of the one element that a run computes; 0 if it computes vectors."""

    number: int
    text: str
    statement: str = ""
    runs: float = 0.0
    inside: tuple[int, ...] = ()
    bits: int = 0


@dataclass
class _Item:
    """Of a block in C: a statement, or a head with the blocks below it."""

    number: int
    text: str
    blocks: list[list[_Item]] = field(default_factory=list)


def c_lines(code: GeneratedC, proc: q.Proc, binding: Binding) -> dict[int, Line]:
    """Lines of the kernel's function, by their number in the text that is compiled."""
    items = _parsed(code)
    found: dict[int, Line] = {}
    _Mapping(dict(control_values(proc, binding)), found).block(items, proc.body, 1.0, ())
    return found


def text_lines(code: GeneratedC) -> list[str]:
    """Of the text that is compiled."""
    return f"{code.header}\n{code.source}".splitlines()


def _parsed(code: GeneratedC) -> list[_Item]:
    lines = text_lines(code)
    start = re.compile(rf"^void {re.escape(code.proc)}\(.*\{{$")
    begin = next((n for n, text in enumerate(lines) if start.match(text)), len(lines))
    top: list[_Item] = []
    stack = [top]
    for number, raw in enumerate(lines[begin + 1 :], begin + 2):
        text = raw.strip()
        if text.startswith("}"):
            stack.pop()
            if not stack:
                break
            if text.endswith("{"):  # `} else {`
                stack.append(_opened(stack[-1][-1]))
        elif text:
            item = _Item(number, text)
            stack[-1].append(item)
            if text.endswith("{"):
                stack.append(_opened(item))
    return top


def _opened(item: _Item) -> list[_Item]:
    """A new block of it."""
    item.blocks.append([])
    return item.blocks[-1]


@dataclass
class _Mapping:
    values: dict[q.Atom, int]
    found: dict[int, Line]

    def block(
        self,
        items: Sequence[_Item],
        body: Sequence[q.Stmt],
        runs: float,
        inside: tuple[int, ...],
    ) -> None:
        """Heads are found one after the other; where as many statements are between two of them in
        C as in Exo, or only one in Exo, these are known too."""
        parts = list(_parts(items))
        own = list(_statements(body))
        alike = len(parts) == len(own) and all(
            _same_head(head, stmt) for (_, head), (_, stmt) in zip(parts, own, strict=True)
        )
        for number, (plain, head) in enumerate(parts):
            statements, stmt = own[number] if alike else ([], None)
            known: list[q.Stmt | None] = [None] * len(plain)
            if len(statements) == len(plain):
                known = [*statements]
            elif len(statements) == 1:
                known = [*statements] * len(plain)
            for item, each in zip(plain, known, strict=True):
                self.add(item, each, runs, inside)
            if head is not None:
                self.head(head, stmt, runs, inside)

    def head(self, item: _Item, stmt: q.Stmt | None, runs: float, inside: tuple[int, ...]) -> None:
        within, below = runs, inside
        if _LOOP.match(item.text):
            below = (*inside, item.number)
            within = runs * (self.trips(stmt) if isinstance(stmt, q.For) else 1.0)
        self.add(item, stmt, within, below)
        bodies = q.blocks(stmt) if stmt is not None else ()
        taken = self.taken(stmt)
        for number, block in enumerate(item.blocks):
            times = within if taken in (None, number) else 0.0
            self.block(block, bodies[number] if number < len(bodies) else (), times, below)

    def taken(self, stmt: q.Stmt | None) -> int | None:
        """Which of its branches a condition takes, where the sizes decide that."""
        if not isinstance(stmt, q.If):
            return None
        try:
            held = holds(stmt.cond, self.values)
        except KeyError:
            return None
        return None if held is None else int(not held)

    def add(self, item: _Item, stmt: q.Stmt | None, runs: float, inside: tuple[int, ...]) -> None:
        text = _shown(stmt) if stmt is not None else ""
        kind = stmt.type if isinstance(stmt, q.Assign | q.Reduce) else ""
        bits = ELEMENT_TYPES[kind].bits if kind in ELEMENT_TYPES else 0
        self.found[item.number] = Line(item.number, item.text, text, runs, inside, bits)

    def trips(self, loop: q.For) -> float:
        """With outer loops in the middle of theirs. Bounds that depend on data count as one."""
        try:
            lo, hi = (q.evaluate_affine(end, self.values.__getitem__) for end in (loop.lo, loop.hi))
        except KeyError:
            lo, hi = 0, 1
        self.values[loop.iter] = (lo + hi - 1) // 2
        return float(max(hi - lo, 0))


def _shown(stmt: q.Stmt) -> str:
    text = f"{stmt.proc.name}(...)" if isinstance(stmt, q.Call) else header(stmt)
    return text + ":" * bool(q.blocks(stmt))


def _parts(items: Sequence[_Item]) -> Iterator[tuple[list[_Item], _Item | None]]:
    """Statements in a row with the head after them; None after the last."""
    plain: list[_Item] = []
    for item in items:
        if _LOOP.match(item.text) or _BRANCH.match(item.text):
            yield plain, item
            plain = []
        elif not _NO_STATEMENT.match(item.text):
            plain += _flat(item)
    yield plain, None


def _flat(item: _Item) -> Iterator[_Item]:
    """With all that is inside: braces of an instruction's own text."""
    yield item
    for block in item.blocks:
        for each in block:
            yield from _flat(each)


def _statements(body: Sequence[q.Stmt]) -> Iterator[tuple[list[q.Stmt], q.Stmt | None]]:
    """As `_parts`."""
    plain: list[q.Stmt] = []
    for stmt in body:
        if isinstance(stmt, q.For | q.If):
            yield plain, stmt
            plain = []
        elif not isinstance(stmt, q.Pass):
            plain.append(stmt)
    yield plain, None


def _same_head(item: _Item | None, stmt: q.Stmt | None) -> bool:
    if item is None or stmt is None:
        return item is None and stmt is None
    if match := _LOOP.match(item.text):
        return isinstance(stmt, q.For) and stmt.iter.uid == int(match[1])
    return isinstance(stmt, q.If)
