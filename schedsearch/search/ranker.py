"""The learned ranker: predicts what the analytic estimate predicts, once it is better at it.

It is trained on what was measured, again and again as that grows. Every candidate that is
measured afterwards is a test of it: what it had predicted and what the estimate had are
compared with what came out, as rank correlations. Only a ranker that is ahead of the
estimate on those is used; one that falls behind is not used any longer.

What is predicted and compared is the log speed-up over the nearest measured ancestor.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from schedsearch.core.stats import rank_correlation
from schedsearch.core.trace import Trace
from schedsearch.search.cost_model import MODEL_VERSION, CostModel, Samples, relative, train
from schedsearch.transforms.features import FEATURES_VERSION, log_costs

FIRST = 30
"""Samples of this workload that the first training needs."""
FIRST_WITH_OTHERS = 15
"""The same, if there are samples of other workloads to learn from."""
GROWTH = 1.25
"""It is trained again when there are this many times as many samples, and `STEP` more."""
STEP = 15
JUDGED = 100
"""Comparisons are over the latest so many candidates, and over ..."""
MIN_JUDGED = 20
"""... at least so many."""
MARGIN = 0.05
"""By how much its rank correlation must exceed the estimate's to be used."""
KEPT = 50_000
"""Candidates waiting to be measured whose features are kept: 0.5 kB each."""

ROOT = Trace().key


@dataclass(frozen=True)
class Sample:
    """A measured candidate: its features, and its speed-up over the unscheduled procedure of its
    workload. `parent_key` is None for that procedure."""

    workload_id: int
    trace_key: str
    vector: bytes
    speedup: float
    parent_key: str | None


@dataclass(frozen=True)
class Standing:
    """How the ranker does: samples it was trained on, its rank correlation and the estimate's
    on the `judged` candidates measured after training (None: too few), whether it is used."""

    own: int
    other: int
    judged: int
    learned: float | None
    analytic: float | None
    used: bool
    train_s: float
    model_version: int = MODEL_VERSION
    features_version: int = FEATURES_VERSION


@dataclass(frozen=True)
class _Node:
    parent: str
    vector: bytes


@dataclass(frozen=True)
class _Verdict:
    """Log speed-ups of one candidate: learned, analytic, true."""

    learned: float
    analytic: float
    true: float


