"""Operations that each statement needs, and the loops that they cannot be moved out of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from schedsearch.analysis.accesses import written_buffers
from schedsearch.analysis.contractions import (
    LONG,
    MAX_FACTORS,
    Loops,
    Order,
    best_order,
    with_bounds,
)
from schedsearch.analysis.reduction import reduction
from schedsearch.analysis.shared_windows import shared_windows
from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS, known_type
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.functions import FUNCTIONS
from schedsearch.evaluate.roof.equal_values import EqualValues
from schedsearch.evaluate.roof.kinds import DIVISION, ROOT, unit_of

Needs = Counter[tuple[str, Loops]]
"""How many operations, by type and the loops that they cannot be moved out of."""

_SUMS, _PRODUCTS = frozenset("+-"), frozenset("*/")

_LARGEST = 500
"""Nodes of a value that is looked through."""

_ROOTS = ("sqrt", "sqrt_")
_ONE_IN_A_PRODUCT = {"sqrt": "sqrt", "sqrt_": "sqrt", "exp": "exp", "expf": "exp", "pow_": "pow"}
"""Functions of which compilers make one where two are multiplied."""

_TOGETHER = {"sin_": "sin", "cos": "sin", "exp": "expf", "sigmoid_": "sigmoid"}
"""Functions that are computed with another one of the same number."""

_FOLDED = ("exp", "expf", "log", "log1p", "expm1", "pow_", *_ROOTS)
"""Functions of which compilers simplify others: `log(exp(x))`."""

_NO_DIVISION = frozenset(_ONE_IN_A_PRODUCT)
"""Functions whose reciprocal takes no longer than they do."""


def operations(proc: q.Proc, fp: FloatingPoint) -> Mapping[int, Needs]:
    """Operations of each assignment and reduction of an inlined procedure, by the statement's
    identity: equal statements may be in several places. Factors leave sums under `fast` alone."""
    scan = _Scan(proc, fp)
    scan.block(proc.body, ())
    return scan.found


@q.per_node
def _written(loop: q.For) -> frozenset[q.Var]:
    return written_buffers(loop.body)


@q.per_node
def _rewritten(loop: q.For) -> frozenset[q.Var]:
    """Arrays of which a loop writes the same elements in each iteration, scalars among them."""
    stores = (stmt for stmt in q.walk(loop.body) if isinstance(stmt, q.Assign | q.Reduce))
    return frozenset(
        stmt.buf for stmt in stores if not any(loop.iter in q.expr_vars(at) for at in stmt.idx)
    )


class _Scan:
    def __init__(self, proc: q.Proc, fp: FloatingPoint) -> None:
        self.fp = fp
        self.found: dict[int, Needs] = {}
        self.values = _only_values(proc)
        self.roots = _only_roots(proc)
        self.sizes = dict[q.Var, int]()
        self.scalars = dict[tuple[q.Var, tuple[int, ...], bool], Loops]()
        self.equal = EqualValues()

    def block(self, body: tuple[q.Stmt, ...], loops: tuple[q.For, ...]) -> None:
        known: dict[q.Expr, frozenset[q.Var]] = {}  # what has been computed, and from what
        for stmt in body:
            if isinstance(stmt, q.Assign | q.Reduce):
                reduced = reduction(stmt)
                value = reduced.term if reduced else stmt.rhs
                order = self._order(stmt, loops) if isinstance(stmt, q.Reduce) else None
                if order:
                    needs = self._of_product(stmt.type, value, order, loops, known)
                else:
                    needs = Needs(self._needs(value, loops, known, cheap=True))
                if stmt.buf not in self.values:  # those count where they are used
                    costly = self._needs(self._inlined(value), loops, {})
                    needs.update(each for each in costly if unit_of(each[0]) != "arithmetic")
                if reduced and not order:
                    how = "+" if reduced.operator == "+" else "min"
                    needs[f"{stmt.type} {how}", frozenset(loop.iter for loop in loops)] += 1
                self.found[id(stmt)] = needs
                known = {e: used for e, used in known.items() if stmt.buf not in used}
                self.equal.forget(stmt.buf)
            elif nested := q.blocks(stmt):
                known = {}
                if isinstance(stmt, q.For):
                    self.equal.enter(stmt, _rewritten(stmt), _configures(stmt))
                for inner in nested:
                    self.block(inner, (*loops, stmt) if isinstance(stmt, q.For) else loops)
            elif isinstance(stmt, q.WriteConfig):
                self.equal.forget_all()

    def _of_product(
        self,
        kind: str,
        value: q.Expr,
        order: Order,
        loops: tuple[q.For, ...],
        known: dict[q.Expr, frozenset[q.Var]],
    ) -> Needs:
        """The cheap operations of a product that is summed in this order."""
        steps = Needs()
        for step in order.steps:
            steps[kind, step.loops] += step.multiplications
            steps[f"{kind} +", step.loops] += step.summed
        for factor in _operands(value, _PRODUCTS):
            steps.update(self._needs(factor, loops, known, cheap=True))
        return steps

    def _order(self, stmt: q.Reduce, loops: tuple[q.For, ...]) -> Order | None:
        """In which order the sum of a product takes fewer operations; None if in none."""
        factors = list(_operands(stmt.rhs, _PRODUCTS))
        if self.fp is not FloatingPoint.FAST or stmt.type in INTEGERS:
            return None
        if len(factors) > MAX_FACTORS or stmt.buf in q.expr_vars(stmt.rhs):
            return None
        inner: q.Stmt = stmt
        nest = []
        for loop in reversed(loops):
            if loop.body != (inner,):
                break
            nest.append(loop)
            inner = loop
        summed = Loops(loop.iter for loop in nest).difference(*map(q.expr_vars, stmt.idx))
        extents = {loop.iter: loop.extent or LONG for loop in loops}
        depends = tuple(
            with_bounds(self._varies(factor, loops, set()), loops[::-1]) for factor in factors
        )
        order = best_order(depends, summed, extents) if summed else None
        windows = shared_windows(stmt, factors, loops[::-1], summed)
        return order or next((window.order for window in windows), None)

    def _needs(
        self,
        expr: q.Expr,
        loops: tuple[q.For, ...],
        known: dict[q.Expr, frozenset[q.Var]],
        perhaps: bool = False,
        cheap: bool = False,
    ) -> Iterator[tuple[str, Loops]]:
        """`perhaps`: a choice may leave it out, by a branch; every function is cheap then. `cheap`:
        without functions, divisions and roots."""
        if isinstance(expr, q.USub):
            yield from self._needs(expr.arg, loops, known, perhaps, cheap)
        if not isinstance(expr, q.BinOp | q.Extern) or expr in known:
            return
        if isinstance(expr, q.Extern):
            yield from self._call(expr, loops, known, perhaps, cheap)
            return
        known[expr] = q.expr_vars(expr)
        family = _SUMS if expr.op in _SUMS else _PRODUCTS
        kind = expr.type + (" +" if family is _SUMS else "")
        operands = Counter(_operands(expr, family))
        merges = list(self._of_chain(operands, family, loops))
        free = set[q.Expr]()
        if family is _PRODUCTS:
            for where in self._divisions(kind, expr, loops, perhaps, cheap):
                if not cheap:
                    yield f"{kind} {DIVISION}", where
                if where in merges:
                    merges.remove(where)
                elif self.fp is not FloatingPoint.FAST and merges:
                    merges.remove(max(merges, key=len))
            free = self._one_in_a_product(kind, expr, loops)
        yield from ((kind, where) for where in merges)
        for operand in operands:
            yield from self._operand(operand, operand in free, loops, known, perhaps, cheap)

    def _operand(
        self,
        operand: q.Expr,
        free: bool,
        loops: tuple[q.For, ...],
        known: dict[q.Expr, frozenset[q.Var]],
        perhaps: bool,
        cheap: bool,
    ) -> Iterator[tuple[str, Loops]]:
        """Of a product; `free`: another operand's function is that of this one, too."""
        parts = operand.args if free and isinstance(operand, q.Extern) else (operand,)
        for part in parts:
            yield from self._needs(part, loops, known, perhaps, cheap)

    def _call(
        self,
        expr: q.Extern,
        loops: tuple[q.For, ...],
        known: dict[q.Expr, frozenset[q.Var]],
        perhaps: bool,
        cheap: bool,
    ) -> Iterator[tuple[str, Loops]]:
        """Equal calls of curves count once wherever they are."""
        known[expr] = q.expr_vars(expr)
        kind = _kind_of_call(expr)
        if perhaps or " " not in kind:
            yield expr.type, self._varies(expr, loops, set())
        elif cheap:
            pass
        elif self._is_new(expr):
            yield kind, self._rarely(expr, loops)
        else:
            return
        function = FUNCTIONS.get(expr.name)
        for number, arg in enumerate(expr.args):
            chosen = number > 1 and function is not None and bool(function.chooses)
            yield from self._needs(arg, loops, known, perhaps or chosen, cheap)

    def _is_new(self, call: q.Extern) -> bool:
        if len(call.args) > 1:
            return self.equal.new("", [call])
        return self.equal.new(_TOGETHER.get(call.name, call.name), call.args)

    def _divisions(
        self, kind: str, expr: q.Expr, loops: tuple[q.For, ...], perhaps: bool, again: bool
    ) -> list[Loops]:
        """Where a product needs divisions that have not been counted; or all, `again`.

        `fast` multiplies all divisors that vary with the same loops first, or with fewer. Otherwise
        each division stands as it is written.
        """
        if perhaps or not _divides(kind):
            return []
        if self.fp is not FloatingPoint.FAST:
            new = [each for each in _quotients(expr) if again or self.equal.new("", [each])]
            return [self._rarely(each, loops) for each in new]
        above, below = Counter[q.Expr](), Counter[q.Expr]()
        for operand, divides in _sides(expr):
            (below if divides else above)[operand] += 1
        divisors = {
            each: self._rarely(each, loops)
            for each in below - above
            if not _constant(each) and not self._inverted(each)
        }
        return [
            where
            for where in _largest(divisors.values())
            if again or self.equal.new(DIVISION, [e for e, own in divisors.items() if own <= where])
        ]

    def _inverted(self, divisor: q.Expr) -> bool:
        """Whether the reciprocal of a divisor is found as fast as itself."""
        match divisor:
            case q.Extern(name=name):
                return name in _NO_DIVISION
            case q.Read(buf=buf):
                return buf in self.roots
            case _:
                return False

    def _one_in_a_product(self, kind: str, expr: q.Expr, loops: tuple[q.For, ...]) -> set[q.Expr]:
        """Operands of a product whose function another one's is, too: `sqrt(x) * sqrt(y)`."""
        found = set[q.Expr]()
        if self.fp is not FloatingPoint.FAST or not _divides(kind):
            return found
        calls: dict[str, dict[q.Extern, Loops]] = {}
        for each in _operands(expr, _PRODUCTS):
            if isinstance(each, q.Extern) and each.name in _ONE_IN_A_PRODUCT:
                own = calls.setdefault(_ONE_IN_A_PRODUCT[each.name], {})
                own[each] = self._rarely(each, loops)
        repeated = Counter[q.Expr](_operands(expr, _PRODUCTS))
        for own in calls.values():
            for each in [each for each in own if each.name in _ROOTS and repeated[each] > 1]:
                found.add(each)  # squared
                del own[each]
            needed = _largest(own.values())
            for each, where in own.items():
                if where in needed:
                    needed.remove(where)
                else:
                    found.add(each)
        return found

    def _of_chain(
        self, operands: Counter[q.Expr], family: frozenset[str], loops: tuple[q.For, ...]
    ) -> Iterator[Loops]:
        """Where to combine the operands of a sum or product, constants being one of them."""
        variable = {e: n for e, n in operands.items() if not isinstance(e, q.Const)}
        varies = {expr: self._varies(expr, loops, set()) for expr in variable}
        constants = len(variable) < len(operands)
        yield from _merges([*varies.values(), *([Loops()] if constants and variable else [])])
        # A term that repeats is multiplied, a factor squared.
        often = max(variable, key=variable.__getitem__, default=None)
        if often is not None and (times := variable[often]) > 1:
            extra = 1 if family is _SUMS else (times - 1).bit_length()
            yield from [varies[often]] * extra

    def _varies(
        self,
        expr: q.Expr,
        loops: tuple[q.For, ...],
        within: set[q.Var],
        changes: Callable[[q.For], frozenset[q.Var]] = _written,
    ) -> Loops:
        """The loops that a value varies with; `within` are variables that it is a value of. A loop
        `changes` some arrays."""
        found: set[q.Var] = set()
        moving = {each for each in q.walk_expr(expr) if isinstance(each, q.Read) and each.idx}
        alone = changes is _rewritten and len(moving) == 1
        for node in q.walk_expr(expr):
            match node:
                case q.Read(buf=buf) if buf in self.values and buf not in within:
                    found |= self._scalar(buf, loops, within | {buf}, changes)
                case q.Read(buf=buf, idx=idx):
                    used = frozenset[q.Var]().union(*map(q.expr_vars, idx))
                    if alone:
                        used = frozenset().union(*(_different(index, loops) for index in idx))
                    found |= {
                        loop.iter for loop in loops if loop.iter in used or buf in changes(loop)
                    }
                case q.ReadConfig():
                    found |= {loop.iter for loop in loops if _configures(loop)}
                case _:
                    pass
        return frozenset(found)

    def _scalar(
        self,
        buf: q.Var,
        loops: tuple[q.For, ...],
        within: set[q.Var],
        changes: Callable[[q.For], frozenset[q.Var]],
    ) -> Loops:
        """The loops that a scalar's value varies with, looked for once."""
        key = buf, tuple(map(id, loops)), changes is _rewritten
        if key not in self.scalars:
            self.scalars[key] = self._varies(self.values[buf], loops, within, changes)
        return self.scalars[key]

    def _inlined(self, expr: q.Expr) -> q.Expr:
        """With the values of scalars, as compilers see it: `t / w` is `x / (z * w)` if `t` is
        `x / z`. Large ones stay."""

        def value(read: q.Read) -> q.Expr:
            if read.buf in self.values and self._size(read.buf) <= _LARGEST:
                return self._inlined(self.values[read.buf])
            return read

        return q.with_reads(expr, value)

    def _size(self, buf: q.Var) -> int:
        """Nodes of a scalar's value, written out; many if it is a value of itself."""
        if buf not in self.sizes:
            self.sizes[buf] = _LARGEST + 1
            nodes = [*q.walk_expr(self.values[buf])]
            inner = (node.buf for node in nodes if isinstance(node, q.Read))
            more = sum(self._size(each) for each in inner if each in self.values)
            self.sizes[buf] = len(nodes) + more
        return self.sizes[buf]

    def _rarely(self, expr: q.Expr, loops: tuple[q.For, ...]) -> Loops:
        """The loops that a value varies with that may be kept in an array: of `A[j, j]` in rows
        `i` of `A` there is one for each `j`, of `x[i + j]` about one for each `i`."""
        return self._varies(expr, loops, set(), _rewritten)


