"""Finds in a store the searches of a procedure, its roofline, and how it was verified."""

from __future__ import annotations

from schedsearch.core import lasting
from schedsearch.core.errors import UserError
from schedsearch.core.records import GeneratedC
from schedsearch.core.suggest import did_you_mean
from schedsearch.evaluate.oracle.agreed import NOT_COMPARED, Agreement
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.search.setup.run_summary import NEST_OF, Elsewhere, RunSummary, roof_of_run
from schedsearch.store.database import Store
from schedsearch.store.views import Scope, StoredCandidate


def find_scopes(store: Store, proc: str | None, *, nests: bool = False) -> list[Scope]:
    """Scopes of the procedure; if None, of all, but of `nests` that were searched for the sake of a
    procedure only if they are asked for. Raises UserError if it was never tuned."""
    scopes = store.scopes()
    found = [scope for scope in scopes if proc in (None, store.workload(scope).proc)]
    if not found:
        known = sorted({store.workload(scope).proc for scope in scopes})
        if not known:
            raise UserError(f"{store.name} is empty; `schedsearch run FILE` fills it")
        raise UserError(
            f"no procedure {proc!r} in {store.name}; it has: {', '.join(known)}"
            f"{did_you_mean(str(proc), known)}"
        )
    if proc or nests:
        return found
    return [scope for scope in found if not only_as_nest(store, scope)] or found


def only_as_nest(store: Store, scope: Scope) -> bool:
    """Whether it was only ever searched for the sake of the procedure that it is a nest of."""
    runs = store.runs(scope)
    return bool(runs) and all(NEST_OF in run.settings for run in runs)


def stored_roof(store: Store, scope: Scope) -> Roof | None:
    """As the latest run measured it; None if all are of earlier versions."""
    for run in reversed(store.runs(scope)):
        if found := roof_of_run(run):
            return found
    return None


def verification(store: Store, scope: Scope) -> Agreement:
    """How far verifying schedules of a scope goes, as the newest run that has ended found."""
    for run in reversed(store.runs(scope)):
        if reference := RunSummary.of(run).reference:
            return reference
    return NOT_COMPARED


def caveats(store: Store, scope: Scope, code: GeneratedC | None) -> tuple[str, ...]:
    """The limits of a schedule with this C that its callers have to know."""
    own = lasting.caveats(code) if code else ()
    return (*verification(store, scope).caveats, *own)


def stored_elsewhere(store: Store, candidate: StoredCandidate) -> Elsewhere | None:
    """As the latest run that ended with this candidate measured it; None if none did."""
    for run in reversed(store.runs(candidate.scope)):
        summary = RunSummary.of(run)
        if summary.best == candidate.trace_key and summary.elsewhere:
            return summary.elsewhere
    return None
