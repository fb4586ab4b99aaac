"""Best-first search.

There are two priority queues: nodes to expand, and *groups* of children to measure. A group has
the children that one transform made of one node. Values are log speed-ups over the baseline. The
value of a group is the value of its node, plus `TRUST` times the predicted gain of its next child,
plus the surplus that the child's rewrite and transform had elsewhere over their predictions
(`Gains`), minus a fee for every sibling already tried. Because of the fee no node is drained while
others are as good.

Nodes are expanded as fast as the workers can, measured and unmeasured ones in turn, because some
rewrites gain nothing and yet prepare a rewrite that does (fission before a register block). What
each compiler makes of the procedure as written, which is what everybody else has, is measured
before all else but the normal form, and what a replay only passed on its way after all else. A node
whose children are made in portions, the most promising first, pays a fee for every portion it had;
what was looked through unmeasured gets the others when nothing else is left. With probability
`EXPLORE` a choice is random instead: local optima are the rule in this space.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from schedsearch.search.strategies.gains import Gains, Situation
from schedsearch.search.strategies.heap import Heap
from schedsearch.search.strategies.protocol import Node

TRUST = 0.7
"""The fraction of a predicted log gain that is believed."""
VARIANT_GAIN = 0.1
"""A variant is expanded from this log gain on: noise must not multiply the space."""
UNMEASURED_FEE = 0.1
"""Subtracted from the promise of an unmeasured node."""
PORTION_FEE = 0.1
"""Subtracted from the value of a node for each portion of its children that was made."""
EXPLORE = 0.05
SIBLING_FEE = 0.04
DEPTH_FEE = 0.3
"""Fee for looking ahead, per step from the root: noise must not lead the search astray."""
LOOK_FEE = 0.1
"""Fee for each earlier look ahead through the same transform."""


@dataclass(slots=True, eq=False)
class _Group:
    """Children that `transform` made of `node` and that wait to be measured, or expanded
    unmeasured; the most promising is the last. `worth` is the promise of the last one when they
    were ordered."""

    node: Node
    transform: str
    waiting: list[Node] = field(default_factory=list)
    taken: int = 0
    worth: float = 0.0


class BestFirst:
    """See the module's text."""

    normal_form_first = True

    def begin(self, root: Node, rng: random.Random) -> None:
        self._random = rng
        self._gains, self._promises = Gains(), _Promises()
        self._looked: Counter[str] = Counter()
        known = (rng, self._gains, self._promises)
        self._groups = _Shelf(*known, self._gains.of_situation, fee=0.0)
        self._ahead = _Shelf(*known, self._ahead_surplus, fee=DEPTH_FEE)
        self._nodes: Heap[Node] = Heap()
        self._nodes.put(root, root.reached())
        self._written: dict[object, Node] = {}  # by compiler
        self._portions: Counter[Node] = Counter()
        self._rest, self._passed = deque[Node](), deque[Node]()
        self._held: list[Node] = []
        self._look_ahead = True

    def measure(self) -> Node | None:
        for node in self._written.values():
            if node.measure:
                return node
        if (found := self._groups.take(lambda node: node.measure)) is not None:
            return found
        while self._passed:
            if (node := self._passed.popleft()).measure:
                return node
        return None

    def expand(self) -> Node | None:
        """The best measured node, and every other time one that is not measured yet."""
        self._look_ahead = not self._look_ahead
        questions = (self._look_through, self._best_node)
        for question in questions if self._look_ahead else reversed(questions):
            if (node := question()) is not None:
                return node
        while self._rest:
            if not (node := self._rest.popleft()).expanding:
                return node
        return None

    def more(self, node: Node) -> None:
        self._portions[node] += 1
        self._rest.append(node)
        self._open(node)

    def found(self, nodes: Sequence[Node]) -> None:
        passed = {node.parent for node in nodes if node.parent and not node.parent.expanding}
        self._held += [node for node in nodes if node in passed]
        ends = [node for node in nodes if node not in passed]
        self._groups.add(ends)
        self._ahead.add([node for node in ends if not node.variant])
        for node in nodes:
            self._open(node)
            if node.variant and len(node.steps) == 1:
                self._written.setdefault(dict(node.rewrite.args).get("compiler"), node)

    def measured(self, node: Node) -> None:
        if self._held:  # what they are worth shows at their end, looked through before them
            self._passed += self._held
            self._ahead.add(self._held)
            self._held, self._look_ahead = [], True
        if node.value is None:
            return
        if node.parent is not None:
            expected = self._promises.of(node.parent) + TRUST * node.predicted
            self._gains.learn(node, node.value - expected)
        self._open(node)
        for each in dict.fromkeys((node, self._promises.learn(node))):
            self._groups.revalue(each)
            self._ahead.revalue(each)

    def _look_through(self) -> Node | None:
        node = self._ahead.take(lambda node: node.expand and node.value is None)
        if node is not None:
            self._looked[node.transform] += 1
        return node

    def _best_node(self) -> Node | None:
        while len(self._nodes):
            explore = self._random.random() < EXPLORE
            node = self._nodes.pop_random(self._random) if explore else self._nodes.pop()
            if node.expand:
                return node
        return None

    def _open(self, node: Node) -> None:
        if node.value is not None and node.expand and _promising(node, node.value):
            self._nodes.put(node, node.value - PORTION_FEE * self._portions[node])

    def _ahead_surplus(self, situation: Situation) -> float:
        """Transforms take turns: nothing shows which one opens the way."""
        return self._gains.of_situation(situation) - LOOK_FEE * self._looked[situation.transform]


