"""Values that have been computed before, wherever that was: in loops before as well."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from schedsearch.core import ast as q

Key = tuple[str, frozenset[Hashable]]


class EqualValues:
    """Values computed so far whose operands have not changed since. Loops of the same depth and
    range have the same variable here. `values`: what scalars stand for."""

    def __init__(self, values: Mapping[q.Var, q.Expr]) -> None:
        self.values = values
        self.computed: dict[Key, frozenset[q.Var]] = {}
        self.common: dict[tuple[int, q.Affine, q.Affine], q.Var] = {}
        self.renamed: dict[q.Var, q.Var] = {}

    def new(self, what: str, exprs: Iterable[q.Expr]) -> bool:
        """Whether it has not been computed yet; it has been from now on."""
        own = [self._renamed(expr, frozenset()) for expr in exprs]
        key = what, frozenset[Hashable](own)
        if key in self.computed:
            return False
        self.computed[key] = frozenset[q.Var]().union(*map(q.expr_vars, own))
        return True

    def enter(self, loop: q.For, depth: int, rewritten: frozenset[q.Var], configures: bool) -> None:
        """A loop begins whose iterations all write the same elements of `rewritten`."""
        for buf in rewritten:
            self.forget(buf)
        if configures:
            self.forget_all()
        place = depth, self._index(loop.lo), self._index(loop.hi)
        self.renamed[loop.iter] = self.common.setdefault(place, loop.iter)

    def forget(self, buf: q.Var) -> None:
        """It is written."""
        self.computed = {key: used for key, used in self.computed.items() if buf not in used}

    def forget_all(self) -> None:
        self.computed = {}

    def _renamed(self, expr: q.Expr, within: frozenset[q.Var]) -> q.Expr:
        def value(read: q.Read) -> q.Expr:
            if read.buf in self.values and read.buf not in within:
                return self._renamed(self.values[read.buf], within | {read.buf})
            return q.Read(read.buf, tuple(map(self._index, read.idx)), read.type)

        return q.with_reads(expr, value)

    def _index(self, index: q.Affine) -> q.Affine:
        return q.substituted(index, self._leaf)

    def _leaf(self, leaf: q.Leaf) -> q.Affine:
        return q.as_affine(self.renamed.get(leaf, leaf) if isinstance(leaf, q.Var) else leaf)