def _different(index: q.Affine, loops: tuple[q.For, ...]) -> Loops:
    """Loops of an index all of whose combinations are different elements, long ones first: of
    `16 * i + j` both if `j` is below 16."""
    used = q.expr_vars(index)
    inside = [loop for loop in loops if loop.iter in used]
    found: dict[q.Var, tuple[int, int]] = {}
    for loop in sorted(inside, key=lambda loop: -(loop.extent or LONG)):
        step = abs(index.coefficient(loop.iter))
        if not step:
            continue  # within a quotient or a remainder
        tried = found | {loop.iter: (step, loop.extent or LONG)}
        reach = 0
        for each, count in sorted(tried.values()):
            if each <= reach and reach:
                break
            reach += each * (count - 1)
        else:
            found = tried
    return frozenset(found)


def _only_values(proc: q.Proc) -> dict[q.Var, q.Expr]:
    """Local scalars that are written in one place, with the value that they get there."""
    writes: dict[q.Var, list[q.Assign | q.Reduce]] = {}
    local = {s.buf for s in q.walk(proc.body) if isinstance(s, q.Alloc) and not s.shape}
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Assign | q.Reduce) and stmt.buf in local:
            writes.setdefault(stmt.buf, []).append(stmt)
    return {
        buf: own[0].rhs
        for buf, own in writes.items()
        if len(own) == 1 and isinstance(own[0], q.Assign)
    }


