"""What is learned from stores, in which every kernel counts alike."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest
from store.store_data import ROOT, correct, start_tree, step

from benchmarks.experience.__main__ import learn
from benchmarks.experience.learning import KERNELS, MOST, learned
from schedsearch.core.errors import UserError
from schedsearch.core.trace import Rewrite
from schedsearch.search.strategies.best_first import TRUST, UNMEASURED_FEE, surpluses
from schedsearch.search.strategies.experience import OPTIMISM, Situation
from schedsearch.search.strategies.protocol import Node
from schedsearch.store import Store

BLOCK = Rewrite("register_block", 3, (0,), "for i in seq(0, 8)")
SPLIT = Situation("split", False)


def test_surpluses_are_over_what_was_promised() -> None:
    """Of measured nodes alone; an unmeasured parent is worth what it promised."""
    root = Node("root", value=0.0)
    quiet = Node("quiet", (step(2),), root, predicted=1.0)
    blocked = Node("blocked", (step(2), BLOCK), quiet, predicted=2.0, value=3.0)
    last = Node("last", (step(2), BLOCK, step(4)), blocked, value=2.5)
    found = list(surpluses([root, quiet, blocked, last]))
    promised = TRUST * 1.0 - UNMEASURED_FEE + TRUST * 2.0
    assert found == [
        (Situation("register_block", False), pytest.approx(3.0 - promised)),
        (Situation("split", True), pytest.approx(-0.5)),
    ]


def test_a_kernel_with_many_trials_counts_as_one() -> None:
    [(situation, worth)] = learned([{SPLIT: [1.0] * 1000}, {SPLIT: [-1.0]}]).items()
    assert situation == SPLIT
    assert worth.mean == pytest.approx(OPTIMISM * KERNELS / (2 + KERNELS))
    assert worth.spread > 0.5


def test_a_file_is_learned_from_stores(tmp_path: Path) -> None:
    for proc, speedup in (("mm", 1.5), ("conv", 100.0)):
        with Store.open(tmp_path / f"{proc}.sqlite") as store:
            scope, run = start_tree(store, proc)
            store.record(scope, run, correct(ROOT, 1.0))
            store.record(scope, run, correct(ROOT.then(step(1)), speedup))
    stores, out = sorted(tmp_path.glob("*.sqlite")), tmp_path / "learned.json"
    for without, mean in (("", (log(1.5) + MOST) / 2), ("conv", log(1.5))):
        learn(stores, without, out)
        [[transform, blocked, found, _]] = json.loads(out.read_text())["worth"]
        kernels = 1 if without else 2
        wanted = (mean * kernels + OPTIMISM * KERNELS) / (kernels + KERNELS)
        assert (transform, blocked, found) == ("split", False, pytest.approx(wanted, abs=1e-3))
    with pytest.raises(UserError, match="no search to learn from"):
        learn(stores, "mm|conv", out)