class Ranker:
    """`root` are the features of the unscheduled procedure; samples of other workloads,
    `others`, help from the start."""

    def __init__(self, seed: int, root: bytes, others: Iterable[Sample] = ()) -> None:
        self._seed, self._root = seed, root
        self._others = _groups(others)
        self._waiting: OrderedDict[str, _Node] = OrderedDict()
        self._tried: dict[str, _Node] = {}
        self._values: dict[str, float] = {ROOT: 0.0}
        self._own: list[str] = []
        self._model: CostModel | None = None
        self._verdicts: deque[_Verdict] = deque(maxlen=JUDGED)
        self._correlated: tuple[float | None, float | None] | None = None
        self._used = False
        self._train_s = 0.0
        self._due = FIRST_WITH_OTHERS if self._others else FIRST

    # -- what it hears ------------------------------------------------------------

    def add(self, parent: str, key: str, vector: bytes) -> None:
        """A new candidate and its features."""
        self._waiting[key] = _Node(parent, vector)
        if len(self._waiting) > KEPT:
            self._waiting.popitem(last=False)

    def vector(self, key: str) -> bytes | None:
        """Features of a candidate."""
        if key == ROOT:
            return self._root
        node = self._node(key)
        return node.vector if node else None

    def measured(self, key: str, speedup: float | None, sample: bool = True) -> None:
        """A speed-up over the unscheduled procedure, None: it failed. `sample`: it is the
        candidate's own, not one with the same machine code."""
        node = self._waiting.pop(key, None)
        if speedup is None or key in self._values:
            return
        value = log(speedup)
        if node is not None:
            self._tried[key] = node
            if sample:
                self._judge(node, value)
                self._own.append(key)
        self._values[key] = value

    def _judge(self, node: _Node, value: float) -> None:
        known = self._measured_ancestor(node.parent)
        if self._model is None or known is None or (above := self.vector(known)) is None:
            return
        (learned,) = self._estimates(self._model, [node.vector])
        before, after = log_costs([above, node.vector])
        base = self._values[known]
        self._verdicts.append(_Verdict(learned - base, float(before - after), value - base))
        self._correlated = None

    # -- what it says -------------------------------------------------------------

    def promises(self, keys: Iterable[str]) -> dict[str, float]:
        """Log speed-ups over their parents, of those whose features are known; none unless
        the ranker is used."""
        if not self._used or self._model is None:
            return {}
        nodes = {key: node for key in keys if (node := self._waiting.get(key))}
        parents = {node.parent for node in nodes.values()}
        unmeasured = [key for key in sorted(parents - self._values.keys()) if self.vector(key)]
        wanted = [node.vector for node in nodes.values()]
        wanted += [self.vector(key) or b"" for key in unmeasured]
        if not wanted:
            return {}
        found = self._estimates(self._model, wanted)
        bases = {**dict(zip(unmeasured, found[len(nodes) :], strict=True)), **self._values}
        return {
            key: estimate - bases[node.parent]
            for (key, node), estimate in zip(nodes.items(), found[: len(nodes)], strict=True)
            if node.parent in bases
        }

    def refresh(self) -> Mapping[str, float]:
        """Train if it is due, and judge; new promises of all that waits, empty if nothing
        changed. Those of the estimate, if the ranker is not used any longer."""
        trained = self._train()
        was_used, self._used = self._used, self._deserves()
        if self._used and (trained or not was_used):
            return self.promises(self._waiting)
        return self._analytic_promises() if was_used and not self._used else {}

    def standing(self) -> Standing | None:
        """None before the first training."""
        if self._model is None:
            return None
        learned, analytic = self._correlations()
        count = len(self._verdicts)
        own, other = self._model.own, self._model.other
        return Standing(own, other, count, learned, analytic, self._used, self._train_s)

    # -- inside ---------------------------------------------------------------------

    def _train(self) -> bool:
        if len(self._own) < self._due:
            return False
        start = time.perf_counter()
        rows = relative([self._tried[key].vector for key in self._own], self._root)
        values = np.array([self._values[key] for key in self._own])
        self._model = train(Samples(rows, values), self._others, self._seed)
        self._due = max(int(GROWTH * len(self._own)), len(self._own) + STEP)
        self._train_s += time.perf_counter() - start
        return True

    def _deserves(self) -> bool:
        """Ahead by the margin to be used; while it is used, it needs only not fall behind."""
        learned, analytic = self._correlations()
        if learned is None:
            return self._used
        margin = 0.0 if self._used else MARGIN
        return learned > 0.0 and learned - (analytic or 0.0) >= margin

    def _correlations(self) -> tuple[float | None, float | None]:
        """Of the learned values and of the estimate's, asked for several times a second."""
        if self._correlated is None:
            self._correlated = self._correlate()
        return self._correlated

    def _correlate(self) -> tuple[float | None, float | None]:
        if len(self._verdicts) < MIN_JUDGED:
            return None, None
        true = [verdict.true for verdict in self._verdicts]
        learned = rank_correlation([verdict.learned for verdict in self._verdicts], true)
        analytic = rank_correlation([verdict.analytic for verdict in self._verdicts], true)
        return learned, analytic

    def _estimates(self, model: CostModel, vectors: Sequence[bytes]) -> list[float]:
        """Log speed-ups over the unscheduled procedure."""
        return [float(value) for value in model.log_speedups(relative(vectors, self._root))]

    def _analytic_promises(self) -> dict[str, float]:
        known = [
            (k, n, above) for k, n in self._waiting.items() if (above := self.vector(n.parent))
        ]
        if not known:
            return {}
        before = log_costs([above for _, _, above in known])
        after = log_costs([node.vector for _, node, _ in known])
        keys = [key for key, _, _ in known]
        return dict(zip(keys, (before - after).tolist(), strict=True))

    def _measured_ancestor(self, key: str) -> str | None:
        while key not in self._values:
            node = self._node(key)
            if node is None:
                return None
            key = node.parent
        return key

    def _node(self, key: str) -> _Node | None:
        return self._tried.get(key) or self._waiting.get(key)


def _groups(samples: Iterable[Sample]) -> list[Samples]:
    """By workload; those whose unscheduled procedure has no features are left out."""
    by_workload: defaultdict[int, dict[str, Sample]] = defaultdict(dict)
    for sample in samples:
        by_workload[sample.workload_id][sample.trace_key] = sample
    found = []
    for group in by_workload.values():
        root = group.pop(ROOT, None)
        if root is not None and group:
            rows = relative([sample.vector for sample in group.values()], root.vector)
            values = np.log([sample.speedup for sample in group.values()])
            found.append(Samples(rows, values))
    return found