def _only_roots(proc: q.Proc) -> set[q.Var]:
    """Arrays and scalars of which every value is a root."""
    found: dict[q.Var, bool] = {}
    for stmt in q.walk(proc.body):
        if isinstance(stmt, q.Assign | q.Reduce):
            root = isinstance(stmt.rhs, q.Extern) and stmt.rhs.name in _ROOTS
            own = root and isinstance(stmt, q.Assign)
            found[stmt.buf] = own and found.get(stmt.buf, True)
    return {buf for buf, roots in found.items() if roots}


def _kind_of_call(expr: q.Extern) -> str:
    """C computes functions of f16 in f32. A number's function is none at all."""
    function = FUNCTIONS.get(expr.name)
    if function is None or expr.type in INTEGERS or _constant(expr):
        return expr.type
    kind = "f32" if expr.type == "f16" else expr.type
    if expr.name in _ROOTS:
        match expr.args[0]:
            case q.BinOp("*", lhs, rhs) if lhs == rhs:
                return expr.type  # its size
        return f"{kind} {ROOT}" if _divides(expr.type) else expr.type
    # Compilers multiply where the exponent is a number, and know inverses.
    if function.instruction or (expr.name == "pow_" and any(map(_constant, expr.args))):
        return expr.type
    if any(isinstance(arg, q.Extern) and arg.name in _FOLDED for arg in expr.args):
        return expr.type
    return f"{kind} {expr.name}"


