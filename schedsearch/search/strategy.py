"""The contract between search strategies and the driver.

A strategy decides what to look at next; it never touches procedures, compilers
or the store. It sees nodes as keys:

- `ask(n)` returns at most `n` actions, the most wanted first: `Expand` a node
  (enumerate its children) or `Measure` one. A key is asked for at most once per
  kind of action. An empty answer while results are outstanding means "wait";
  with nothing outstanding it means the space is exhausted.
- `tell(event)` reports a result: `Expanded` with the new, distinct children, or
  `Measured` with the speed-up over the unscheduled procedure (None: duplicate,
  failed or wrong). Events may come in any order and for keys never asked for:
  this is how a run resumes from the store. What has been told is not asked again.

Two strategies of the same kind and seed, told the same events in the same order
between the same asks, give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Expand:
    key: str


@dataclass(frozen=True)
class Measure:
    key: str


Action = Expand | Measure


@dataclass(frozen=True)
class ChildInfo:
    """A distinct new child: its trace key and the transform that made it."""

    key: str
    transform: str


@dataclass(frozen=True)
class Expanded:
    key: str
    children: tuple[ChildInfo, ...]


@dataclass(frozen=True)
class Measured:
    key: str
    speedup: float | None


Event = Expanded | Measured


class Strategy(Protocol):
    """See the module's text for the contract."""

    def ask(self, n: int) -> list[Action]: ...

    def tell(self, event: Event) -> None: ...
