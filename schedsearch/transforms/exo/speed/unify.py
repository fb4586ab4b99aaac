"""Operands of `replace`: linear equations, solved by elimination.

Exo looks for an instruction's operands as affine combinations of the variables at hand,
and asks z3 for their coefficients through PySMT: 15 to 50 ms. The equations are linear;
choices (which dimensions a window has) are tried in turn. Where several fit, windows lie
along the last dimensions; z3 takes any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from exo.rewrite.LoopIR_unification import UEq

from schedsearch.transforms.exo.speed.facts import Undecided

Linear = dict[Any, int]
"""Coefficients, not 0, by Exo symbol; that of None is the constant."""

MAX_TRIALS = 10_000
"""Choices that are tried before z3 is asked."""

_exo_solve = UEq.problem.solve


def patches() -> list[tuple[Any, str, Any]]:
    return [(UEq.problem, "solve", _solve_or_ask)]


def _solve_or_ask(problem: Any) -> dict[Any, Any] | None:
    try:
        return solve(problem)
    except Undecided:
        return _exo_solve(problem)  # type: ignore[no-any-return]


def solve(problem: Any) -> dict[Any, Any] | None:
    """Affine expressions for the holes and numbers for the choices; None if there are none.

    Raises Undecided if elimination would need fractions or too many trials.
    """
    search = _Search(frozenset(problem.holes), frozenset(problem.knowns))
    found = search.first(list(problem.preds), [], _Partial())
    if found is None:
        return None
    chosen = {case: found.chosen.get(case, 0) for case in _cases(problem.preds)}
    values = {hole: found.value(hole, search.holes) for hole in problem.holes}
    return {**{hole: _expr(values[hole], problem.knowns) for hole in problem.holes}, **chosen}


@dataclass
class _Partial:
    """Holes in terms of other holes and known variables; choices made."""

    solved: dict[Any, Linear] = field(default_factory=dict)
    chosen: dict[Any, int] = field(default_factory=dict)

    def reduce(self, value: Linear) -> Linear:
        """A value without solved holes."""
        while found := next((x for x in value if x in self.solved), None):
            factor = value[found]
            rest = {x: c for x, c in value.items() if x is not found}
            value = _add(rest, self.solved[found], factor)
        return value

    def value(self, hole: Any, holes: frozenset[Any]) -> Linear:
        """The value of a hole if holes that may have any value are 0."""
        return {x: c for x, c in self.reduce({hole: 1}).items() if x not in holes}


@dataclass
class _Search:
    holes: frozenset[Any]
    knowns: frozenset[Any]
    trials: int = 0

    def first(self, todo: list[Any], choices: list[Any], state: _Partial) -> _Partial | None:
        """The first solution of all predicates in `todo` and `choices`. Changes `state`."""
        self.trials += 1
        if self.trials > MAX_TRIALS:
            raise Undecided
        while todo:
            pred = todo.pop()
            match pred:
                case UEq.Eq():
                    if not self.assume(pred, state):
                        return None
                case UEq.Conj():
                    todo.extend(pred.preds)
                case _:
                    choices = [*choices, pred]
        if not choices:
            return state
        for number, option in self.options(choices[0], state):
            chosen = dict(state.chosen)
            if isinstance(choices[0], UEq.Cases):
                chosen[choices[0].case_var] = number
            trial = _Partial(dict(state.solved), chosen)
            if found := self.first([option], choices[1:], trial):
                return found
        return None

    def options(self, choice: Any, state: _Partial) -> Iterator[tuple[int, Any]]:
        """Exo numbers a window's dimensions such that the last ones come first."""
        if isinstance(choice, UEq.Disj):
            return enumerate(choice.preds)
        known = state.chosen.get(choice.case_var)
        return ((n, option) for n, option in enumerate(choice.cases) if known in (None, n))

    def assume(self, equation: Any, state: _Partial) -> bool:
        """Add an equation; whether there may still be a solution."""
        value = _add(_linear(equation.lhs), _linear(equation.rhs), -1)
        if not value.keys() <= self.holes | self.knowns | {None}:
            return False  # a loop variable that the operand cannot depend on
        value = state.reduce(value)
        holes = [x for x in value if x in self.holes]
        if not holes:
            return not value
        pivot = next((x for x in holes if abs(value[x]) == 1), holes[0])
        factor = value.pop(pivot)
        if abs(factor) != 1 and len(holes) > 1:
            raise Undecided
        if any(c % factor for c in value.values()):
            return False
        state.solved[pivot] = {x: -c // factor for x, c in value.items()}
        return True


def _add(one: Linear, other: Linear, factor: int) -> Linear:
    """`one + factor * other`."""
    total = dict(one)
    for x, c in other.items():
        total[x] = total.get(x, 0) + factor * c
    return {x: c for x, c in total.items() if c}


def _linear(expr: Any) -> Linear:
    match expr:
        case UEq.Const():
            return {None: expr.val} if expr.val else {}
        case UEq.Var():
            return {expr.name: 1}
        case UEq.Add():
            return _add(_linear(expr.lhs), _linear(expr.rhs), 1)
        case _:
            return _add({}, _linear(expr.e), expr.coeff)


def _cases(preds: Any) -> Iterator[Any]:
    """The variables of all choices of a dimension."""
    for pred in preds:
        match pred:
            case UEq.Conj() | UEq.Disj():
                yield from _cases(pred.preds)
            case UEq.Cases():
                yield pred.case_var
                yield from _cases(pred.cases)


def _expr(value: Linear, knowns: Any) -> Any:
    """Written as Exo does: known variables in their order, then the constant."""
    total: Any = None
    for x in knowns:
        if x in value:
            term = UEq.Var(x) if value[x] == 1 else UEq.Scale(value[x], UEq.Var(x))
            total = term if total is None else UEq.Add(total, term)
    constant = UEq.Const(value.get(None, 0))
    return constant if total is None else UEq.Add(total, constant)