def _constant(expr: q.Expr) -> bool:
    return not any(isinstance(each, q.Read | q.ReadConfig) for each in q.walk_expr(expr))


def _divides(kind: str) -> bool:
    """Whether quotients and roots of this type have a peak of their own."""
    return known_type(kind) in ("f32", "f64")


def _quotients(expr: q.Expr) -> Iterator[q.BinOp]:
    """The divisions of a chain of products, but those by numbers."""
    match expr:
        case q.USub():
            yield from _quotients(expr.arg)
        case q.BinOp() if expr.op in _PRODUCTS:
            yield from _quotients(expr.lhs)
            yield from _quotients(expr.rhs)
            if expr.op == "/" and not _constant(expr.rhs):
                yield expr


def _sides(expr: q.Expr, divides: bool = False) -> Iterator[tuple[q.Expr, bool]]:
    """Parts of a chain of products, and whether they divide."""
    match expr:
        case q.USub():
            yield from _sides(expr.arg, divides)
        case q.BinOp() if expr.op in _PRODUCTS:
            yield from _sides(expr.lhs, divides)
            yield from _sides(expr.rhs, divides != (expr.op == "/"))
        case _:
            yield expr, divides


def _largest(found: Iterable[Loops]) -> list[Loops]:
    """Those that are part of no other."""
    distinct = list(dict.fromkeys(found))
    return [each for each in distinct if not any(each < other for other in distinct)]


