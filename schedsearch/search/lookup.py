"""Finds in a store the searches of a procedure, its roofline, and how it was verified."""

from __future__ import annotations

from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.agreement import NOT_COMPARED, Agreement
from schedsearch.evaluate.roofline import Roof
from schedsearch.store.database import Store
from schedsearch.store.views import Scope
from schedsearch.transforms import contract


def find_scopes(store: Store, proc: str | None) -> list[Scope]:
    """Scopes of the procedure (all if None). Raises UserError if it was never tuned."""
    scopes = [s for s in store.scopes() if proc in (None, store.workload(s).proc)]
    if not scopes:
        known = sorted({store.workload(scope).proc for scope in store.scopes()})
        if not known:
            raise UserError(f"{store.name} is empty; `schedsearch run FILE` fills it")
        raise UserError(f"no procedure {proc!r} in {store.name}; it has: {', '.join(known)}")
    return scopes


def stored_roof(store: Store, scope: Scope) -> Roof | None:
    """As the latest run measured it; None if all are of earlier versions."""
    for run in reversed(store.runs(scope)):
        if found := (run.summary or {}).get("roof") or run.environment.get("roof"):
            try:
                return Roof.from_json(found)
            except TypeError as error:
                raise UserError(f"{store.name} has a roof of another kind: {error}") from error
    return None


def verification(store: Store, scope: Scope) -> Agreement:
    """How far verifying schedules of a scope goes, as the newest run that has ended found."""
    for run in reversed(store.runs(scope)):
        if reference := (run.summary or {}).get("reference"):
            return Agreement.from_json(reference)
    return NOT_COMPARED


def caveats(store: Store, scope: Scope, code: GeneratedC | None) -> tuple[str, ...]:
    """The limits of a schedule with this C that its callers have to know."""
    own = contract.caveats(code) if code else ()
    return (*verification(store, scope).caveats, *own)
