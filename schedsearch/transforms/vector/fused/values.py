"""C of expressions on whole registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from schedsearch.core import ast as q
from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.vector.fused import masks, reverse, snippets
from schedsearch.transforms.vector.fused.elementary import elementary
from schedsearch.transforms.vector.fused.extremes import composed
from schedsearch.transforms.vector.fused.model import LANE, Fused, by_value, place_of, strides
from schedsearch.transforms.vector.fused.powers import power
from schedsearch.transforms.vector.fused.structures import member, members

Value = tuple[str, str, bool]
"""C text, element type, and whether it is a register rather than a scalar."""


@dataclass
class Values:
    """The values that a function of one instruction computes, and the helpers it turns out to need.
    `masked`: there may be fewer iterations than lanes; `chain`: of several, that of a minimum or
    maximum; `past`: registers of what iterations before left in arrays. `scans`: scalars are spread
    and choices made in ways that gcc makes single instructions of. `first`: names and C of what the
    lanes share and rows have loaded before all iterations: as far as compilers know, their stores
    could change it."""

    fused: Fused
    needed: dict[str, str] = field(default_factory=dict)
    masked: bool = False
    chain: int = 0
    past: dict[q.Read, str] = field(default_factory=dict)
    scans: bool = False
    first: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def count(self) -> str:
        """Iterations of a register: those that are left, or all."""
        return "n" if self.fused.whole or self.fused.once else "m"

    def vec(self, kind: str) -> str:
        """The register type."""
        name, text = snippets.types(kind, self.fused.lanes)
        self.needed.setdefault(name, text)
        return name

    def need(self, helper: snippets.Snippet, *kinds: str) -> str:
        """Name of a helper that works on registers of `kinds`."""
        for kind in kinds:
            self.vec(kind)
        name, text = helper
        self.needed.setdefault(name, text)
        return name

    def fixed(self, buf: q.Var) -> bool:
        """Whether it is an operand that the lanes share."""
        return buf.uid < len(self.fused.operands) and not self.fused.operands[buf.uid].moves

    def shared(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """The name of one element that the lanes share: its array's number, and where it is."""
        if self.fused.operands[buf.uid].places:
            return f"{buf.uid}_place{place_of(idx)}"
        offsets = [index.const for index in idx]
        return f"{buf.uid}_at{'_'.join(map(str, offsets))}" if any(offsets) else str(buf.uid)

    def element(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """C of an element that the lanes share."""
        address = self.address(buf, idx)
        return f"*({address})" if " " in address else f"*{address}"

    def expr(self, expr: q.Expr, kind: str) -> Value:
        match expr:
            case q.Const():
                return _constant(expr.value, kind), kind, False
            case q.Read():
                return self.convert(self.read(expr), kind)
            case q.USub():
                text, _, register = self.expr(expr.arg, kind)
                minus = f"-({text})" if text.startswith("-") else f"-{text}"  # no decrement
                return f"({minus})", kind, register
            case q.BinOp():
                left, right = self.expr(expr.lhs, kind), self.expr(expr.rhs, kind)
                return f"({left[0]} {expr.op} {right[0]})", kind, left[2] or right[2]
            case q.Extern() if made := composed(expr, kind, partial(self.composed, kind)):
                return made, kind, True
            case q.Extern():
                args = [self.spread(self.expr(arg, kind))[0] for arg in expr.args]
                asked = expr.name, kind, self.fused.lanes
                known = elementary(*asked) or power(*asked)
                if FUNCTIONS[expr.name].chooses and self.by_mask(expr, kind):
                    known = masks.chosen(*asked)
                helper = self.need(known or snippets.extern(*asked), kind)
                return f"{helper}({', '.join(args)})", kind, True
            case _:
                raise AssertionError(expr)

    def by_mask(self, expr: q.Extern, kind: str) -> bool:
        """Whether a choice is one by masks: of two integers, or in lanes that shuffles made."""
        numbers = kind == "i32" and all(isinstance(arg, q.Const) for arg in expr.args[2:])
        return numbers or bool(self.scans) or any(op.inner for op in self.fused.operands)

    def composed(
        self, kind: str, helper: Callable[[str, int], snippets.Snippet], *parts: q.Expr | str
    ) -> str:
        """C of a call of a helper, with parts of an expression or C as arguments."""
        values = [
            part if isinstance(part, str) else self.spread(self.expr(part, kind))[0]
            for part in parts
        ]
        return f"{self.need(helper(kind, self.fused.lanes), kind)}({', '.join(values)})"

    def read(self, read: q.Read) -> Value:
        uid, kind = read.buf.uid, read.type
        if read in self.past:
            return self.past[read], kind, True
        if uid >= len(self.fused.operands):
            return f"x{uid}", kind, True
        op = self.fused.operands[uid]
        if self.fixed(read.buf) and op.written:
            return extreme_register(self.shared(read.buf, read.idx), self.chain), kind, True
        if by_value(op):
            return f"x{uid}", kind, False
        if op.registers:
            return self.register(read.buf), kind, True
        if op.inner:
            return self.member(read.buf, read.idx), kind, True
        address = self.address(read.buf, read.idx)
        if LANE not in q.expr_vars(read.idx[-1]):
            stores = any(op.written and op.moves for op in self.fused.operands)
            if not (self.fused.together and stores):
                return f"(*({address}))", kind, False
            name = f"x{self.shared(read.buf, read.idx)}_first"
            self.first[name] = (kind, address)
            return name, kind, False
        if self.fused.backwards:
            helper = reverse.partial_load if self.masked else reverse.load
            count = f", {self.count}" * self.masked
            load = self.need(helper(kind, self.fused.lanes), kind)
            return f"{load}({address}{count})", kind, True
        if self.masked and not self.fused.reads_whole(op):
            load = self.need(snippets.partial_load(kind, self.fused.lanes), kind)
            return f"{load}({address}, {self.count})", kind, True
        return f"(*(const {self.vec(kind)}_u *)({address}))", kind, True

    def register(self, buf: q.Var) -> str:
        """The register of an operand, one of several if there are `copies`."""
        box = self.fused.operands[buf.uid].box
        several = self.fused.copies > 1 and len(box) > 1 and box[-2] == self.fused.copies
        return f"x{buf.uid}[v]" if several else f"x{buf.uid}[0]"

    def member(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """The register of a member of structures."""
        return f"x{buf.uid}_m[{member(self.fused.operands[buf.uid], idx)}]"

    def structures(self, uid: int) -> str:
        """Pointer to the structure of the first lane."""
        count = members(self.fused.operands[uid])
        chain = f" + {self.chain * self.fused.lanes * count}" * bool(self.chain)
        return f"x{uid}{chain}" + f" + {count} * l" * self.fused.loops

    def address(self, buf: q.Var, idx: tuple[q.Affine, ...]) -> str:
        """Pointer to the element of the first lane."""
        op = self.fused.operands[buf.uid]
        parts = [f"x{buf.uid}_{place_of(idx)}" if op.places else f"x{buf.uid}"]
        for dim in strides(op):
            if idx[dim].const:
                parts.append(f"{idx[dim].const} * x{buf.uid}_s{dim}")
        if self.fused.backwards and op.moves:
            lane = " + l" * (LANE in q.expr_vars(idx[-1]))
            return f"{' + '.join(parts)} - ({idx[-1].const}{lane})"
        if idx and idx[-1].const:
            parts.append(str(idx[-1].const))
        if self.chain and idx and LANE in q.expr_vars(idx[-1]):
            parts.append(str(self.chain * self.fused.lanes))
        if self.fused.loops and idx and LANE in q.expr_vars(idx[-1]):
            parts.append("l")
        return " + ".join(parts)

    def convert(self, value: Value, kind: str) -> Value:
        text, before, register = value
        if before == kind:
            return value
        if not register:
            return f"(({ELEMENT_TYPES[kind].c}){text})", kind, False
        helper = self.need(snippets.conversion(before, kind, self.fused.lanes), before, kind)
        return f"{helper}({text})", kind, True

    def spread(self, value: Value) -> Value:
        """The value as a register."""
        text, kind, register = value
        if register:
            return value
        if self.scans:
            return f"({text} - ({self.vec(kind)}){{0}})", kind, True
        return f"{self.need(snippets.spread(kind, self.fused.lanes), kind)}({text})", kind, True


def extreme_register(shared: str, chain: int) -> str:
    """The register of an element that all lanes are reduced to."""
    return f"m{shared}_{chain}"


def _constant(value: bool | int | float, kind: str) -> str:
    if kind == "i32":
        return str(int(value))
    return f"{float(value)!r}{'f' if kind == 'f32' else ''}"
