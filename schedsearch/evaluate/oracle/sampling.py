"""Loops of which an evaluation may leave out iterations, so that large sizes take a second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from schedsearch.analysis.accesses import Access, placed, written_buffers
from schedsearch.core import ast as q


class Dim(NamedTuple):
    """A dimension of an array."""

    buf: q.Var
    dim: int


@dataclass(frozen=True)
class Sample:
    """Loops that may leave out any iterations, the same ones in each of them: numbers below the
    extent of `range`, a dimension of an argument."""

    loops: frozenset[q.Var]
    range: Dim


def samples(proc: q.Proc) -> tuple[Sample, ...]:
    """Those of an inlined `proc`, independent of each other.

    ```
    for i in seq(0, M):                        # rows are a sample,
        for j in seq(0, N):                    # columns are another
            C[i, j] = beta * C[i, j]
    for i in seq(0, M):
        for j in seq(0, N):
            for k in seq(0, K):                # elements need all of them
                C[i, j] += A[i, k] * B[k, j]
    ```
    Of every array that is written in one of the loops, and not allocated there, a dimension
    belongs to the sample: wherever it is accessed, in the whole procedure, its index is the
    variable of one of the loops, and inside a loop it is that loop's.
    """
    accesses = list(placed(proc.body))
    loops = [stmt for stmt in q.walk(proc.body) if isinstance(stmt, q.For)]
    variables, written = {loop.iter for loop in loops}, written_buffers(proc.body)
    groups = _Groups()
    strangers = set[Dim]()  # indexed by something else than a loop's variable
    for access in accesses:
        for dim, index in enumerate(access.idx if access.buf in written else ()):
            place, var = Dim(access.buf, dim), index.as_var
            if var in variables:
                groups.unite(place, var)
            else:
                strangers.add(place)
    found, arguments = [], {arg.var for arg in proc.args}
    for group in groups.all():
        dims = [each for each in group if isinstance(each, Dim)]
        own = [loop for loop in loops if loop.iter in group]
        ranges = [each for each in dims if each.buf in arguments]
        if ranges and strangers.isdisjoint(dims) and all(_owns(x, dims, accesses) for x in own):
            found.append(Sample(frozenset(loop.iter for loop in own), ranges[0]))
    return tuple(found)


def _owns(loop: q.For, dims: Iterable[Dim], accesses: Iterable[Access]) -> bool:
    """Whether iterations of a loop write only elements that no other of its iterations accesses,
    by one of `dims`."""
    inside = list(q.walk(loop.body))
    if any(isinstance(stmt, q.WriteConfig) for stmt in inside):
        return False
    allocated = {stmt.buf for stmt in inside if isinstance(stmt, q.Alloc)}
    places = [access for access in accesses if any(each is loop for each in access.loops)]
    return all(
        any(
            all(each.idx[dim].as_var == loop.iter for each in places if each.buf == buf)
            for owner, dim in dims
            if owner == buf
        )
        for buf in written_buffers(loop.body) - allocated
    )


Member = Dim | q.Var


class _Groups:
    """Disjoint sets."""

    def __init__(self) -> None:
        self._of: dict[Member, list[Member]] = {}

    def unite(self, one: Member, other: Member) -> None:
        first, second = (self._of.setdefault(each, [each]) for each in (one, other))
        if first is not second:
            first += second
            self._of.update(dict.fromkeys(second, first))

    def all(self) -> list[list[Member]]:
        """In the order in which they were begun."""
        return list({id(group): group for group in self._of.values()}.values())
