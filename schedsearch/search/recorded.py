"""What a store has of earlier runs."""

from __future__ import annotations

from schedsearch.core.errors import UserError
from schedsearch.evaluate.roofline import Roof
from schedsearch.search.run_summary import roof_of_run
from schedsearch.store.database import Store
from schedsearch.store.views import Scope


def stored_roof(store: Store, scope: Scope) -> Roof | None:
    """As the latest run measured it; None if all are of earlier versions."""
    for run in reversed(store.runs(scope)):
        if found := roof_of_run(run):
            return found
    return None


def find_scopes(store: Store, proc: str | None) -> list[Scope]:
    """Scopes of the procedure (all if None). Raises UserError if it was never tuned."""
    scopes = [s for s in store.scopes() if proc in (None, store.workload(s).proc)]
    if not scopes:
        known = sorted({store.workload(scope).proc for scope in store.scopes()})
        if not known:
            raise UserError(f"{store.name} is empty; `schedsearch run FILE` fills it")
        raise UserError(f"no procedure {proc!r} in {store.name}; it has: {', '.join(known)}")
    return scopes