@q.per_node
def _configures(loop: q.For) -> bool:
    return any(isinstance(stmt, q.WriteConfig) for stmt in q.walk(loop.body))


def _operands(expr: q.Expr, family: frozenset[str]) -> Iterator[q.Expr]:
    """Parts of a chain of sums, or of products, without regard to signs, order and the side of a
    division."""
    match expr:
        case q.USub():
            yield from _operands(expr.arg, family)
        case q.BinOp() if expr.op in family:
            yield from _operands(expr.lhs, family)
            yield from _operands(expr.rhs, family)
        case _:
            yield expr


def _merges(operands: Iterable[Loops]) -> Iterator[Loops]:
    """The loops of each operation of a chain, if the parts that vary with the fewest loops come
    first."""
    for loops, times in (counted := Counter(operands)).items():
        yield from [loops] * (times - 1)
    left = set(counted)
    while len(left) > 1:
        pair = min(combinations(left, 2), key=lambda two: (len(two[0] | two[1]), _order(two)))
        merged = pair[0] | pair[1]
        yield merged
        left = left - set(pair) | {merged}


def _order(pair: tuple[Loops, Loops]) -> list[list[int]]:
    """That does not depend on the order of sets."""
    return sorted(sorted(var.uid for var in loops) for loops in pair)
