"""Sanitizer checks of the schedule a run ends with, once per kernel."""

from __future__ import annotations

from collections.abc import Callable

from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.evaluate.oracle.reach import Reach
from schedsearch.evaluate.run.sanitize import COVERAGE, SLOW_RUN_S, Inspector
from schedsearch.search.setup.run_summary import Inspection, RunSummary
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

Inspect = Callable[[GeneratedC, Trace, float], Inspection]
"""Of the C of a schedule; what may be left out has that many seconds."""


def not_inspected(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
    """Where nothing is compiled."""
    return Inspection(code.key)


def once(
    inspector: Inspector, store: Store, scope: Scope, reach: Callable[[Trace], Reach]
) -> Inspect:
    """Inspect what the store's runs of this scope did not, or in part; `reach` says which calls
    run all of a schedule's code."""
    earlier: dict[str, Inspection] = {}
    for run in store.runs(scope):
        if found := RunSummary.of(run).inspection:
            whole = not any(check.in_part for check in found.checks)
            if whole and any(check.what == COVERAGE for check in found.checks):
                earlier[found.code_key] = found

    def inspect(code: GeneratedC, trace: Trace, seconds: float) -> Inspection:
        slow_s = min(seconds, SLOW_RUN_S)
        known = earlier.get(code.key)
        return known or Inspection(code.key, inspector.inspect(code, reach(trace), slow_s))

    return inspect
