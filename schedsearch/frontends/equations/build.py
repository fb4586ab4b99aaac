"""From equations to a program on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import INTEGERS
from schedsearch.core.functions import FUNCTIONS
from schedsearch.frontends import graph as g
from schedsearch.frontends import types
from schedsearch.frontends.bounds import Loop, lowest, never_negative
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.equations.contraction import contracted
from schedsearch.frontends.equations.extents import ZERO, Index, Read, Sizes, infer, shown
from schedsearch.frontends.equations.meant import Meant, Term, length, on_places
from schedsearch.frontends.functions import EXO_NAMES
from schedsearch.frontends.lowered import Refusal
from schedsearch.frontends.views import replaced

Namer = Callable[[s.Access], q.Affine]
"""What a name in an affine expression is."""


@dataclass(frozen=True, eq=False)
class Equations:
    """A program of equations, understood. `inputs`, `outputs` and `temporaries` are names of
    arrays; an array that is only written in part is input and output. `returned` are the results of
    a call, of `outputs`. `fits`: as in `Sizes`."""

    name: str
    text: s.Text
    meant: tuple[Meant, ...]
    shapes: Mapping[str, tuple[q.Affine, ...]]
    kinds: Mapping[str, str]
    sizes: tuple[q.Var, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    returned: tuple[str, ...]
    temporaries: tuple[str, ...]
    sources: Mapping[str, Path]
    sinks: Mapping[str, Path]
    fits: tuple[tuple[q.Var, q.Affine], ...]
    facts: tuple[q.Affine, ...]
    """What is not negative if all accesses are inside, where sizes do not imply it."""

    @cached_property
    def graph(self) -> g.Program:
        return _program(self)


@dataclass
class _Reading:
    """What grows while statements are read."""

    text: s.Text
    default: str
    given: Mapping[str, str]
    folder: Path
    sizes: Sizes
    names: dict[str, q.Var] = field(default_factory=dict)
    """Sizes that declarations name."""
    lengths: dict[str, q.Affine] = field(default_factory=dict)
    """Of indices, declared."""
    kinds: dict[str, str] = field(default_factory=dict)
    declared: dict[str, s.Place] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    inputs: list[str] = field(default_factory=list)
    hints: Mapping[str, int] | None = None
    sources: dict[str, Path] = field(default_factory=dict)


def understood(
    statements: Sequence[s.Statement],
    text: s.Text,
    *,
    name: str,
    default: str,
    given: Mapping[str, str],
    folder: Path,
    hints: Mapping[str, int] | None = None,
) -> Equations:
    """The program that statements are. `given` are types of arrays by name, others are `default`;
    names of files are relative to `folder`; `hints` are lengths of indices, as in `contracted`.
    Raises UserError for what is refused."""
    equations = [each for each in statements if isinstance(each, s.Equation)]
    taken = {access.name for each in equations for access in s.accesses(each.value)}
    taken |= {each.target.name for each in equations}
    work = _Reading(text, default, given, folder, Sizes(text, taken), hints=hints)
    for each in statements:
        match each:
            case s.Declaration():
                _declare(each, work)
            case s.Source():
                _open(each, work)
            case _:
                pass
    if not equations:
        text.refuse(s.Place(1, 1), "no equation", "nothing would be computed", "write one")
    ranks = _ranks(equations, work)
    meant = tuple(_meant(each, ranks, work) for each in equations)
    _check_given(work, equations)
    return _whole(name, statements, meant, work)


def _declare(each: s.Declaration, work: _Reading) -> None:
    refuse = work.text.refuse
    if each.name in work.declared:
        line = work.declared[each.name].line
        refuse(each.place, each.name, f"line {line} declares it", "declare it once")
    work.declared[each.name] = each.place
    sizes = [_size(size, work) for size in each.sizes]
    if each.type != "index":
        work.kinds[each.name] = each.type
        work.sizes.shapes[each.name] = list(sizes)
    elif len(sizes) != 1:
        refuse(each.place, each.name, "an index has one length", f"write `{each.name}: index[8]`")
    else:
        work.lengths[each.name] = sizes[0]


def _size(expr: s.Expr, work: _Reading) -> q.Affine:
    def named(access: s.Access) -> q.Affine:
        if access.name not in work.names:
            work.names[access.name] = g.fresh(access.name)
            work.sizes.taken.add(access.name)
        return q.as_affine(work.names[access.name])

    size = affine(expr, named, work.text, "size")
    if size.is_const and size.const < 1:
        work.text.refuse(
            expr.place, f"size {size.const}", "arrays have 1 element at least", "mend it"
        )
    return size


def _open(each: s.Source, work: _Reading) -> None:
    """Type and shape are the file's, unless they are declared."""
    path = work.folder / each.path
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(found, np.ndarray):
            raise ValueError("it is no .npy file")
        kind = types.named(found.dtype, f"array in {each.path}")
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        work.text.refuse(
            each.place, f"load({each.path!r})", cause, "give a .npy file that is there"
        )
    except Refusal as refusal:
        construct, reason, instead = refusal.parts
        work.text.refuse(each.place, construct, reason, instead)
    if each.name in work.sources:
        work.text.refuse(each.place, each.name, "it is loaded already", "load it once")
    work.sources[each.name] = path
    sizes = work.sizes.shapes.setdefault(each.name, list(map(q.Affine, found.shape)))
    declared = work.kinds.setdefault(each.name, kind)
    fits = len(sizes) == found.ndim and all(
        n is None or not n.is_const or n.const == m for n, m in zip(sizes, found.shape, strict=True)
    )
    if declared != kind or not fits or 0 in found.shape:
        shape = ", ".join(map(str, found.shape))
        work.text.refuse(
            each.place,
            f"load({each.path!r})",
            f"its array is {kind}[{shape}]" + (", which is empty" if 0 in found.shape else ""),
            "declare what the file has, or nothing",
        )


