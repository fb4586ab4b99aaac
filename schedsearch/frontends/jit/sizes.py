"""What a trace knows of sizes and indices: equal ones, and the least values of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schedsearch.core import ast as q
from schedsearch.core.text import show_affine
from schedsearch.frontends.lowered import Refusal, refused
from schedsearch.frontends.views import replaced


class FreezeError(Exception):
    """These sizes have to be numbers: the trace begins again with those of the example."""

    def __init__(self, names: frozenset[q.Var], refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.names = names
        self.refusal = refusal


@dataclass
class Sizes:
    """`own` are sizes of arguments, 1 at least. `equal` says which are others'; each trace begins
    with what the one before found. Conditions are affine expressions, 0 at least; `guards` hold
    where the trace is: in a branch, in a loop that is not empty. `guarded`: one was needed.
    `branches` on sizes surround what is traced: sizes that are equal there need not be after it
    (`implied`: the condition says so; `local`: it does not, with file and line)."""

    own: set[q.Var] = field(default_factory=set)
    equal: dict[q.Var, q.Affine] = field(default_factory=dict)
    asserts: list[q.Affine] = field(default_factory=list)
    loops: list[tuple[q.Var, q.Affine, q.Affine]] = field(default_factory=list)
    guards: list[q.Affine] = field(default_factory=list)
    guarded: bool = False
    branches: int = 0
    implied: set[q.Var] = field(default_factory=set)
    local: list[tuple[q.Var, q.Affine, str, int]] = field(default_factory=list)

    def resolved(self, value: q.Affine) -> q.Affine:
        while self.equal:
            found = replaced(value, self.equal)
            if found == value:
                break
            value = found
        return value

    def lowest(self, value: q.Affine) -> q.Affine:
        """An expression of sizes that is nowhere more than `value`, or than a multiple of it."""
        value = self.resolved(value)
        while True:
            for var, lo, hi in reversed(self.loops):
                factor = value.coefficient(var)
                if factor:
                    bound = lo if factor > 0 else hi - 1
                    value = value - q.as_affine(var).scaled(factor) + bound.scaled(factor)
                    value = self.resolved(value)
            atoms = [a for a, _ in value.terms if isinstance(a, q.FloorDiv | q.Mod)]
            if not atoms:
                return value
            atom = max(atoms, key=lambda a: len(q.atom_order(a)))  # others may be within it
            factor = value.coefficient(atom)
            rest = value - q.as_affine(atom).scaled(factor)
            if isinstance(atom, q.Mod):
                value = rest + min(factor * (atom.den - 1), 0)
            else:  # times the divisor: quotients are between (n - d + 1) / d and n / d
                least = atom.num - (atom.den - 1) if factor > 0 else atom.num
                value = rest.scaled(atom.den) + least.scaled(factor)

    def never_negative(self, value: q.Affine) -> bool:
        """Whether it is shown to be 0 at least."""
        value = self.resolved(value)
        rest = [value, *(value - each for each in self.asserts)]
        if any(_least(self.lowest(each)) >= 0 for each in rest):
            return True
        known = [*self.guards, *self.asserts]
        rest = [value - each for each in self.guards]
        rest += [value - a - b for n, a in enumerate(self.guards) for b in known[n + 1 :]]
        if any(_least(self.lowest(each)) >= 0 for each in rest):
            self.guarded = True
            return True
        return False

    def need(self, value: q.Affine, refusal: Refusal) -> None:
        """Assert that it is 0 at least. Raises `refusal` where it cannot be."""
        if self.never_negative(value):
            return
        low = self.lowest(value)
        if low.is_const or not all(isinstance(a, q.Var) and a in self.own for a, _ in low.terms):
            raise refusal
        if (
            all(factor < 0 for _, factor in low.terms)
            and low.const + sum(factor for _, factor in low.terms) < 0
        ):
            raise refusal
        self.asserts = [each for each in self.asserts if _least(each - low) < 0]
        self.asserts.append(low)

    def same(self, a: q.Affine, b: q.Affine) -> bool:
        """Whether two lengths are equal, or are so from now on."""
        rest = self.resolved(a - b)
        if not rest.terms:
            return rest.const == 0
        found = [
            (atom, factor)
            for atom, factor in rest.terms
            if isinstance(atom, q.Var) and atom in self.own and abs(factor) == 1
        ]
        if not found or any(not self._is_size(atom) for atom, _ in rest.terms):
            return False
        atom, factor = max(found, key=lambda each: ("_" in each[0].name, each[0].uid))
        value = (rest - q.as_affine(atom).scaled(factor)).scaled(-factor)
        assert isinstance(atom, q.Var)
        if self.branches and self.never_negative(rest) and self.never_negative(rest.scaled(-1)):
            self.implied.add(atom)
        self.equal[atom] = value
        self.need(
            value - 1,
            Refusal(f"length {atom.name}", f"it would be {show_affine(value)}", "check the shapes"),
        )
        return True

    def check_local(self) -> None:
        """Raises UserError for sizes that a branch alone wants to be equal."""
        for var, value, file, line in self.local:
            if self.resolved(q.as_affine(var) - value) != q.Affine():
                raise refused(
                    file,
                    line,
                    f"a branch in which {var.name} has to be {show_affine(value)}",
                    "elsewhere it may be another",
                    "give the arrays the same length before it, or compare these sizes in it",
                )

    def _is_size(self, atom: q.Atom) -> bool:
        return all(var in self.own for var in q.expr_vars(atom))

    def frozen(self, values: Mapping[q.Var, int]) -> None:
        self.equal.update({var: q.Affine(value) for var, value in values.items()})


def quotients(sizes: Sizes, rest: q.Affine, refusal: Refusal) -> Exception:
    """Of lengths that differ by `rest`: those with parts of sizes, as `n / 2` and `(n + 1) / 2`,
    are equal for some sizes, which have to be numbers then."""
    rest = sizes.resolved(rest)
    names = frozenset(q.expr_vars(rest))
    divided = any(isinstance(atom, q.FloorDiv | q.Mod) for atom, _ in rest.terms)
    return FreezeError(names, refusal) if divided and names <= sizes.own else refusal


def _least(value: q.Affine) -> float:
    """Of an expression of sizes, which are 1 at least."""
    if any(factor < 0 or not isinstance(atom, q.Var) for atom, factor in value.terms):
        return -float("inf")
    return value.const + sum(factor for _, factor in value.terms)
