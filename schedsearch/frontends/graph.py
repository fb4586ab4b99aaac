"""Programs on arrays: what every front end builds, and `lower` makes loops of.

A *value* is an array that is not stored anywhere, of rank 0 or more; nodes are frozen, compared by
identity, and shared where a value is used twice. A *statement* stores values into arrays. Sizes,
bounds and indices are affine (`core.ast.Affine`), so that C's loops, NumPy's slices and the
indices of equations are the same thing: maps from the element that is asked for to the element
that it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from schedsearch.core import ast as q

Shape = tuple[q.Affine, ...]

_UIDS = count(1_000_000)


def fresh(name: str) -> q.Var:
    """A variable unlike all others. Names may repeat: `lower` makes them unique."""
    return q.Var(name, next(_UIDS))


@dataclass(frozen=True, eq=False)
class Array:
    """Storage: an argument or a temporary. Rank 0 is a scalar."""

    name: str
    type: str
    shape: Shape = ()


# -- values ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Constant:
    """A number, of rank 0."""

    value: float | int
    type: str
    shape: Shape = ()


@dataclass(frozen=True, eq=False)
class Count:
    """An index or a size as data, of rank 0: `float(N)`. Exo has none: a loop counts."""

    value: q.Affine
    type: str
    shape: Shape = ()


@dataclass(frozen=True, eq=False)
class Load:
    """All elements of an array, as they are when the statement around it is executed."""

    array: Array

    @property
    def type(self) -> str:
        return self.array.type

    @property
    def shape(self) -> Shape:
        return self.array.shape


@dataclass(frozen=True, eq=False)
class View:
    """`out[vars] = source[index]`, for `vars` within `shape`: slices, transposes, reshapes,
    broadcasts, flips, diagonals. `vars` are the view's own, one for each dimension; `index` has one
    affine expression for each dimension of the source, in `vars`, sizes and variables of loops
    around. No element is outside of the source."""

    source: Value
    vars: tuple[q.Var, ...]
    shape: Shape
    index: tuple[q.Affine, ...]

    @property
    def type(self) -> str:
        return self.source.type


@dataclass(frozen=True, eq=False)
class Apply:
    """A function of `functions.py`, or an operator (`+ - * /`, `neg`), of elements at the same
    place. All arguments have this type and this shape: `views.broadcast` and `Cast` come before."""

    function: str
    args: tuple[Value, ...]
    type: str
    shape: Shape


@dataclass(frozen=True, eq=False)
class Select:
    """`then` where the condition holds, else `other`."""

    condition: Condition
    then: Value
    other: Value

    @property
    def type(self) -> str:
        return self.then.type

    @property
    def shape(self) -> Shape:
        return self.then.shape


@dataclass(frozen=True, eq=False)
class Cast:
    """As C converts, and NumPy's `astype`."""

    source: Value
    type: str

    @property
    def shape(self) -> Shape:
        return self.source.shape


@dataclass(frozen=True, eq=False)
class Reduce:
    """`sum`, `prod`, `max` or `min` over axes, which are no longer there. Of no elements at all
    `sum` is 0 and `prod` 1; `max` and `min` need one."""

    function: str
    source: Value
    axes: tuple[int, ...]

    @property
    def type(self) -> str:
        return self.source.type

    @property
    def shape(self) -> Shape:
        return tuple(n for axis, n in enumerate(self.source.shape) if axis not in self.axes)


@dataclass(frozen=True, eq=False)
class Scan:
    """Cumulative `sum`, `prod`, `max` or `min` along an axis."""

    function: str
    source: Value
    axis: int

    @property
    def type(self) -> str:
        return self.source.type

    @property
    def shape(self) -> Shape:
        return self.source.shape


Value = Constant | Count | Load | View | Apply | Select | Cast | Reduce | Scan


OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
"""Of comparisons of whole numbers: `not a < b` is `a >= b`."""


@dataclass(frozen=True, eq=False)
class Compare:
    """Of data, element by element: `<`, `<=`, `>`, `>=`, `==`, `!=`, as IEEE 754 has them."""

    op: str
    lhs: Value
    rhs: Value


@dataclass(frozen=True, eq=False)
class Inside:
    """A condition on the place of an element (`vars`, one for each dimension), in Exo's terms:
    comparisons of affine expressions, `and`, `or`."""

    vars: tuple[q.Var, ...]
    condition: q.Expr


@dataclass(frozen=True, eq=False)
class Logical:
    """`and`, `or`, or `not` of conditions."""

    op: str
    args: tuple[Condition, ...]


Condition = Compare | Inside | Logical

# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Allocate:
    """A temporary, for the rest of the block. Its contents are undefined."""

    array: Array
    line: int = 0


@dataclass(frozen=True, eq=False)
class Store:
    """`array[index] = value[vars]`, or `+=`, for `vars` within the value's shape. As in NumPy the
    whole value is computed before any element is stored. No element is stored twice."""

    array: Array
    vars: tuple[q.Var, ...]
    index: tuple[q.Affine, ...]
    value: Value
    add: bool = False
    line: int = 0


@dataclass(frozen=True, eq=False)
class For:
    """`var` from `lo` to `hi - 1`, one after another."""

    var: q.Var
    lo: q.Affine
    hi: q.Affine
    body: tuple[Statement, ...]
    line: int = 0


@dataclass(frozen=True, eq=False)
class If:
    """On sizes and variables of loops. Conditions on data are `Select`."""

    condition: q.Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()
    line: int = 0


Statement = Allocate | Store | For | If


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel. `parameters` are its sizes (`q.Var`) and arrays, in the order of the call;
    `file` and the lines of statements are the user's. `bounded`: its asserts imply that all indices
    are inside, so that `lower`, which knows less of loops that may be empty, adds none. `order` are
    the user's own parameters, by their places among these, if the user has another order."""

    name: str
    parameters: tuple[q.Var | Array, ...]
    body: tuple[Statement, ...]
    asserts: tuple[q.Expr, ...] = ()
    file: str = ""
    bounded: bool = False
    order: tuple[int, ...] = ()

    @property
    def written(self) -> frozenset[Array]:
        """Arrays that statements store to."""
        return frozenset(each.array for each in statements(self.body) if isinstance(each, Store))


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement, those around others first."""
    for each in body:
        yield each
        match each:
            case For():
                yield from statements(each.body)
            case If():
                yield from statements(each.body)
                yield from statements(each.orelse)
            case _:
                pass
