"""Rank correlations of predictions with measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.cost_model.records import Table
from schedsearch.core.stats import rank_correlation
from schedsearch.search.cost_model import train
from schedsearch.search.ranker import FIRST, GROWTH, STEP

FOLDS = 5
FAMILY = 4
"""Fewest siblings whose ranking says anything."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """Rank correlations (None: too few candidates): over all of a kernel, and the mean over
    groups of siblings."""

    overall: float | None
    siblings: float | None


@dataclass(frozen=True)
class Scores:
    """Of one kernel. `folds`: learned from the other four fifths. `others`: learned from
    other kernels only. `estimate_gain` and `learned_gain`: log speed-up over the parent, of
    candidates in the order recorded, learned from those before and from other kernels."""

    name: str
    count: int
    estimate: Score
    folds: Score
    others: Score
    estimate_gain: float | None
    learned_gain: float | None


def scores(tables: Sequence[Table], seed: int) -> list[Scores]:
    """Other kernels are those of another procedure."""
    return [_scores(one, [t for t in tables if t.proc != one.proc], seed) for one in tables]


def _scores(one: Table, rest: Sequence[Table], seed: int) -> Scores:
    later, learned = _as_recorded(one, rest, seed)
    has_parent = one.parents[later] >= 0
    later, learned = later[has_parent], learned[has_parent]
    above = one.parents[later]
    base = one.samples.log_speedups[above]
    gains = one.samples.log_speedups[later] - base
    unseen = _unseen(one, rest, seed)
    return Scores(
        one.name,
        len(one),
        _score(one, one.estimates),
        _score(one, _folds(one, seed)),
        Score(None, None) if unseen is None else _score(one, unseen),
        _correlation(one.estimates[later] - one.estimates[above], gains),
        _correlation(learned - base, gains),
    )


def _score(table: Table, predicted: Values) -> Score:
    true = table.samples.log_speedups
    groups = [table.siblings == number for number in range(1, table.siblings.max() + 1)]
    within = [_correlation(predicted[g], true[g]) for g in groups if g.sum() >= FAMILY]
    known = [value for value in within if value is not None]
    return Score(_correlation(predicted, true), float(np.mean(known)) if known else None)


def _correlation(predicted: Values, true: Values) -> float | None:
    return rank_correlation(predicted.tolist(), true.tolist())


def _folds(one: Table, seed: int) -> Values:
    """Every candidate by a model that has not seen it."""
    fold = np.random.default_rng(seed).permutation(len(one)) % FOLDS
    predicted = np.empty(len(one))
    for number in range(FOLDS):
        held = fold == number
        model = train(one.part(np.flatnonzero(~held)), [], seed)
        predicted[held] = model.log_speedups(one.samples.rows[held])
    return predicted


def _unseen(one: Table, rest: Sequence[Table], seed: int) -> Values | None:
    """By a model of other kernels; None if there are none."""
    if not rest:
        return None
    first, *others = (table.samples for table in rest)
    return train(first, others, seed).log_speedups(one.samples.rows)


def _as_recorded(one: Table, rest: Sequence[Table], seed: int) -> tuple[NDArray[np.int64], Values]:
    """Rows after the first training, and predictions by the model of their time."""
    predicted = np.full(len(one), np.nan)
    known, others = FIRST, [table.samples for table in rest]
    while known < len(one):
        until = max(int(GROWTH * known), known + STEP)
        model = train(one.part(np.arange(known)), others, seed)
        predicted[known:until] = model.log_speedups(one.samples.rows[known:until])
        known = until
    rows = np.flatnonzero(~np.isnan(predicted))
    return rows, predicted[rows]
