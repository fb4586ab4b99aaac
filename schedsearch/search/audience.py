"""What hears of a run's findings: its strategy, and the ranker that learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schedsearch.search.ranker import Ranker
from schedsearch.search.strategy import ChildInfo, Event, Measured, Predicted, Strategy
from schedsearch.search.tree import Tree
from schedsearch.transforms.expand import Child


class Audience:
    """Told once a change is in the books; nodes are those of `tree`."""

    def __init__(self, strategy: Strategy, ranker: Ranker, tree: Tree) -> None:
        self.ranker = ranker
        self._strategy, self._tree = strategy, tree
        # Duplicates of machine code whose owner is not measured yet, by owner.
        self._followers: dict[str, list[str]] = {}

    def tell(self, event: Event) -> None:
        """What only the strategy needs to hear."""
        self._strategy.tell(event)

    def found(self, parent: str, key: str, child: Child) -> None:
        """A new node: the ranker may promise something of it from now on."""
        if child.features is not None:
            self.ranker.add(parent, key, child.features)

    def promised(self, infos: Sequence[ChildInfo]) -> tuple[ChildInfo, ...]:
        """With the ranker's promises, where it has one."""
        promises = self.ranker.promises(info.key for info in infos)
        return tuple(replace(i, predicted=promises.get(i.key, i.predicted)) for i in infos)

    def rerank(self) -> None:
        """Let the ranker learn, and tell the strategy what it thinks now."""
        if values := self.ranker.refresh():
            self._strategy.tell(Predicted(values))

    def measured(self, key: str) -> None:
        """A node's speed-up, or that it has none, is known: its duplicates' is too."""
        speedup = self._tree.nodes[key].speedup
        for follower in self._followers.pop(key, ()):
            self.ranker.measured(follower, speedup, sample=False)
            self._strategy.tell(Measured(follower, speedup))
        self.ranker.measured(key, speedup)
        self._strategy.tell(Measured(key, speedup))

    def duplicate(self, key: str, owner: str) -> None:
        """Equal machine code is equally fast, but another schedule may have other children.

        The owner may be measured later: then its duplicates are told again.
        """
        node = self._tree.nodes[owner]
        if node.outcome is None:
            self._followers.setdefault(owner, []).append(key)
        else:
            self.ranker.measured(key, node.speedup, sample=False)
        self._strategy.tell(Measured(key, node.speedup))