def _ranks(equations: Sequence[s.Equation], work: _Reading) -> dict[str, int]:
    """The number of indices of each array, the same everywhere. Names that are indices or sizes
    are no arrays."""
    ranks = {name: len(shape) for name, shape in work.sizes.shapes.items()}
    assigned = {each.target.name for each in equations}
    for each in equations:
        indices = _index_names(each, work)
        for access in (each.target, *s.accesses(each.value)):
            name, rank = access.name, len(access.index)
            known = name in indices or name in work.names or name in work.lengths
            if not rank and name not in assigned and known:
                continue
            if rank and name in indices:
                work.text.refuse(
                    access.place, name, "it is an index and an array", "rename one of them"
                )
            if ranks.setdefault(name, rank) != rank:
                work.text.refuse(
                    access.place,
                    name,
                    f"it has {_counted(ranks[name])} elsewhere, and {_counted(rank)} here",
                    "give it as many everywhere",
                )
    for name, rank in ranks.items():
        work.sizes.shapes.setdefault(name, [None] * rank)
    return ranks


def _counted(rank: int) -> str:
    return "no index" if not rank else "1 index" if rank == 1 else f"{rank} indices"


def _index_names(each: s.Equation, work: _Reading) -> set[str]:
    """Names within brackets that are no sizes."""
    found = {
        inner.name
        for access in (each.target, *s.accesses(each.value))
        for expr in access.index
        for inner in s.accesses(expr)
        if not inner.index
    }
    return found - work.names.keys()


def affine(expr: s.Expr, named: Namer, text: s.Text, what: str = "index") -> q.Affine:
    """An expression of names and numbers, multiplied by numbers only."""

    def refuse(place: s.Place, reason: str) -> q.Affine:
        text.refuse(
            place,
            what,
            f"{reason}, so that it is not affine",
            "use sums of names, and of products with whole numbers, as in `2*i + j - 1`",
        )

    def of(expr: s.Expr) -> q.Affine:
        match expr:
            case s.Number(_, int() as value):
                return q.Affine(value)
            case s.Number():
                return refuse(expr.place, f"{expr.value} is no whole number")
            case s.Access():
                if expr.index:
                    return refuse(expr.place, f"it depends on elements of {expr.name}")
                return named(expr)
            case s.Negative():
                return of(expr.arg).scaled(-1)
            case s.Binary():
                lhs, rhs = of(expr.lhs), of(expr.rhs)
                if expr.op == "+":
                    return lhs + rhs
                if expr.op == "-":
                    return lhs - rhs
                if expr.op == "*" and (lhs.is_const or rhs.is_const):
                    return rhs.scaled(lhs.const) if lhs.is_const else lhs.scaled(rhs.const)
                reason = "it divides" if expr.op == "/" else "it multiplies names"
                return refuse(expr.place, reason)
            case s.Call():
                return refuse(expr.place, f"it calls {expr.function}")
            case s.Where():
                return refuse(expr.place, "it chooses by `where`")

    return of(expr)


