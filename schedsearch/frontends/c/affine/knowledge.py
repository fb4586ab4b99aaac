"""What is known of sizes and variables where a statement stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.frontends import graph
from schedsearch.frontends.c.affine import conditions
from schedsearch.frontends.c.affine.facts import holds, projected
from schedsearch.frontends.lowered import refused


class Split(Exception):
    """The statement depends on a condition on places: it becomes two."""

    def __init__(self, condition: q.Expr) -> None:
        super().__init__()
        self.condition = condition


@dataclass
class Place:
    """What is known where a statement stands: all of the facts, and one of the cases."""

    facts: conditions.Facts = ()
    cases: tuple[conditions.Facts, ...] = ((),)
    guards: tuple[graph.Condition, ...] = ()
    decided: dict[q.Expr, bool] = field(default_factory=dict)

    def with_facts(self, *facts: q.Affine) -> Place:
        return replace(self, facts=(*self.facts, *facts))

    def given(self, condition: q.Expr | bool) -> Place:
        found = conditions.cases_of(condition)
        if len(found) < 2:
            return self.with_facts(*conditions.facts_of(condition))
        return replace(self, cases=conditions.combined(self.cases, found))

    def where(self, condition: q.Expr, value: bool) -> Place:
        fact = condition if value else conditions.negated(condition)
        return replace(self.given(fact), decided={**self.decided, condition: value})

    def guarded(self, condition: graph.Condition) -> Place:
        return replace(self, guards=(*self.guards, condition))


class Knowledge:
    """What is known where a statement stands, and what the function requires of its sizes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sizes: list[q.Var] = []
        self.asserts: list[q.Expr] = []
        self.assert_facts: list[q.Affine] = []
        self.place = Place()
        self._only_types = 0

    def refusal(self, node: Any, construct: str, reason: str, instead: str) -> UserError:
        """The error of a construct that kernels do not have."""
        coord = getattr(node, "coord", None)
        file = getattr(coord, "file", None) or self.path
        return refused(file, getattr(coord, "line", 0), construct, reason, instead)

    def size_facts(self) -> list[q.Affine]:
        return [q.as_affine(size) - 1 for size in self.sizes]

    def facts(self) -> list[q.Affine]:
        """What is known here in all cases."""
        return [*self.place.facts, *self.assert_facts, *self.size_facts()]

    def cases(self) -> list[list[q.Affine]]:
        """What is known here, case by case."""
        facts = self.facts()
        return [[*case, *facts] for case in self.place.cases]

    def require(self, fact: q.Affine, node: Any, construct: str, reason: str) -> None:
        """`fact >= 0`, proven from what is around, or asserted of the sizes, or refused."""
        if self._only_types:
            return
        for case in self.place.cases:
            facts = [*case, *self.facts()]
            if not holds(fact, facts):
                rows = self.violated(fact, facts)
                self._assert_not(rows, facts, node, construct, reason)

    def _assert_not(
        self, rows: list[q.Affine], facts: list[q.Affine], node: Any, construct: str, reason: str
    ) -> None:
        """That not all of these hold. Where that would say no more than that the statement, at
        which the facts hold, is never executed, it is refused."""
        allowed: q.Expr | bool = False
        for row in rows:
            allowed = conditions.either(allowed, _asserted(row))
        opposite = [row.scaled(-1) - 1 for row in rows]
        if isinstance(allowed, bool) or all(
            projected([*facts, each], frozenset()) is None for each in opposite
        ):
            raise self.refusal(
                node,
                construct,
                reason,
                "correct the bounds, or write a condition around the statement",
            )
        self.assert_facts += opposite if len(rows) == 1 else []
        if allowed not in self.asserts:
            self.asserts.append(allowed)

    def holds(self, fact: q.Affine) -> bool:
        return all(holds(fact, case) for case in self.cases())

    def violated(self, fact: q.Affine, facts: list[q.Affine]) -> list[q.Affine]:
        """What facts say of sizes where `fact >= 0` does not hold, beyond what is known of them."""
        rows = projected([*facts, fact.scaled(-1) - 1], frozenset(self.sizes)) or ()
        known = [*self.assert_facts, *self.size_facts()]
        return [row for row in rows if not holds(row, known)]

    def kept_asserts(self) -> tuple[q.Expr, ...]:
        """The asserts that do not follow from later ones."""
        kept: list[q.Expr] = []
        for each in reversed(self.asserts):
            known = [fact for other in kept for fact in conditions.facts_of(other)]
            if not _follows(each, [*known, *self.size_facts()]):
                kept.insert(0, each)
        return tuple(kept)

    def decide(self, condition: q.Expr | bool) -> bool:
        """A condition on places, known here, or for one of the two statements that it makes."""
        if isinstance(condition, bool) or self._only_types:
            return bool(condition)
        if condition in self.place.decided:
            return self.place.decided[condition]
        known = self.known(condition)
        if isinstance(known, bool):
            return known
        raise Split(condition)

    def known(self, condition: q.Expr | bool) -> q.Expr | bool:
        """True or false if that follows from what is around."""
        if isinstance(condition, bool):
            return condition
        if not self._possible(condition):
            return False
        if not self._possible(conditions.negated(condition)):
            return True
        return condition

    def _possible(self, condition: q.Expr | bool) -> bool:
        return any(
            projected([*facts, *case], frozenset()) is not None
            for case in conditions.cases_of(condition)
            for facts in self.cases()
        )

    @contextmanager
    def only_types(self) -> Iterator[None]:
        """Nothing is required of places within: the expression is not executed."""
        self._only_types += 1
        try:
            yield
        finally:
            self._only_types -= 1


def _follows(condition: q.Expr, known: list[q.Affine]) -> bool:
    if isinstance(condition, q.BinOp) and condition.op == "or":
        return _follows(condition.lhs, known) or _follows(condition.rhs, known)
    return all(holds(fact, known) for fact in conditions.facts_of(condition))


def _asserted(row: q.Affine) -> q.Expr:
    """`row < 0` in a form that people read."""
    more = q.Affine(0, tuple((a, c) for a, c in row.terms if c > 0))
    less = q.Affine(0, tuple((a, -c) for a, c in row.terms if c < 0))
    if more.is_const:
        return q.BinOp(">", less, q.Affine(row.const), "bool")
    return q.BinOp("<", more, less - row.const, "bool")
