"""A procedure's asserts as a z3 problem over its control values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import z3

from schedsearch.analysis import solver
from schedsearch.analysis.conditions import LARGEST
from schedsearch.analysis.inline import inline_calls
from schedsearch.core import ast as q
from schedsearch.core.errors import UserError
from schedsearch.core.text import show_affine, show_expr

_TIMEOUT_MS = 2000
_SMALL = 300  # sizes of cases, where there is a choice


class Undecided(Exception):
    """z3 found no answer in time."""


class Constraints:
    """The asserts of `proc`, decided one value at a time.

    `kinds` maps every control value (argument name, or `Config.field`) to its
    type. Besides the asserts: sizes and extents of arrays are positive.
    """

    def __init__(self, proc: q.Proc) -> None:
        self.proc = proc
        self.kinds = control_kinds(proc)
        self._names = {arg.var.uid: arg.var.name for arg in proc.args}
        self._args = {arg.var.uid: arg for arg in proc.args}
        self._solver = z3.Solver()
        self._solver.set("timeout", _TIMEOUT_MS)
        self._reasons: dict[str, str] = {}
        for name, kind in self.kinds.items():
            if kind == "size":
                self._solver.add(z3.Int(name) >= 1)
            if kind == "bool":
                self._solver.add(z3.Int(name) >= 0, z3.Int(name) <= 1)
        for condition in proc.asserts:
            self._track(self._truth(condition), f"assert {show_expr(condition)}")
        for arg in proc.args:
            for extent in arg.shape or ():
                text = f"{arg.var.name}'s extent {show_affine(extent)} must be positive"
                self._track(self._integer(extent) >= 1, text)

    def _track(self, condition: Any, reason: str) -> None:
        label = f"reason {len(self._reasons)}"
        self._reasons[label] = reason
        self._solver.assert_and_track(condition, label)

    def fix(self, name: str, value: int) -> None:
        """Raises UserError if no argument may be as large."""
        if abs(value) > LARGEST:
            raise UserError(
                f"{self.kinds[name]} {name}={value} of {self.proc.name} is too large; "
                f"the largest is {LARGEST}"
            )
        self._solver.add(z3.Int(name) == value)

    def require_satisfiable(self, requested: Mapping[str, int]) -> None:
        """Raises UserError, naming the asserts in conflict, if nothing is left to choose."""
        if self._solver.check() == z3.sat:
            return
        reasons = [self._reasons[str(label)] for label in self._solver.unsat_core()]
        violated = "; ".join(reasons) or "its asserts together (z3 found no values in time)"
        sizes = ", ".join(f"{name}={value}" for name, value in requested.items()) or "any sizes"
        raise UserError(
            f"{self.proc.name} cannot be called with {sizes}: {violated}. "
            "Choose other sizes, or correct the assert."
        )

    def choose(self, name: str, preferred: int) -> int:
        """Fix a control value as near to `preferred` as possible."""
        return self._nearest(z3.Int(name), preferred)

    def choose_stride(self, buf: q.Var, dim: int, least: int, pad: int) -> int:
        """Fix a window's stride at `least + pad` or near, not below `least` if avoidable.

        Rows of a window may not overlap; only an assert that demands it (a stride
        of 1 for a dimension of extent 1) goes below.
        """
        stride = z3.Int(_stride_name(buf, dim))
        if self._possible(stride >= least):
            self._solver.add(stride >= least)
        return self._nearest(stride, least + pad)

    def witness(self, within: Iterable[q.For | tuple[q.Expr, bool]]) -> dict[str, int] | None:
        """Control values with which some iteration of the loops meets all the conditions; small
        ones if there are. None if there are none; raises Undecided if z3 cannot tell."""
        conditions = []
        for each in within:
            if isinstance(each, q.For):
                self._names[each.iter.uid] = f"{each.iter.name} {each.iter.uid}"
                var = self._atom(each.iter)
                conditions += [self._integer(each.lo) <= var, var < self._integer(each.hi)]
            else:
                truth = self._truth(each[0])
                conditions.append(truth if each[1] else z3.Not(truth))
        numbers = {name: z3.Int(name) for name in self.kinds}
        small = [number <= _SMALL for number in numbers.values()]
        possible = [number <= LARGEST for number in numbers.values()]
        for more in (small, possible):
            found = self._solver.check(*conditions, *more)
            if found == z3.sat:
                model = self._solver.model()
                return {n: int(model.eval(v, True).as_long()) for n, v in numbers.items()}
        if found == z3.unknown:
            raise Undecided
        return None

    def extent(self, value: q.Affine) -> int:
        """Value of an extent whose variables are all chosen."""
        self._solver.check()
        return int(self._solver.model().eval(self._integer(value), True).as_long())

    def _possible(self, condition: Any) -> bool:
        return bool(self._solver.check(condition) == z3.sat)

    def _nearest(self, variable: Any, preferred: int) -> int:
        """Minimise the distance to `preferred` by bisection, then fix it."""
        far = 0
        while not self._possible(_within(variable, preferred, far)):
            if far > LARGEST:
                raise UserError(
                    f"no value of {variable} satisfies the asserts of {self.proc.name} "
                    "(or z3 found none in time). Give its sizes explicitly."
                )
            far = 2 * far + 1
        near = far // 2
        while near < far:
            middle = (near + far) // 2
            if self._possible(_within(variable, preferred, middle)):
                far = middle
            else:
                near = middle + 1
        self._solver.check(_within(variable, preferred, far))
        value = int(self._solver.model().eval(variable, True).as_long())
        self._solver.add(variable == value)
        return value

    # -- translation ---------------------------------------------------------

    def _integer(self, value: q.Affine) -> Any:
        return solver.integer(value, self._atom)

    def _atom(self, atom: q.Leaf) -> Any:
        match atom:
            case q.Var():
                return z3.Int(self._names[atom.uid])
            case q.StrideOf():
                return self._stride(self._args[atom.buf.uid], atom.dim)
            case q.ConfigField():
                return z3.Int(f"{atom.config}.{atom.field}")

    def _stride(self, arg: q.Arg, dim: int) -> Any:
        if arg.window:
            return z3.Int(_stride_name(arg.var, dim))
        stride: Any = z3.IntVal(1)  # dense, row-major
        for extent in (arg.shape or ())[dim + 1 :]:
            stride = stride * self._integer(extent)
        return stride

    def _truth(self, expr: q.Expr) -> Any:
        try:
            return solver.truth(expr, self._atom, _boolean)
        except solver.NoTerm:
            raise UserError(f"cannot evaluate the assert {show_expr(expr)}") from None


def _boolean(expr: q.Read | q.ReadConfig) -> Any:
    name = expr.buf.name if isinstance(expr, q.Read) else f"{expr.config}.{expr.field}"
    return z3.Int(name) == 1


def _within(variable: Any, preferred: int, distance: int) -> Any:
    return z3.And(variable >= preferred - distance, variable <= preferred + distance)


def _stride_name(buf: q.Var, dim: int) -> str:
    return f"stride({buf.name}, {dim})"


def control_kinds(proc: q.Proc) -> dict[str, str]:
    """Control arguments, then configuration fields used as control values, with types."""
    kinds = {arg.var.name: arg.type for arg in proc.args if arg.type in q.CONTROL_TYPES}
    body = inline_calls(proc).body
    for stmt in q.walk(body):
        if isinstance(stmt, q.WriteConfig) and stmt.type in q.CONTROL_TYPES:
            kinds[f"{stmt.config}.{stmt.field}"] = stmt.type
    for part in chain(*map(q.stmt_parts, q.walk(body)), *map(q.walk_expr, proc.asserts)):
        match part:
            case q.ConfigField():
                kinds.setdefault(f"{part.config}.{part.field}", part.kind)
            case q.ReadConfig() if part.type in q.CONTROL_TYPES:
                kinds[f"{part.config}.{part.field}"] = part.type
    return kinds