# -- one equation ----------------------------------------------------------------------------------


def _meant(each: s.Equation, ranks: Mapping[str, int], work: _Reading) -> Meant:
    indices: dict[str, Index] = {}

    def named(access: s.Access) -> q.Affine:
        name = access.name
        if name in work.names:
            return q.as_affine(work.names[name])
        if name in ranks:
            work.text.refuse(
                access.place, name, "an index that depends on data is not affine", "use an index"
            )
        if name not in indices:
            indices[name] = Index(name, g.fresh(name))
            if name in work.lengths:
                indices[name].hi = work.lengths[name]
                indices[name].where = f"its declaration in line {work.declared[name].line}"
        return q.as_affine(indices[name].var)

    def read(access: s.Access) -> Read:
        places = tuple(affine(index, named, work.text) for index in access.index)
        return Read(access.name, places, access.place)

    target = read(each.target)
    for access in s.accesses(each.value):
        if access.name in work.lengths and access.name not in ranks:
            named(access)  # it may be in conditions only
    found = [access for access in s.accesses(each.value) if access.name in ranks]
    reads = [read(access) for access in found]
    for access in found:
        if access.name == target.name and not each.add:
            work.text.refuse(
                access.place,
                access.name,
                "an equation does not depend on itself",
                "use `+=`, or another name on the left",
            )
        if access.name not in work.assigned and access.name not in work.inputs:
            work.inputs.append(access.name)
    for access in found:
        work.kinds.setdefault(access.name, work.given.get(access.name, work.default))
    by_var = {index.var: index for index in indices.values()}
    infer(work.sizes, target, reads, by_var)
    kept = tuple(index for index in indices.values() if _has(target, index))
    _check_once(target, kept, by_var, work)
    shape = work.sizes.shapes[target.name]
    whole = all(
        place.as_var in by_var
        and (index := by_var[place.as_var]).lo == ZERO
        and index.hi is not None
        and n is not None
        and work.sizes.now(index.hi) == work.sizes.now(n)
        for place, n in zip(target.index, shape, strict=True)
    ) and len({place.as_var for place in target.index}) == len(target.index)
    if (each.add or not whole) and target.name not in {*work.assigned, *work.inputs}:
        work.inputs.append(target.name)
    work.assigned.add(target.name)
    kind = _kind(each, found, work)
    return Meant(
        each, target, kept, indices, _terms(each, indices, kept), kind, whole, (target, *reads)
    )


def _has(read: Read, index: Index) -> bool:
    return any(place.coefficient(index.var) for place in read.index)


def _check_once(
    target: Read, kept: Sequence[Index], by_var: Mapping[q.Var, Index], work: _Reading
) -> None:
    for index in kept:
        if not any(
            place.coefficient(index.var)
            and sum(atom in by_var for atom, _ in place.terms if isinstance(atom, q.Var)) == 1
            for place in target.index
        ):
            work.text.refuse(
                target.place,
                target.name,
                f"elements may be assigned several times, as {index.name} is nowhere alone",
                "write the sum as an equation with plain indices on the left",
            )


def _kind(each: s.Equation, found: Sequence[s.Access], work: _Reading) -> str:
    """The type in which an equation is computed: NumPy's, of its arrays and what it declares to be
    the result. Raises UserError for what integers do not have."""
    name = each.target.name
    known = work.kinds.get(name) or work.given.get(name)
    kinds = [work.kinds[access.name] for access in found]
    kinds += [known] if known else []
    try:
        kind = types.result_type(*kinds) if kinds else work.default
    except Refusal as refusal:
        construct, reason, _ = refusal.parts
        work.text.refuse(each.place, construct, reason, "declare a type: `A: f64[N]`")
    work.kinds.setdefault(name, known or kind)
    for expr in s.walk(each.value):
        match expr:
            case s.Call():
                _check_call(expr, kind, work.text)
            case s.Binary() if expr.op == "/" and kind in INTEGERS:
                _only_floats(expr.place, "/", kind, name, work.text)
            case s.Number() if kind in INTEGERS:
                _, high = INTEGERS[kind] or (0, 0)
                if isinstance(expr.value, float) or expr.value > high:
                    _only_floats(expr.place, f"{expr.value}", kind, name, work.text)
            case _:
                pass
    return types.computed(kind)


