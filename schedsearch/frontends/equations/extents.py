"""How far indices run, and how long arrays are.

A size that nothing tells is a variable, called after the index. Where two lengths have to be the
same, one of the variables becomes the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from schedsearch.core import ast as q
from schedsearch.frontends.bounds import least_value, never_negative
from schedsearch.frontends.equations import syntax as s
from schedsearch.frontends.graph import fresh
from schedsearch.frontends.views import replaced, show

ZERO = q.Affine()


@dataclass
class Index:
    """An index of one equation, from `lo` to `hi - 1`. `plain`: it is alone in an access of the
    right side, which gives the whole length. `where` is what bounds it."""

    name: str
    var: q.Var
    lo: q.Affine = ZERO
    hi: q.Affine | None = None
    plain: bool = False
    where: str = ""


@dataclass(frozen=True)
class Read:
    """An access of the right side, or the left, with indices in terms of variables."""

    name: str
    index: tuple[q.Affine, ...]
    place: s.Place


@dataclass
class Sizes:
    """What is known of lengths, over all equations. `shapes` of arrays, whose axes may be unknown;
    `same` are variables that turned out to be other sizes; `fits` are expressions that are not
    negative, of variables that are as large as that allows."""

    text: s.Text
    taken: set[str]
    shapes: dict[str, list[q.Affine | None]] = field(default_factory=dict)
    free: set[q.Var] = field(default_factory=set)
    same: dict[q.Var, q.Affine] = field(default_factory=dict)
    fits: list[tuple[q.Var, q.Affine]] = field(default_factory=list)

    def new(self, name: str) -> q.Affine:
        """A size that nothing tells yet."""
        names = chain([name], (f"{name}{number}" for number in count(1)))
        var = fresh(next(each for each in names if each not in self.taken))
        self.taken.add(var.name)
        self.free.add(var)
        return q.as_affine(var)

    def now(self, value: q.Affine) -> q.Affine:
        """In terms of sizes that stay."""
        while (after := replaced(value, self.same)) != value:
            value = after
        return value

    def shape(self, name: str) -> tuple[q.Affine, ...]:
        return tuple(self.now(n) for n in self.shapes[name] if n is not None)

    def equal(self, one: q.Affine, other: q.Affine) -> bool:
        """Make two lengths the same. False if they cannot be."""
        gap = self.now(one) - self.now(other)
        for atom, factor in reversed(gap.terms):
            if isinstance(atom, q.Var) and atom in self.free and abs(factor) == 1:
                self.same[atom] = q.as_affine(atom) - gap.scaled(factor)
                return True
        return gap == ZERO

    def axis(self, read: Read, axis: int) -> q.Affine | None:
        n = self.shapes[read.name][axis]
        return None if n is None else self.now(n)


def infer(sizes: Sizes, target: Read, reads: Sequence[Read], indices: dict[q.Var, Index]) -> None:
    """Bounds of the indices of one equation, and lengths of its arrays. Raises UserError for an
    index that nothing bounds, and for lengths that contradict each other."""
    work = _Inference(sizes, target, reads, indices)
    work.whole()
    work.partly()
    work.within()
    work.lengths()


@dataclass(frozen=True)
class _Inference:
    sizes: Sizes
    target: Read
    reads: Sequence[Read]
    indices: dict[q.Var, Index]

    def whole(self) -> None:
        """Indices that are alone in an access run over the whole axis."""
        unknown: list[tuple[Read, int, Index]] = []
        for read in (*self.reads, self.target):
            for axis, place in enumerate(read.index):
                index = self._alone(place)
                if index is None:
                    continue
                n = self.sizes.axis(read, axis)
                if n is None:
                    if read is not self.target:
                        unknown.append((read, axis, index))
                    continue
                self._bound(index, n, read, plain=read is not self.target)
        for read, axis, index in unknown:
            if (n := self.sizes.axis(read, axis)) is not None:  # it is there twice: A[i, i]
                self._bound(index, n, read, plain=True)
                continue
            if index.hi is None:
                index.hi, index.where = self.sizes.new(index.name.upper()), shown(read)
            index.plain = True
            self.sizes.shapes[read.name][axis] = index.hi

    def _bound(self, index: Index, n: q.Affine, read: Read, *, plain: bool) -> None:
        if index.hi is None:
            index.hi, index.where = n, shown(read)
        elif not self.sizes.equal(index.hi, n):
            self._contradiction(index, n, read)
        index.plain = index.plain or plain

    def _contradiction(self, index: Index, n: q.Affine, read: Read) -> None:
        known = show(self._hi(index))
        self.sizes.text.refuse(
            read.place,
            shown(read),
            f"it gives index {index.name} the length {show(n)}, and {index.where} the length "
            f"{known}",
            "use another index, or declare the same length for both",
        )

    def _alone(self, place: q.Affine) -> Index | None:
        var = place.as_var
        return None if var is None else self.indices.get(var)

    def _hi(self, index: Index) -> q.Affine:
        assert index.hi is not None, "bounds are known now"
        return self.sizes.now(index.hi)

    def partly(self) -> None:
        """Other indices run as far as accesses such as `A[i + di]` allow."""
        while missing := [index for index in self.indices.values() if index.hi is None]:
            if not any(self._solved(index) for index in missing):
                self._named(missing)

    def _solved(self, index: Index) -> bool:
        var = index.var
        for read in self.reads:
            for axis, place in enumerate(read.index):
                factor = place.coefficient(var)
                rest = place - q.as_affine(var).scaled(factor)
                others = [each for each in self._of(rest) if each.hi is None]
                n = self.sizes.axis(read, axis)
                if not factor or others or n is None:
                    continue
                index.where = shown(read)
                if factor == 1:
                    index.hi = n - self._extreme(rest, most=True)
                elif factor == -1:
                    index.hi = self._extreme(rest, most=False) + 1
                else:
                    self._strided(index, n, factor, rest)
                return True
        return False

    def _strided(self, index: Index, n: q.Affine, factor: int, rest: q.Affine) -> None:
        """As long as `factor * (length - 1) + rest` is within."""
        if factor < 0:
            low = self._extreme(rest, most=False)
            room, step = low + (-factor), -factor
        else:
            room, step = n - self._extreme(rest, most=True) + (factor - 1), factor
        if room.is_const:
            index.hi = q.Affine(room.const // step)
            return
        index.hi = self.sizes.new(index.name.upper())
        var = index.hi.as_var
        assert var is not None
        self.sizes.free.discard(var)
        self.sizes.fits.append((var, room - index.hi.scaled(step)))

    def _named(self, missing: Sequence[Index]) -> None:
        """A size of its own for an index in accesses of arrays whose length is not known."""
        for index in missing:
            for read in self.reads:
                for axis, place in enumerate(read.index):
                    if place.coefficient(index.var) and self.sizes.axis(read, axis) is None:
                        self._name(index, missing, read, axis)
                        return
        index = missing[0]
        left = any(place.coefficient(index.var) for place in self.target.index)
        reads = any(place.coefficient(index.var) for r in self.reads for place in r.index)
        reason = "no array on the right bounds it"
        if reads:
            reason = "it is bounded together with other indices only"
        self.sizes.text.refuse(
            self.target.place if left else self.reads[0].place,
            f"index {index.name}",
            reason,
            f"declare its length: `{index.name}: index[8]`"
            + (f", or the length of {self.target.name}" if left else ""),
        )

    def _name(self, index: Index, missing: Sequence[Index], read: Read, axis: int) -> None:
        others = [each.name for each in self._of(read.index[axis]) if each in missing]
        if others[1:]:
            self.sizes.text.refuse(
                read.place,
                shown(read),
                f"{' and '.join(others)} are bounded by nothing else",
                f"declare the length of one: `{others[-1]}: index[8]`",
            )
        if abs(read.index[axis].coefficient(index.var)) == 1:
            index.hi, index.where = self.sizes.new(index.name.upper()), shown(read)
        else:  # the array may be longer than what is read
            self.sizes.shapes[read.name][axis] = self.sizes.new(f"{read.name}_{axis}")

    def _of(self, value: q.Affine) -> list[Index]:
        return [
            self.indices[a] for a, _ in value.terms if isinstance(a, q.Var) and a in self.indices
        ]

    def _extreme(self, value: q.Affine, *, most: bool) -> q.Affine:
        """The greatest or the least value over all indices."""
        total = q.Affine(value.const)
        for atom, factor in value.terms:
            part = q.as_affine(atom)
            if isinstance(atom, q.Var) and (index := self.indices.get(atom)) is not None:
                part = self._hi(index) - 1 if (factor > 0) == most else index.lo
            total = total + part.scaled(factor)
        return self.sizes.now(total)

    def within(self) -> None:
        """Where accesses would be outside of their arrays, the index runs less far: `A[i + 1]`
        beside `A[i]`."""
        for read in self.reads:
            for axis, place in enumerate(read.index):
                n = self.sizes.axis(read, axis)
                if n is not None and self._alone(place) is None:
                    self._cut_above(read, place, n)
                if self._alone(place) is None:
                    self._cut_below(place)

    def _cut_above(self, read: Read, place: q.Affine, n: q.Affine) -> None:
        over = self._extreme(place, most=True) + 1 - n
        if (least_value(over) or 0) <= 0:
            return  # none, or only for some sizes: then it is asserted
        moved = [each for each in self._of(place) if place.coefficient(each.var) == 1]
        if len(moved) == 1 and (not moved[0].plain or self._hi(moved[0]) == n):
            moved[0].hi = self._hi(moved[0]) - over
            return
        self.sizes.text.refuse(
            read.place,
            shown(read),
            f"it is outside of {read.name}, whose length is {show(n)}",
            "declare longer arrays, or other indices",
        )

    def _cut_below(self, place: q.Affine) -> None:
        under = self._extreme(place, most=False)
        if not under.is_const or under.const >= 0:
            return
        for index in self._of(place):
            factor = place.coefficient(index.var)
            if factor > 0:
                index.lo = index.lo + -(under.const // factor)
                return

    def lengths(self) -> None:
        """Lengths of arrays that are not known are those that are needed."""
        for read in self.reads:
            for axis in range(len(read.index)):
                if self.sizes.axis(read, axis) is None:
                    self.sizes.shapes[read.name][axis] = self._needed(read.name, axis)
        target = self.target
        if None not in self.sizes.shapes[target.name]:
            return
        alone = [self._alone(place) for place in target.index]
        if None in alone or len({id(each) for each in alone}) < len(alone):
            self.sizes.text.refuse(
                target.place,
                shown(target),
                "it does not tell how long the array is",
                f"declare it: `{target.name}: f32[N, M]`",
            )
        for axis, index in enumerate(alone):
            assert index is not None
            if index.lo != ZERO:
                self.sizes.text.refuse(
                    target.place,
                    shown(target),
                    f"{index.name} begins at {show(index.lo)}, so that elements before would have "
                    "no value",
                    f"declare the array (`{target.name}: f32[N]`), to keep what it has there",
                )
            self.sizes.shapes[target.name][axis] = self._hi(index)

    def _needed(self, name: str, axis: int) -> q.Affine:
        """As long as accesses need; of strides nobody expects that nothing follows the last."""
        places = [read.index[axis] for read in self.reads if read.name == name]
        if any(abs(place.coefficient(i.var)) > 1 for place in places for i in self._of(place)):
            return self.sizes.new(f"{name}_{axis}")
        ends = [
            (self._extreme(read.index[axis], most=True) + 1, read)
            for read in self.reads
            if read.name == name
        ]
        longest, _ = ends[0]
        for end, read in ends[1:]:
            if never_negative(end - longest):
                longest = end
            elif not never_negative(longest - end):
                self.sizes.text.refuse(
                    read.place,
                    shown(read),
                    f"whether {show(end)} or {show(longest)} is longer depends on sizes",
                    f"declare the length of {name}: `{name}: f32[N]`",
                )
        return longest


def shown(read: Read) -> str:
    return f"{read.name}[{', '.join(map(show, read.index))}]" if read.index else read.name
