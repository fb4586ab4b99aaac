"""The text of a program on whole arrays, for a library that has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

import numpy as np

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.core.text import show_affine
from schedsearch.peers.arraywise import (
    Access,
    Buffer,
    NotArraywise,
    Program,
    Step,
    Update,
    computed,
)

DTYPES = {name: each.numpy for name, each in ELEMENT_TYPES.items()}
_MAGNITUDES = {"i8": 1 << 7, "ui8": 1 << 8, "ui16": 1 << 16}
_EXACT = {"f32": 1 << 24, "f64": 1 << 53}
_MOST_ELEMENTS = 1 << 27


@dataclass(frozen=True)
class Library:
    """How a library with NumPy's model of arrays calls the functions that we need."""

    module: str
    operators: Mapping[str, str]
    functions: Mapping[str, str]
    copy: str
    permute: str
    axis: str
    heading: tuple[str, ...] = ()


NUMPY = Library(
    module="numpy",
    operators={"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "neg": "negative"},
    functions={name: row.numpy for name, row in FUNCTIONS.items() if row.numpy},
    copy="np.copyto({to}, {value}, casting='unsafe')",
    permute="transpose",
    axis="axis",
)
TORCH = Library(
    module="torch",
    operators={"+": "add", "-": "sub", "*": "mul", "/": "div", "neg": "neg"},
    functions={name: row.torch for name, row in FUNCTIONS.items() if row.torch},
    copy="{to}.copy_({value})",
    permute="permute",
    axis="dim",
    heading=("np.set_grad_enabled(False)",),
)


@dataclass(frozen=True)
class Value:
    """The value of a line of text. `vars` are those of its dimensions, in order; None where one
    element serves all. `scratch`: it may be overwritten."""

    text: str
    kind: str
    vars: tuple[q.Var | None, ...] = ()
    scratch: bool = False


def array_text(program: Program, library: Library = NUMPY) -> str:
    """Python that defines `prepare`. Called with the arrays, in the order of the arguments,
    `prepare` returns a call that does the work of the procedure. Raises NotArraywise."""
    writer = _Writer(library, {each.name for each in (*program.arguments, *program.temporaries)})
    for buffer in program.arguments if library is TORCH else ():
        writer.prepared.append(f"{writer.name(buffer)} = np.from_numpy({writer.name(buffer)})")
    for buffer in program.temporaries:
        writer.prepared.append(f"{writer.name(buffer)} = {_empty(buffer.shape, buffer.kind)}")
    for step in program.steps:
        writer.step(step)
    arguments = ", ".join(writer.name(buffer) for buffer in program.arguments)
    lines = [f"import {library.module} as np", "", "", f"def prepare({arguments}):"]
    lines += [f"    {line}" for line in (*library.heading, *writer.prepared)]
    lines += ["", "    def call():"] if writer.prepared else ["    def call():"]
    lines += [f"        {line}" for line in writer.lines or ["pass"]]
    return "\n".join([*lines, "", "    return call", ""])


def _empty(shape: Sequence[int], kind: str) -> str:
    return f"np.empty({tuple(shape)!r}, dtype=np.{DTYPES[kind]})"


@dataclass
class _Writer:
    library: Library
    names: set[str]
    prepared: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    indent: str = ""
    views: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    def name(self, buffer: Buffer) -> str:
        return f"{buffer.name}_" if buffer.name in ("np", "prepare", "call") else buffer.name

    def new(self, prefix: str) -> str:
        while (name := f"{prefix}{next(self.numbers)}") in self.names:
            pass
        return name

    def say(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def step(self, step: Step) -> None:
        if isinstance(step, Update):
            _Statement(self, step).write()
            return
        self.say(f"for {unique_name(step.var)} in range({step.low}, {step.high}):")
        outer, self.indent, before = self.indent, self.indent + "    ", len(self.lines)
        for inner in step.body:
            self.step(inner)
        if len(self.lines) == before:
            self.say("pass")
        self.indent = outer

    def view(self, text: str, plain: str, moves: bool) -> str:
        """A name for a view that is the same in every call; the text itself if it `moves`."""
        if text == plain or moves:
            return text
        if text not in self.views:
            self.views[text] = self.new("v")
            self.prepared.append(f"{self.views[text]} = {text}")
        return self.views[text]

    def scratch(self, shape: Sequence[int], kind: str) -> str:
        name = self.new("t")
        self.prepared.append(f"{name} = {_empty(shape, kind)}")
        return name


def unique_name(var: q.Var) -> str:
    """Several variables may be called alike."""
    return f"{var.name}_{var.uid}"


@dataclass
class _Statement:
    writer: _Writer
    update: Update

    def __post_init__(self) -> None:
        target = self.update.target.vars
        self.order = (*target, *self.update.summed)
        self.kind = computed(self.update.kind)
        self.library = self.writer.library

    def refused(self, reason: str) -> NotArraywise:
        text = self.update.text
        return NotArraywise(f"`{text}` has no form in {self.library.module}: {reason}")

    # -- stores ---------------------------------------------------------------------

    def write(self) -> None:
        update = self.update
        target = self.view(update.target, self.order[: len(update.target.vars)])
        straight = update.target.buffer.kind == self.kind
        into = target.text if straight and not update.adds else None
        if update.summed:
            value = self.contracted(into) or self.total(into)
        else:
            value = self.value(update.value, into)
        if value.text == into:
            return
        if not update.adds:
            self.writer.say(self.library.copy.format(to=target.text, value=value.text))
            return
        if not straight:
            # Converted first, then added, as in C.
            self.kind = computed(update.target.buffer.kind)
            shape = tuple(update.extent(var) if var else 1 for var in value.vars)
            converted = self.writer.scratch(shape, self.kind)
            self.writer.say(self.library.copy.format(to=converted, value=value.text))
            value = Value(converted, self.kind, value.vars, scratch=True)
        if update.target.buffer.kind == self.kind:
            self.call("+", target, value, into=target.text)
        else:
            total = self.call("+", target, value, into=None)
            self.writer.say(self.library.copy.format(to=target.text, value=total.text))

    def total(self, into: str | None) -> Value:
        """The sum of any expression, made as large as all its loops."""
        shape = self.shape(self.order)
        if prod(shape) > _MOST_ELEMENTS:
            raise self.refused("what is summed takes too much memory")
        value = self.value(self.update.value, None)
        text = value.text
        if self.full(value) != self.order:
            text = f"np.broadcast_to({_tensor(text, value, self.library)}, {shape!r})"
        kept = self.order[: len(self.update.target.vars)]
        axes = tuple(range(len(kept), len(self.order)))
        out = into or self.writer.scratch(self.shape(kept), self.kind)
        dtype = "" if self.kind[0] == "f" else f"dtype=np.{DTYPES[self.kind]}, "
        self.writer.say(f"np.sum({text}, {self.library.axis}={axes!r}, {dtype}out={out})")
        return Value(out, self.kind, kept, scratch=out != into)

    # -- expressions -----------------------------------------------------------------

    def value(self, expr: q.Expr, into: str | None) -> Value:
        match expr:
            case q.Const():
                number = float(expr.value) if self.kind[0] == "f" else int(expr.value)
                return Value(repr(number), self.kind)
            case q.Read():
                return self.view(self.update.accesses[expr], self.order)
            case q.USub():
                return self.call("neg", self.value(expr.arg, None), into=into)
            case q.BinOp() if expr.op in self.library.operators:
                if expr.op == "/" and self.kind[0] != "f":
                    raise self.refused("integers are divided otherwise in C")
                sides = self.value(expr.lhs, None), self.value(expr.rhs, None)
                return self.call(expr.op, *sides, into=into)
            case q.Extern():
                return self.extern(expr, into)
            case _:
                raise self.refused("it is no arithmetic")

    def extern(self, expr: q.Extern, into: str | None) -> Value:
        function = FUNCTIONS.get(expr.name)
        if function is None:
            raise self.refused(f"{expr.name} is not known")
        if self.kind not in ("f16", "f32") and function.precision == "f32":
            raise self.refused(f"{expr.name} computes in single precision")
        args = [self.value(arg, None) for arg in expr.args]
        if expr.name in self.library.functions:
            return self.call(self.library.functions[expr.name], *args, into=into)
        one = Value("1.0", self.kind)
        if expr.name.rstrip("_") == "relu":
            return self.call("maximum", args[0], self.number(0), into=into)
        if expr.name.rstrip("_") == "sigmoid":
            raised = self.call("exp", self.call("neg", args[0], into=None), into=None)
            return self.call("/", one, self.call("+", raised, one, into=None), into=into)
        if function.chooses:
            vars_ = self.merged(args)
            first, second, yes, no = (arg.text for arg in args)
            out = self.writer.new("t")
            chosen = f"{first} {function.chooses} {second}"
            self.writer.say(f"{out} = np.where({chosen}, {yes}, {no})")
            return Value(out, self.kind, vars_)
        raise self.refused(f"the library has no {expr.name}")

    def number(self, value: float) -> Value:
        """A number as an array: PyTorch's functions, unlike operators, take no numbers."""
        name = self.writer.new("t")
        self.writer.prepared.append(
            f"{name} = np.full((), {value!r}, dtype=np.{DTYPES[self.kind]})"
        )
        return Value(name, self.kind)

    def call(self, what: str, *args: Value, into: str | None) -> Value:
        """One operation. Its result goes into a given array, into an operand that is no longer
        needed, or into a new array."""
        vars_ = self.merged(args)
        if self.library is TORCH and vars_ != self.order[: len(self.update.target.vars)]:
            into = None  # where NumPy repeats a smaller result, PyTorch shrinks what it goes into
        if not into:
            reused = [a.text for a in args if a.scratch and a.vars == vars_ and a.kind == self.kind]
            shape = tuple(self.update.extent(var) if var else 1 for var in vars_)
            into = reused[0] if reused else self.writer.scratch(shape, self.kind)
        name = self.library.operators.get(what, what)
        operator = what in self.library.operators
        texts = [self.operand_text(a, number=operator and i > 0) for i, a in enumerate(args)]
        narrow = self.library is NUMPY and self.kind[0] != "f"
        dtype = f", dtype=np.{DTYPES[self.kind]}, casting='unsafe'" if narrow else ""
        self.writer.say(f"np.{name}({', '.join(texts)}, out={into}{dtype})")
        return Value(into, self.kind, vars_, scratch=True)

    def operand_text(self, value: Value, number: bool) -> str:
        """PyTorch computes in the type of the operands, and takes a `number` only as second one of
        an operator."""
        text = value.text if number else _tensor(value.text, value, self.library)
        if self.library is NUMPY or value.kind == self.kind:
            return text
        return f"{text}.to(np.{DTYPES[self.kind]})"

    def merged(self, args: Sequence[Value]) -> tuple[q.Var | None, ...]:
        """Dimensions of an operation on values, after broadcasting."""
        rank = max(len(arg.vars) for arg in args)
        padded = [(None,) * (rank - len(arg.vars)) + arg.vars for arg in args]
        return tuple(next(filter(None, at), None) for at in zip(*padded, strict=True))

    def full(self, value: Value) -> tuple[q.Var | None, ...]:
        return (None,) * (len(self.order) - len(value.vars)) + value.vars

    def shape(self, order: Sequence[q.Var]) -> tuple[int, ...]:
        return tuple(self.update.extent(var) for var in order)

    # -- views -----------------------------------------------------------------------

    def view(self, access: Access, order: Sequence[q.Var]) -> Value:
        """An access with its dimensions in `order`, fit to be broadcast."""
        text, moves = self.sliced(access)
        own = [var for var in order if var in access.vars]
        text = self.permuted(text, access.vars, own)
        dims: list[q.Var | None] = []
        if own:
            first = list(order).index(own[0])
            dims = [var if var in own else None for var in order[first:]]
            if None in dims:
                text += f"[{', '.join(':' if var else 'None' for var in dims)}]"
        kind = access.buffer.kind
        plain = self.writer.name(access.buffer)
        return Value(self.writer.view(text, plain, moves), kind, tuple(dims))

    def permuted(self, text: str, vars_: Sequence[q.Var], wanted: Sequence[q.Var]) -> str:
        if list(vars_) == list(wanted):
            return text
        axes = tuple(list(vars_).index(var) for var in wanted)
        return f"{text}.T" if axes == (1, 0) else f"{text}.{self.library.permute}{axes!r}"

    def sliced(self, access: Access) -> tuple[str, bool]:
        """The elements that are touched, dimensions as in the array; whether others are with
        each iteration of a loop in order."""
        name, moves = self.writer.name(access.buffer), False
        parts = []
        for index, extent in zip(access.idx, access.buffer.shape, strict=True):
            moves = moves or not index.start.is_const
            start = show_affine(index.start, unique_name)
            if index.var is None:
                parts.append(start)
                continue
            span = self.update.extent(index.var)
            whole = index.start == q.Affine() and span == extent and index.step == 1
            end = show_affine(index.start + ((span - 1) * index.step + 1), unique_name)
            step = "" if index.step == 1 else f":{index.step}"
            parts.append(":" if whole else f"{start}:{end}{step}")
        if all(part == ":" for part in parts):
            return name, moves
        if not access.vars:
            parts.append("...")  # an array still, that can be written
        return f"{name}[{', '.join(parts)}]", moves

    # -- contractions ----------------------------------------------------------------

    def contracted(self, into: str | None) -> Value | None:
        """A product of arrays, summed, in the form that BLAS takes; None if it is none."""
        terms = list(factors(self.update.value))
        if None in terms:
            return None
        accesses = [self.update.accesses[each] for each in terms if isinstance(each, q.Read)]
        arrays = [access for access in accesses if access.vars]
        covered = {var for access in arrays for var in access.vars}
        if len(arrays) < 2 or covered != set(self.order):
            return None
        numbers = [each for each in terms if not isinstance(each, q.Read)]
        scale = [self.value(each, None) for each in numbers if each is not None]
        scale += [self.view(access, self.order) for access in accesses if not access.vars]
        out = None if scale else into
        kept = self.order[: len(self.update.target.vars)]
        product = self.matmul(arrays, kept, out) or self.einsum(arrays, kept)
        for number, factor in enumerate(scale, 1):
            final = into if number == len(scale) else None
            product = self.call("*", product, factor, into=final)
        return product

    def matmul(self, arrays: list[Access], kept: Sequence[q.Var], into: str | None) -> Value | None:
        """Two operands with one summed variable, at most one variable of their own each (one
        operand may have several), and any that both and the result have."""
        if len(arrays) != 2:
            return None
        first, second = arrays
        both = [var for var in first.vars if var in second.vars]
        batch, inner = [v for v in kept if v in both], [v for v in both if v not in kept]
        own = [[v for v in each.vars if v not in both] for each in arrays]
        if len(inner) != 1 or any(set(each) - set(kept) for each in own):
            return None
        if (batch and not all(own)) or min(map(len, own)) > 1:
            return None
        stacked = max(map(len, own)) > 1
        if stacked and (batch or not all(own)):
            return None
        turned = len(own[0]) < len(own[1]) if stacked else _before(kept, own[1], own[0])
        if turned:
            first, second, own = second, first, own[::-1]
        kind, largest = self.kind, self.update.extent(inner[0])
        for each in arrays:
            largest *= _MAGNITUDES.get(each.buffer.kind, 1 << 31)
        if kind[0] != "f":
            kind = next((f for f, most in _EXACT.items() if largest < most), kind)
        elif kind == "f16":
            kind = "f32"  # BLAS has no other
        left = self.operand(first, (*batch, *own[0], *inner), kind)
        right = self.operand(second, (*batch, *inner, *own[1]), kind)
        made = (*batch, *own[0], *own[1])
        # Dimensions of the result as BLAS writes them; a permutation of it costs nothing.
        fits = tuple(made) == tuple(kept) and kind == self.kind
        out = into if fits and into else self.writer.scratch(self.shape(made), kind)
        self.writer.say(f"np.matmul({left}, {right}, out={out})")
        text = self.permuted(out, made, kept)
        return Value(text, kind, tuple(kept), scratch=text != into and kind == self.kind)

    def operand(self, access: Access, wanted: Sequence[q.Var], kind: str) -> str:
        text, moves = self.sliced(access)
        view = self.permuted(text, access.vars, wanted)
        view = self.writer.view(view, self.writer.name(access.buffer), moves)
        if access.buffer.kind == kind:
            return view
        converted = self.writer.scratch(self.shape(wanted), kind)
        self.writer.say(self.library.copy.format(to=converted, value=view))
        return converted

    def einsum(self, arrays: list[Access], kept: Sequence[q.Var]) -> Value:
        letters = {var: chr(ord("a") + at) for at, var in enumerate(self.order)}
        texts = [self.operand(each, each.vars, self.kind) for each in arrays]
        terms = ["".join(letters[var] for var in each.vars) for each in arrays]
        form = f"{','.join(terms)}->{''.join(letters[var] for var in kept)}"
        how = ""
        if self.library is NUMPY:
            stand_ins = [np.broadcast_to(np.float32(), self.shape(each.vars)) for each in arrays]
            # Found once: to look for it takes longer than small products.
            how = f", optimize={np.einsum_path(form, *stand_ins, optimize='optimal')[0]!r}"
        out = self.writer.new("t")
        self.writer.say(f"{out} = np.einsum({form!r}, {', '.join(texts)}{how})")
        return Value(out, self.kind, tuple(kept))


def factors(expr: q.Expr) -> Iterator[q.Read | q.Const | None]:
    """The factors of a product; None among them if the expression is another one."""
    match expr:
        case q.BinOp(op="*"):
            yield from factors(expr.lhs)
            yield from factors(expr.rhs)
        case q.USub():
            yield q.Const(-1, expr.type)
            yield from factors(expr.arg)
        case q.Read() | q.Const():
            yield expr
        case _:
            yield None


def _before(order: Sequence[q.Var], first: Sequence[q.Var], second: Sequence[q.Var]) -> bool:
    return bool(first and second) and order.index(first[0]) < order.index(second[0])


def _tensor(text: str, value: Value, library: Library) -> str:
    """PyTorch takes no number as first operand."""
    if library is NUMPY or value.vars or text.isidentifier() or "[" in text:
        return text
    return f"np.tensor({text}, dtype=np.{DTYPES[value.kind]})"