def _only_floats(place: s.Place, what: str, kind: str, name: str, text: s.Text) -> None:
    text.refuse(
        place, what, f"the arrays are {kind}, which has none", f"declare `{name}: f64[...]`"
    )


def _check_call(call: s.Call, kind: str, text: s.Text) -> None:
    if call.function not in EXO_NAMES:
        known = ", ".join((*EXO_NAMES, "where"))
        text.refuse(call.place, call.function, "no function is called that", f"known: {known}")
    row = FUNCTIONS[EXO_NAMES[call.function]]
    if row.arity != len(call.args):
        text.refuse(
            call.place, call.function, f"it has {len(call.args)} arguments", f"give {row.arity}"
        )
    if kind in INTEGERS and not row.whole:
        text.refuse(
            call.place,
            call.function,
            f"it is a function of floats, and the arrays are {kind}",
            "declare the result f32 or f64",
        )


def _terms(
    each: s.Equation, indices: Mapping[str, Index], kept: Sequence[Index]
) -> tuple[Term, ...]:
    """Terms of a sum are projected each over its own indices; those over the same are one. Other
    projections are of the whole right side."""
    parts = list(_summands(each.value)) if each.project == "sum" else [each.value]
    found: dict[tuple[str, ...], s.Expr] = {}
    for part in parts:
        names = _names_in(part)
        gone = tuple(name for name, index in indices.items() if name in names and index not in kept)
        if gone in found:
            minus = isinstance(part, s.Negative)
            added = part.arg if isinstance(part, s.Negative) else part
            part = s.Binary(part.place, "-" if minus else "+", found[gone], added)
        found[gone] = part
    ordered = sorted(found.items(), key=lambda item: bool(item[0]))
    return tuple(Term(value, tuple(indices[name] for name in gone)) for gone, value in ordered)


def _names_in(expr: s.Expr) -> set[str]:
    """Those of indices and scalars."""
    found = s.accesses(expr)
    inner = (each.name for access in found for i in access.index for each in s.accesses(i))
    return {*inner, *(access.name for access in found if not access.index)}


def _summands(expr: s.Expr, negative: bool = False) -> Iterator[s.Expr]:
    match expr:
        case s.Binary() if expr.op in "+-":
            yield from _summands(expr.lhs, negative)
            yield from _summands(expr.rhs, negative != (expr.op == "-"))
        case s.Negative():
            yield from _summands(expr.arg, not negative)
        case _:
            yield s.Negative(expr.place, expr) if negative else expr


# -- the whole program -----------------------------------------------------------------------------


def _check_given(work: _Reading, equations: Sequence[s.Equation]) -> None:
    used = {access.name for each in equations for access in s.accesses(each.value)}
    used |= {each.target.name for each in equations}
    used |= {name for each in equations for name in _index_names(each, work)}
    for name, place in work.declared.items():
        if name not in used:
            work.text.refuse(place, name, "no equation has it", "remove the declaration")
    if unknown := sorted(work.given.keys() - used):
        first = s.Place(1, 1)
        work.text.refuse(
            first, unknown[0], "types give it a type, and no equation has it", "mend it"
        )


