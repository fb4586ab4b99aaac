"""The contract between search strategies and the driver.

A strategy decides what to look at next; it never touches procedures, compilers
or the store. It sees nodes as keys:

- `ask_measure(n)` and `ask_expand(n)` return at most `n` keys, the most wanted
  first, of nodes to measure and of nodes whose children to enumerate. A key is
  asked for at most once each. They are separate because they use different
  resources. An answer may be empty while results are outstanding; if both are
  with nothing outstanding, the space is exhausted.
- `tell(event)` reports a result: `Expanded` with the new, distinct children, or
  `Measured` with the speed-up over the unscheduled procedure (None: duplicate,
  failed or wrong). Events may come in any order and for keys never asked for:
  this is how a run resumes from the store. What has been told is not asked again.

Two strategies of the same kind and seed, told and asked the same in the same
order, give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ChildInfo:
    """A distinct new child: its trace key, the transform that made it, and the log
    speed-up over its parent that a cost estimate promises. `variant`: the procedure
    is its parent's, built otherwise."""

    key: str
    transform: str
    predicted: float = 0.0
    variant: bool = False


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

    def ask_measure(self, n: int) -> list[str]: ...

    def ask_expand(self, n: int) -> list[str]: ...

    def tell(self, event: Event) -> None: ...
