"""The query AST: a frozen, name-resolved mirror of one Exo procedure.

Control expressions (loop bounds, indices, sizes, comparisons' operands) are in
*affine normal form*, so `8*io + ii` and `ii + io*8` are the same object value.
Data expressions keep their shape: float arithmetic is not reordered.

Variables carry a `uid`, their position in binding order (arguments first, then
allocations, windows and loops in textual order). Names may repeat; uids do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

Path = tuple[int | str, ...]
"""Place of a statement: indices into nested bodies; `"e"` before an index means the `else` branch.
`(0, 1, "e", 0)` is written `0.1.e.0`."""


@dataclass(frozen=True, slots=True)
class Var:
    """A bound name. Two variables are the same iff their uids are equal."""

    name: str = field(compare=False)
    uid: int

    # Variables are hashed and compared all the time; the generated methods build tuples.

    def __hash__(self) -> int:
        return self.uid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Var) and self.uid == other.uid


# -- control expressions: affine normal form ---------------------------------


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`floor(num / den)`, `den` a positive constant that does not divide out."""

    num: Affine
    den: int


@dataclass(frozen=True, slots=True)
class Mod:
    """`num mod den` with a result in `[0, den)`, `den` a positive constant."""

    num: Affine
    den: int


@dataclass(frozen=True, slots=True)
class StrideOf:
    """The stride (in elements) of dimension `dim` of a tensor or window."""

    buf: Var
    dim: int


@dataclass(frozen=True, slots=True)
class ConfigField:
    """A configuration field read as a control value, of type `kind`."""

    config: str
    kind: str = field(default="size", compare=False, kw_only=True)
    field: str  # from here on no function of that name


Leaf = Var | StrideOf | ConfigField
Atom = Leaf | FloorDiv | Mod


@dataclass(frozen=True, slots=True)
class Affine:
    """`const + sum(coefficient * atom)`; terms sorted by atom, coefficients not 0."""

    const: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @property
    def is_const(self) -> bool:
        """Whether no variable is in it."""
        return not self.terms

    def __add__(self, other: Affine | int) -> Affine:
        other = as_affine(other)
        if not other.terms:
            return Affine(self.const + other.const, self.terms)
        if not self.terms:
            return Affine(self.const + other.const, other.terms)
        return affine(self.const + other.const, self.terms + other.terms)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + as_affine(other).scaled(-1)

    def scaled(self, factor: int) -> Affine:
        """Multiplied by an integer."""
        if factor == 0:
            return Affine()
        return Affine(self.const * factor, tuple([(a, c * factor) for a, c in self.terms]))

    def coefficient(self, atom: Atom) -> int:
        """Of a variable or term; 0 if it is not there."""
        for other, coefficient in self.terms:
            if other == atom:
                return coefficient
        return 0

    @property
    def as_var(self) -> Var | None:
        """The variable, if this is exactly one variable."""
        if self.const == 0 and len(self.terms) == 1:
            atom, coefficient = self.terms[0]
            if coefficient == 1 and isinstance(atom, Var):
                return atom
        return None


def atom_order(atom: Atom) -> str:
    """A sort key of atoms that does not depend on names or hash seeds."""
    match atom:
        case Var():
            return f"0 {atom.uid:09d}"
        case FloorDiv():
            return f"1 {_affine_order(atom.num)} / {atom.den}"
        case Mod():
            return f"2 {_affine_order(atom.num)} % {atom.den}"
        case StrideOf():
            return f"3 {atom.buf.uid:09d} {atom.dim}"
        case ConfigField():
            return f"4 {atom.config}.{atom.field}"


def _affine_order(value: Affine) -> str:
    return " ".join([*(f"({atom_order(a)}) * {c}" for a, c in value.terms), str(value.const)])


def affine(const: int, terms: tuple[tuple[Atom, int], ...]) -> Affine:
    """Collect equal atoms, drop zeros, sort."""
    sums: dict[Atom, int] = {}
    for atom, coefficient in terms:
        sums[atom] = sums.get(atom, 0) + coefficient
    kept = [(a, c) for a, c in sums.items() if c]
    if len(kept) > 1:
        if all(type(atom) is Var for atom, _ in kept):
            kept.sort(key=_by_uid)  # the same order, found faster
        else:
            kept.sort(key=lambda term: atom_order(term[0]))
    return Affine(const, tuple(kept))