def _whole(
    name: str, statements: Sequence[s.Statement], meant: tuple[Meant, ...], work: _Reading
) -> Equations:
    assigned = list(dict.fromkeys(each.target.name for each in meant))
    last_read: dict[str, int] = {}
    last_write: dict[str, int] = {}
    for number, each in enumerate(meant):
        for access in s.accesses(each.equation.value):
            last_read[access.name] = number
        last_write[each.target.name] = number
    asked: list[str] = []
    sinks: dict[str, Path] = {}
    for stmt in statements:
        names: tuple[str, ...] = ()
        if isinstance(stmt, s.Outputs):
            names = stmt.names
            asked += names
        elif isinstance(stmt, s.Sink):
            names = (stmt.name,)
            sinks[stmt.name] = work.folder / stmt.path
        for each_name in names:
            if each_name not in assigned:
                work.text.refuse(
                    stmt.place, each_name, "no equation assigns it", "name what is computed"
                )
    final = [n for n in assigned if last_read.get(n, -1) <= last_write[n]]
    wanted = {*(asked or final), *sinks, *(n for n in assigned if n in work.inputs)}
    outputs = tuple(n for n in assigned if n in wanted)
    shapes = {n: work.sizes.shape(n) for n in work.sizes.shapes}
    sizes: set[q.Var] = set()
    for shape in shapes.values():
        sizes |= {var for n in shape for var in q.expr_vars(n)}
    for each in meant:
        for index in each.indices.values():
            index.lo = work.sizes.now(index.lo)
            index.hi = work.sizes.now(index.hi or ZERO)
            sizes |= q.expr_vars(index.hi)
        for access in s.accesses(each.equation.value):
            if access.name in work.names and access.name not in shapes:
                sizes.add(work.names[access.name])
    steps: list[Meant] = []
    made: list[str] = []
    for each in meant:
        more, last = contracted(each, work.hints, taken=shapes.keys())
        for step in more:
            made.append(step.target.name)
            shapes[step.target.name] = tuple(map(length, step.kept))
            work.kinds[step.target.name] = step.kind
        steps += [*more, last]
    return Equations(
        name,
        work.text,
        tuple(steps),
        shapes,
        work.kinds,
        tuple(sorted(sizes, key=lambda var: var.uid)),
        tuple(work.inputs),
        outputs,
        tuple(dict.fromkeys(asked)) or outputs,
        (*(n for n in assigned if n not in wanted and n not in work.inputs), *made),
        work.sources,
        sinks,
        tuple((var, work.sizes.now(room)) for var, room in work.sizes.fits),
        tuple(dict.fromkeys(fact for each in meant for fact in _facts(each, shapes, work))),
    )


def _facts(
    meant: Meant, shapes: Mapping[str, tuple[q.Affine, ...]], work: _Reading
) -> Iterator[q.Affine]:
    loops = [Loop(i.var, i.lo, i.hi or ZERO) for i in meant.indices.values()]
    for read in meant.reads:
        for place, n in zip(read.index, shapes[read.name], strict=True):
            for room in (work.sizes.now(place), n - 1 - work.sizes.now(place)):
                fact = lowest(room, loops)
                if fact is None or never_negative(fact):
                    continue
                if fact.is_const:
                    work.text.refuse(
                        read.place, shown(read), "it is outside of the array", "change its index"
                    )
                yield fact


# -- the graph -------------------------------------------------------------------------------------


def _program(of: Equations) -> g.Program:
    arrays = {
        name: g.Array(name, of.kinds[name], of.shapes[name])
        for name in (*of.inputs, *of.outputs, *of.temporaries)
    }
    outputs = [name for name in of.outputs if name not in of.inputs]
    body: list[g.Statement] = []
    allocated = set()
    for each in of.meant:
        line, name = each.equation.place.line, each.target.name
        if name in of.temporaries and name not in allocated:
            allocated.add(name)
            body.append(g.Allocate(arrays[name], line))
        body += _Equation(of, each, arrays).stores()
    called = tuple(arrays[name] for name in (*of.inputs, *outputs))
    facts = tuple(q.BinOp(">=", fact, ZERO, "bool") for fact in of.facts)
    return g.Program(of.name, (*of.sizes, *called), tuple(body), facts, of.text.file)


