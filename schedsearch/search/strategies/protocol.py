"""The contract between search strategies and the driver.

A strategy decides what to look at next. It never touches procedures, compilers or
the store, and sees nodes as keys:

- `ask_measure(n)` and `ask_expand(n)` return at most `n` keys, the most wanted
  first: nodes to measure, and nodes whose children to enumerate. There are two
  questions because these use different resources. A key is asked for at most once
  each.
- An answer may be empty while results are outstanding. If both are empty with
  nothing outstanding, the space is exhausted.
- `tell(event)` reports a result: `Expanded` with the new, distinct children,
  `Replayed` with the new nodes on the way of a whole trace, `Measured` with the
  speed-up over the unscheduled procedure (None: duplicate, failed or wrong). Events
  may come in any order and for keys never asked for: this is how a run resumes from
  the store, and how it starts from schedules of other kernels. What has been told is
  not asked again.

Two strategies of the same kind and seed, told and asked the same in the same
order, give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from schedsearch.core.trace import Rewrite


@dataclass(frozen=True, slots=True)
class ChildInfo:
    """A distinct new child: its trace key, the rewrite that made it, and the log
    speed-up over its parent that a cost estimate promises. `variant`: the procedure
    is its parent's, built otherwise."""

    key: str
    rewrite: Rewrite
    predicted: float = 0.0
    variant: bool = False

    @property
    def transform(self) -> str:
        return self.rewrite.transform


@dataclass(frozen=True)
class Expanded:
    """All children of a node, but those that a replay found before."""

    key: str
    children: tuple[ChildInfo, ...]


@dataclass(frozen=True)
class Replayed:
    """A trace from elsewhere was followed. `chain` are the new nodes on its way, each after
    the key of its parent, in order. `key` is the node it ended in, or the one that had the
    same schedule before; None if a step is illegal and cannot be fitted."""

    chain: tuple[tuple[str, ChildInfo], ...]
    key: str | None


@dataclass(frozen=True)
class Measured:
    key: str
    speedup: float | None


Event = Expanded | Replayed | Measured


class Strategy(Protocol):
    """See the module's text for the contract."""

    def ask_measure(self, n: int) -> list[str]: ...

    def ask_expand(self, n: int) -> list[str]: ...

    def tell(self, event: Event) -> None: ...


class Idle:
    """Asks for nothing, in searches that go by hand."""

    def ask_measure(self, n: int) -> list[str]:
        return []

    def ask_expand(self, n: int) -> list[str]:
        return []

    def tell(self, event: Event) -> None:
        pass