def _by_uid(term: tuple[Any, int]) -> int:
    return term[0].uid  # type: ignore[no-any-return]


def as_affine(value: Affine | Atom | int) -> Affine:
    """A number, a variable or an affine value as an affine value."""
    if isinstance(value, Affine):
        return value
    if isinstance(value, int):
        return Affine(value)
    return Affine(0, ((value, 1),))


def floor_div(num: Affine, den: int) -> Affine:
    """`floor(num/den)`; multiples of `den` are taken out: `(8*i + j)/8 -> i + j/8`."""
    if den == 1:
        return num
    out = Affine(num.const // den, tuple((a, c // den) for a, c in num.terms if c % den == 0))
    rest = Affine(num.const % den, tuple((a, c) for a, c in num.terms if c % den))
    if rest.is_const:
        return out
    return out + as_affine(FloorDiv(rest, den))


def modulo(num: Affine, den: int) -> Affine:
    """`num mod den`; multiples of `den` vanish: `(8*i + j) % 8 -> j % 8`."""
    if den == 1:
        return Affine(0)
    terms = tuple((a, c % den) for a, c in num.terms if c % den)
    rest = Affine(num.const % den, terms)
    if rest.is_const:
        return rest
    return as_affine(Mod(rest, den))


# -- data and boolean expressions --------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: bool | int | float
    type: str


@dataclass(frozen=True, slots=True)
class Read:
    """`buf[idx]`; a scalar or a boolean argument has no indices."""

    buf: Var
    idx: tuple[Affine, ...]
    type: str


@dataclass(frozen=True, slots=True)
class USub:
    """The negative of a value."""

    arg: Expr
    type: str


@dataclass(frozen=True, slots=True)
class BinOp:
    """Data arithmetic (`+ - * /`), or a boolean: comparisons of affine operands, `and`, `or`."""

    op: str
    lhs: Expr
    rhs: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Extern:
    """A call of one of Exo's external functions (`sin`, `relu`, `select`, ...)."""

    name: str
    args: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A range `lo:hi` of a window."""

    lo: Affine
    hi: Affine


@dataclass(frozen=True, slots=True)
class Window:
    """`buf[lo:hi, point]`; a whole-buffer argument is a `Read` without indices."""

    buf: Var
    idx: tuple[Interval | Affine, ...]
    type: str


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """The field of a configuration."""

    config: str
    field: str
    type: str


Expr = Affine | Const | Read | USub | BinOp | Extern | Window | ReadConfig

# -- statements ----------------------------------------------------------------


@dataclass(frozen=True)
class _Stmt:
    path: Path = field(compare=False)


@dataclass(frozen=True)
class Assign(_Stmt):
    """`buf[idx] = rhs`."""

    buf: Var
    idx: tuple[Affine, ...]
    rhs: Expr
    type: str


@dataclass(frozen=True)
class Reduce(_Stmt):
    """`buf[idx] += rhs`"""

    buf: Var
    idx: tuple[Affine, ...]
    rhs: Expr
    type: str


@dataclass(frozen=True)
class WriteConfig(_Stmt):
    """A configuration gets a value."""

    config: str
    field: str
    rhs: Expr
    type: str


@dataclass(frozen=True)
class Pass(_Stmt):
    """Does nothing."""


@dataclass(frozen=True)
class If(_Stmt):
    """A branch, perhaps with an `else`."""

    cond: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True)
class For(_Stmt):
    """A loop over `iter` from `lo` to `hi`, without `hi`; sequential or parallel."""

    iter: Var
    lo: Affine
    hi: Affine
    body: tuple[Stmt, ...]
    parallel: bool

    @cached_property
    def extent(self) -> int | None:
        """Trip count, if it is a constant."""
        span = self.hi - self.lo
        return max(span.const, 0) if span.is_const else None


@dataclass(frozen=True)
class Alloc(_Stmt):
    """A buffer that lives until the end of its block."""

    buf: Var
    type: str
    shape: tuple[Affine, ...]
    mem: str


@dataclass(frozen=True)
class Call(_Stmt):
    """A call of a procedure or an instruction."""

    proc: Proc
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class WindowStmt(_Stmt):
    """A name for a window of a buffer."""

    name: Var
    window: Window


Stmt = Assign | Reduce | WriteConfig | Pass | If | For | Alloc | Call | WindowStmt


@dataclass(frozen=True, slots=True)
class Arg:
    """A parameter. `type` is a scalar type (`f32`, ...) or a control type (`size`, ...).

    `shape` is None for scalars and control values; `window` says that strides
    are passed with the data.
    """

    var: Var
    type: str
    shape: tuple[Affine, ...] | None = None
    window: bool = False
    mem: str | None = None


@dataclass(frozen=True)
class Proc:
    """A procedure: its arguments, asserts and statements; of an instruction, its C's call, and
    whether its C has threads."""

    name: str
    args: tuple[Arg, ...]
    asserts: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    instr: str | None = None
    threads: bool = False

    @cached_property
    def by_path(self) -> Mapping[Path, Stmt]:
        """All statements by their paths."""
        return {stmt.path: stmt for stmt in walk(self.body)}


Node = TypeVar("Node", bound=_Stmt | Proc)
Answer = TypeVar("Answer")


def per_node(question: Callable[[Node], Answer]) -> Callable[[Node], Answer]:
    """Ask a question about a statement or procedure once. The answer is kept in the node:
    nodes never change, and the procedures of a search share most of them."""
    name = f"_answer_of_{question.__module__}.{question.__qualname__}"

    def answered(node: Node) -> Answer:
        answers = node.__dict__
        if name not in answers:
            answers[name] = question(node)
        return answers[name]  # type: ignore[no-any-return]

    answered.__doc__ = question.__doc__
    return answered


CONTROL_TYPES = ("int", "index", "size", "stride", "bool")

# -- generic walks -------------------------------------------------------------


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The statement lists directly inside `stmt`."""
    match stmt:
        case For():
            return (stmt.body,)
        case If():
            return (stmt.body, stmt.orelse) if stmt.orelse else (stmt.body,)
        case _:
            return ()


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of `body`, parents before children, in textual order."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from walk(block)


def all_blocks(proc: Proc) -> Iterator[tuple[Stmt, ...]]:
    """Every statement list of the procedure, the outermost first."""
    yield proc.body
    for stmt in walk(proc.body):
        yield from blocks(stmt)


def stmt_exprs(stmt: Stmt) -> tuple[Expr | Interval, ...]:
    """The expressions directly in `stmt` (not those of nested statements)."""
    match stmt:
        case Assign() | Reduce():
            return (*stmt.idx, stmt.rhs)
        case WriteConfig():
            return (stmt.rhs,)
        case If():
            return (stmt.cond,)
        case For():
            return (stmt.lo, stmt.hi)
        case Alloc():
            return stmt.shape
        case Call():
            return stmt.args
        case WindowStmt():
            return (stmt.window,)
        case Pass():
            return ()


def sub_exprs(expr: Expr | Interval | Atom) -> tuple[Expr | Interval | Atom, ...]:
    """The expressions that this one is made of, one level down."""
    match expr:
        case Affine():
            return tuple(atom for atom, _ in expr.terms)
        case FloorDiv() | Mod():
            return (expr.num,)
        case Read():
            return expr.idx
        case USub():
            return (expr.arg,)
        case BinOp():
            return (expr.lhs, expr.rhs)
        case Extern():
            return expr.args
        case Window():
            return expr.idx
        case Interval():
            return (expr.lo, expr.hi)
        case _:
            return ()


def walk_expr(expr: Expr | Interval | Atom) -> Iterator[Expr | Interval | Atom]:
    """This expression and all below it."""
    yield expr
    for part in sub_exprs(expr):
        yield from walk_expr(part)


def stmt_parts(stmt: Stmt) -> Iterator[Expr | Interval | Atom]:
    """Every part of the expressions directly in `stmt`."""
    return (part for expr in stmt_exprs(stmt) for part in walk_expr(expr))


def may_change(expr: Expr | Interval | Atom) -> bool:
    """Whether it reads the configuration, which statements and calls write."""
    return any(isinstance(node, ReadConfig | ConfigField) for node in walk_expr(expr))


def used_vars(body: tuple[Stmt, ...]) -> frozenset[Var]:
    """Variables read or written anywhere in `body` (not those merely bound)."""
    return frozenset().union(*map(_used_in, body))


def expr_vars(expr: Expr | Interval | Atom) -> frozenset[Var]:
    """The variables that it reads."""
    found: set[Var] = set()
    _add_vars(expr, found)
    return frozenset(found)


def _add_vars(expr: Expr | Interval | Atom, found: set[Var]) -> None:
    match expr:
        case Var():
            found.add(expr)
        case Affine():
            for atom, _ in expr.terms:
                if type(atom) is Var:
                    found.add(atom)
                else:
                    _add_vars(atom, found)
        case Read() | Window():
            found.add(expr.buf)
            for index in expr.idx:
                _add_vars(index, found)
        case StrideOf():
            found.add(expr.buf)
        case _:
            for part in sub_exprs(expr):
                _add_vars(part, found)


def mentions(value: Affine, var: Var) -> bool:
    """Whether an affine expression depends on a loop variable or size."""
    return any(mentions_atom(atom, var) for atom, _ in value.terms)


def mentions_atom(atom: Atom, var: Var) -> bool:
    """Whether a variable or term is in it."""
    match atom:
        case Var():
            return atom.uid == var.uid
        case FloorDiv() | Mod():
            return mentions(atom.num, var)
        case StrideOf():
            return atom.buf == var
        case _:
            return False


@per_node
def _own_vars(stmt: Stmt) -> frozenset[Var]:
    """Variables used in a statement, not those of nested statements."""
    found: set[Var] = set()
    if isinstance(stmt, Assign | Reduce):
        found.add(stmt.buf)
    for expr in stmt_exprs(stmt):
        _add_vars(expr, found)
    return frozenset(found)


@per_node
def _used_in(stmt: Stmt) -> frozenset[Var]:
    return _own_vars(stmt).union(*(_used_in(inner) for b in blocks(stmt) for inner in b))


@per_node
def free_vars(stmt: Stmt) -> frozenset[Var]:
    """Variables used in a statement and what is nested in it, and bound outside."""
    found = set(_own_vars(stmt))
    for block in blocks(stmt):
        found.update(*map(free_vars, block))
        found -= bound_in(block)
    if isinstance(stmt, For):
        found.discard(stmt.iter)
    return frozenset(found)


def binds(stmt: Stmt) -> Var | None:
    """The variable that a statement binds for those after it in its block."""
    match stmt:
        case Alloc():
            return stmt.buf
        case WindowStmt():
            return stmt.name
        case _:
            return None


def bound_in(block: tuple[Stmt, ...]) -> set[Var]:
    """The variables that statements of a block bind for those after them."""
    return {var for stmt in block if (var := binds(stmt))}


@per_node
def bound_count(stmt: Stmt) -> int:
    """How many variables a statement binds, those of nested statements included."""
    inside = sum(bound_count(inner) for block in blocks(stmt) for inner in block)
    return inside + isinstance(stmt, For | Alloc | WindowStmt)


@per_node
def statement_count(stmt: Stmt) -> int:
    """The statement itself and all that are nested in it."""
    return 1 + sum(statement_count(inner) for block in blocks(stmt) for inner in block)


def evaluate_affine(value: Affine, env: Callable[[Atom], int]) -> int:
    """Value of an affine expression; `env` supplies variables, strides and config fields."""
    total = value.const
    for atom, coefficient in value.terms:
        match atom:
            case FloorDiv():
                part = evaluate_affine(atom.num, env) // atom.den
            case Mod():
                part = evaluate_affine(atom.num, env) % atom.den
            case _:
                part = env(atom)
        total += coefficient * part
    return total


def substituted(value: Affine, leaf: Callable[[Leaf], Affine]) -> Affine:
    """`value` with what `leaf` gives for its variables, strides and config fields."""
    total = Affine(value.const)
    for atom, coefficient in value.terms:
        match atom:
            case FloorDiv():
                part = floor_div(substituted(atom.num, leaf), atom.den)
            case Mod():
                part = modulo(substituted(atom.num, leaf), atom.den)
            case _:
                part = leaf(atom)
        total = total + part.scaled(coefficient)
    return total


def with_reads(expr: Expr, value: Callable[[Read], Expr]) -> Expr:
    """An expression with what `value` gives in the place of what it reads."""
    match expr:
        case Read():
            return value(expr)
        case USub():
            return USub(with_reads(expr.arg, value), expr.type)
        case BinOp():
            lhs, rhs = with_reads(expr.lhs, value), with_reads(expr.rhs, value)
            return BinOp(expr.op, lhs, rhs, expr.type)
        case Extern():
            args = tuple(with_reads(arg, value) for arg in expr.args)
            return Extern(expr.name, args, expr.type)
        case _:
            return expr