@dataclass(frozen=True)
class _Equation:
    """One equation as stores."""

    of: Equations
    meant: Meant
    arrays: Mapping[str, g.Array]

    def stores(self) -> Iterator[g.Statement]:
        meant = self.meant
        read_too = any(each.name == meant.target.name for each in s.accesses(meant.equation.value))
        target = self.arrays[meant.target.name]
        if read_too or meant.kind != target.type:
            whole = reduce(self._sum, map(self._term, meant.terms))
            yield self._store(types.cast(whole, target.type), add=meant.equation.add)
            return
        by = None if meant.equation.add else self._divisor()
        terms = meant.terms if by is None else [replace(meant.terms[0], value=by.lhs)]
        for number, term in enumerate(terms):
            yield self._store(self._term(term), add=meant.equation.add or number > 0)
        if by is not None:
            quotient = replace(by, lhs=meant.equation.target)
            yield self._store(self._value(quotient, meant.kept), add=False)

    def _divisor(self) -> s.Binary | None:
        """The right side if it is a sum of quotients with one divisor, by which the sum is divided
        in the end: once, and what is summed may be a product."""
        [first, *others] = self.meant.terms
        value, gone = first.value, {index.name for index in first.gone}
        if others or not gone or self.meant.equation.project != "sum":
            return None
        if not (isinstance(value, s.Binary) and value.op == "/"):
            return None
        return None if gone & _names_in(value.rhs) else value

    def _sum(self, one: g.Value, other: g.Value) -> g.Value:
        return g.Apply("+", (one, other), one.type, one.shape)

    def _store(self, value: g.Value, *, add: bool) -> g.Store:
        meant = self.meant
        names = tuple(g.fresh(index.name) for index in meant.kept)
        index = _moved(meant.target.index, meant.kept, names)
        target, line = self.arrays[meant.target.name], meant.equation.place.line
        return g.Store(target, names, index, value, add, line)

    def _term(self, term: Term) -> g.Value:
        space = (*self.meant.kept, *term.gone)
        value = self._value(term.value, space)
        if not term.gone:
            return value
        axes = tuple(range(len(self.meant.kept), len(space)))
        return g.Reduce(self.meant.equation.project, value, axes)

    def _value(self, expr: s.Expr, space: Sequence[Index]) -> g.Value:
        """An expression over all places of some indices."""
        shape = tuple(length(index) for index in space)
        kind = self.meant.kind

        def over(source: g.Value, index: tuple[q.Affine, ...] = ()) -> g.Value:
            names = tuple(g.fresh(each.name) for each in space)
            return g.View(source, names, shape, _moved(index, space, names))

        def of(expr: s.Expr) -> g.Value:
            match expr:
                case s.Number():
                    return over(types.constant(expr.value, kind))
                case s.Access() if expr.name in self.arrays:
                    source = types.cast(g.Load(self.arrays[expr.name]), kind)
                    return over(source, self._places(expr))
                case s.Access():
                    return over(g.Count(self._size(expr), kind))
                case s.Negative():
                    return g.Apply("neg", (of(expr.arg),), kind, shape)
                case s.Binary():
                    return g.Apply(expr.op, (of(expr.lhs), of(expr.rhs)), kind, shape)
                case s.Call():
                    return g.Apply(expr.function, tuple(map(of, expr.args)), kind, shape)
                case s.Where():
                    return g.Select(condition(expr), of(expr.then), of(expr.other))

        def condition(expr: s.Where) -> g.Condition:
            if not on_places(expr, self.meant.indices):
                return g.Compare(expr.op, of(expr.lhs), of(expr.rhs))
            names = tuple(g.fresh(each.name) for each in space)
            sides = tuple(affine(side, self._named, self.of.text) for side in (expr.lhs, expr.rhs))
            lhs, rhs = _moved(sides, space, names)
            return g.Inside(names, q.BinOp(expr.op, lhs, rhs, "bool"))

        return of(expr)

    def _places(self, access: s.Access) -> tuple[q.Affine, ...]:
        return tuple(affine(index, self._named, self.of.text) for index in access.index)

    def _named(self, access: s.Access) -> q.Affine:
        if access.name in self.meant.indices:
            return q.as_affine(self.meant.indices[access.name].var)
        if access.name in self.arrays:
            self.of.text.refuse(
                access.place, access.name, "indices are not compared with data", "compare indices"
            )
        return self._size(access)

    def _size(self, access: s.Access) -> q.Affine:
        if access.name in self.meant.indices:
            self.of.text.refuse(
                access.place, access.name, "an index is no number", "load an array that has them"
            )
        return q.as_affine(next(var for var in self.of.sizes if var.name == access.name))


def _moved(
    places: Sequence[q.Affine], space: Sequence[Index], names: Sequence[q.Var]
) -> tuple[q.Affine, ...]:
    """Places in terms of variables that begin at 0."""
    to = {i.var: q.as_affine(name) + i.lo for i, name in zip(space, names, strict=True)}
    return tuple(replaced(place, to) for place in places)
