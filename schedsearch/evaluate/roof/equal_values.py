"""Values that have been computed before, wherever that was: in loops before as well."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from schedsearch.core import ast as q

Key = tuple[str, frozenset[Hashable]]


class EqualValues:
    """Values computed so far whose operands have not changed since. Loops of the same range have
    the same variable here, and elements some places apart along a loop are the same."""

    def __init__(self) -> None:
        self.computed: dict[Key, frozenset[q.Var]] = {}
        self.common: dict[tuple[q.Affine, q.Affine], q.Var] = {}
        self.renamed: dict[q.Var, q.Var] = {}

    def new(self, what: str, exprs: Iterable[q.Expr]) -> bool:
        """Whether it has not been computed yet; it has been from now on."""
        own = [self._renamed(expr) for expr in exprs]
        key = what, frozenset[Hashable](own)
        if key in self.computed:
            return False
        self.computed[key] = frozenset[q.Var]().union(*map(q.expr_vars, own))
        return True

    def enter(self, loop: q.For, rewritten: frozenset[q.Var], configures: bool) -> None:
        """A loop begins whose iterations all write the same elements of `rewritten`."""
        for buf in rewritten:
            self.forget(buf)
        if configures:
            self.forget_all()
        place = self._index(loop.lo), self._index(loop.hi)
        self.renamed[loop.iter] = self.common.setdefault(place, loop.iter)

    def forget(self, buf: q.Var) -> None:
        """It is written."""
        self.computed = {key: used for key, used in self.computed.items() if buf not in used}

    def forget_all(self) -> None:
        self.computed = {}

    def _renamed(self, expr: q.Expr) -> q.Expr:
        if isinstance(expr, q.USub):  # as many exponentials of it
            return self._renamed(expr.arg)

        def value(read: q.Read) -> q.Expr:
            places = (self._index(index) for index in read.idx)
            here = tuple(at if at.is_const else at - at.const for at in places)
            return q.Read(read.buf, here, read.type)

        return q.with_reads(expr, value)

    def _index(self, index: q.Affine) -> q.Affine:
        return q.substituted(index, self._leaf)

    def _leaf(self, leaf: q.Leaf) -> q.Affine:
        return q.as_affine(self.renamed.get(leaf, leaf) if isinstance(leaf, q.Var) else leaf)