class _Promises:
    """What nodes promise to be worth: their values, if they are measured. Otherwise what a parent
    is worth and the prediction add up to, less a fee, as long as no child is measured. A child
    shows what its value leaves after the gain that was predicted of it. If the most that children
    show is more, that counts: what loses by itself and opens a way is worth what was found on
    that way. If it is less, it counts like the prediction once one child is measured, and more
    with every further one: what was predicted wrongly must not draw the whole search below it.
    """

    def __init__(self) -> None:
        self._shown: defaultdict[Node, dict[Node, float]] = defaultdict(dict)  # by child
        self._below: Counter[Node] = Counter()  # how many are measured

    def of(self, node: Node) -> float:
        if node.value is not None:
            return node.value
        if node.parent is None:
            return 0.0
        promised = self.of(node.parent) + TRUST * node.predicted - UNMEASURED_FEE
        if node not in self._shown:
            return promised
        most, below = max(self._shown[node].values()), self._below[node]
        return max(most, promised + (most - promised) * below / (1 + below))

    def learn(self, node: Node) -> Node:
        """Take in the value of a measured node. Returns the highest node that it says something
        of: the node itself, or the last of the unmeasured ones above it."""
        while (parent := node.parent) is not None and parent.value is None:
            self._shown[parent][node] = self.of(node) - TRUST * max(node.predicted, 0.0)
            self._below[parent] += 1
            node = parent
        return node


def _promising(node: Node, value: float) -> bool:
    """Whether a measured node has children worth looking at. The children of a variant are those
    of its parent, compiled otherwise: they are worth it only if that gained clearly."""
    if node.parent is None or not node.variant:
        return True
    return value - node.parent.reached() > VARIANT_GAIN


class _Shelf:
    """Groups, kept by transform: a lesson about a transform changes the value of all its groups
    alike. `fee` is subtracted for every step from the root."""

    def __init__(
        self,
        rng: random.Random,
        gains: Gains,
        promises: _Promises,
        surplus: Callable[[Situation], float],
        fee: float,
    ) -> None:
        self._random, self._gains, self._promises = rng, gains, promises
        self._surplus, self._fee = surplus, fee
        self._pools: defaultdict[Situation, Heap[_Group]] = defaultdict(Heap)
        self._groups: dict[tuple[Node, str], _Group] = {}

    def add(self, nodes: Sequence[Node]) -> None:
        """Take children in. They are shuffled, because neighbouring proposals with equal promises
        are alike."""
        fresh: defaultdict[tuple[Node, str], list[Node]] = defaultdict(list)
        for node in nodes:
            if node.parent is not None:
                fresh[node.parent, node.transform].append(node)
        for place, members in fresh.items():
            self._random.shuffle(members)
            group = self._groups.setdefault(place, _Group(*place))
            group.waiting.extend(members)
            self._sort(group)

    def revalue(self, node: Node) -> None:
        """Take in a new value of `node`: it counts for all unmeasured nodes below."""
        for transform in {child.transform: None for child in node.children}:
            if (group := self._groups.get((node, transform))) is not None:
                self._put(group)
        for child in node.children:
            if child.value is None and child.children:
                self.revalue(child)

    def take(self, wanted: Callable[[Node], bool]) -> Node | None:
        """The next node of the best group, or with probability `EXPLORE` of any."""
        while self._groups:
            group = self._pop()
            while group.waiting and not wanted(group.waiting[-1]):
                group.waiting.pop()
            node = group.waiting.pop() if group.waiting else None
            if node is not None:
                group.taken += 1
            if group.waiting:
                self._put(group)
            else:
                del self._groups[group.node, group.transform]
            if node is not None:
                return node
        return None

    def _pop(self) -> _Group:
        pools = {transform: pool for transform, pool in self._pools.items() if len(pool)}
        if self._random.random() < EXPLORE:
            weights = [len(pool) for pool in pools.values()]
            [pool] = self._random.choices(list(pools.values()), weights)
            return pool.pop_random(self._random)
        while True:
            best = max(pools, key=lambda name: pools[name].best() + self._surplus(name))
            group = pools[best].pop()
            promised = group.worth
            self._sort(group)
            if group.worth >= promised:
                pools[best].discard(group)
                return group
            # What it promised has been found to gain less, elsewhere.

    def _sort(self, group: _Group) -> None:
        group.waiting.sort(key=self._worth)
        self._put(group)

    def _put(self, group: _Group) -> None:
        group.worth = self._worth(group.waiting[-1])
        fees = SIBLING_FEE * group.taken + self._fee * group.node.depth
        value = self._promises.of(group.node) + group.worth - fees
        self._pools[Situation.of(group.node, group.transform)].put(group, value)

    def _worth(self, node: Node) -> float:
        """The gain of a child over its parent, without the surplus of its transform."""
        return TRUST * node.predicted + self._gains.of_rewrite(node.rewrite)
