"""What makes a schedule less than others, to be said wherever it is offered."""

from __future__ import annotations

from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.agreement import NOT_COMPARED, Agreement
from schedsearch.search.run_summary import RunSummary
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms import contract


def verification(store: Store, scope: Scope) -> Agreement:
    """What verifying schedules of a scope amounts to, as its newest run found that has ended."""
    for run in reversed(store.runs(scope)):
        if reference := RunSummary.of(run).reference:
            return reference
    return NOT_COMPARED


def caveats(store: Store, scope: Scope, code: GeneratedC | None) -> tuple[str, ...]:
    """Of a schedule of the scope with this C, as far as that is known."""
    own = contract.caveats(code) if code else ()
    return (*verification(store, scope).caveats, *own)
