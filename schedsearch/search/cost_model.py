"""The learned cost model: gradient-boosted trees from features to log speed-ups.

Trained on what was measured of this workload, and, with less weight, on what was
measured of others on the same target: what a cache miss or a chained addition costs
carries over. Between workloads, totals count relative to the unscheduled procedure.

Deterministic: the same samples in the same order and the same seed give the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedsearch.transforms.features import TOTALS, unpack

if TYPE_CHECKING:
    import lightgbm

MODEL_VERSION = 1
"""Changes with anything that changes what is learned from the same samples."""

OWN_WEIGHT = 2.0
"""Of a sample of this workload."""
OTHER_WEIGHT = 5.0
"""Of all samples of another workload together."""
ROUNDS = 60
"""Trees; 0.1 s for 3000 samples."""
PARAMETERS = {
    "objective": "huber",  # a candidate that is 50 times slower must not outweigh all others
    "learning_rate": 0.15,
    "num_leaves": 16,
    "min_data_in_leaf": 5,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "max_bin": 63,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # the other cores measure and expand
    "verbose": -1,
}


@dataclass(frozen=True)
class Samples:
    """Measured candidates of one workload: features (one row each, of version
    `FEATURES_VERSION`, relative to its unscheduled procedure) and log speed-ups over it."""

    rows: NDArray[np.float32]
    log_speedups: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.log_speedups)


@dataclass(frozen=True)
class CostModel:
    """A trained model; `own` and `other` count the samples it has seen."""

    booster: lightgbm.Booster
    own: int
    other: int

    def log_speedups(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Estimates over the unscheduled procedure, one per row as in `Samples`."""
        return np.asarray(self.booster.predict(rows, num_threads=1))


def relative(vectors: Sequence[bytes], root: bytes) -> NDArray[np.float32]:
    """Rows of features whose totals are differences to those of the unscheduled procedure."""
    rows = unpack(vectors)
    rows[:, :TOTALS] -= unpack([root])[0, :TOTALS]
    return rows


def train(own: Samples, others: Sequence[Samples], seed: int) -> CostModel:
    """A model of this workload. Takes 10 ms for 100 samples; with others about 0.1 s."""
    import lightgbm  # half a second, and only long runs need it

    groups = [own, *others]
    weights = [np.full(len(own), OWN_WEIGHT)]
    weights += [np.full(len(group), OTHER_WEIGHT / len(group)) for group in others]
    data = lightgbm.Dataset(
        np.concatenate([group.rows for group in groups]),
        np.concatenate([group.log_speedups for group in groups]),
        weight=np.concatenate(weights),
        params=PARAMETERS,
    )
    booster = lightgbm.train({**PARAMETERS, "seed": seed}, data, ROUNDS)
    return CostModel(booster, len(own), sum(len(group) for group in others))
