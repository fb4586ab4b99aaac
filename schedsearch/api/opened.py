"""A store, opened to look at it."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from schedsearch.api import searched
from schedsearch.api.candidate import Candidate
from schedsearch.api.frames import Frames
from schedsearch.core.errors import UserError
from schedsearch.core.given import given_path, given_place, optional, parse_id
from schedsearch.core.store_name import DEFAULT_STORE
from schedsearch.present import html
from schedsearch.search.lookup import find_scopes
from schedsearch.store.database import Store


class StoreView(Frames):
    """A tuning store as DataFrames, and as candidates."""

    def best(self, proc: str | None = None) -> Candidate:
        """The fastest verified schedule. Raises UserError if there is none, or if several
        procedures, sizes or targets were tuned and `proc` does not tell which is meant."""
        found = find_scopes(self._store, proc)
        if len(found) > 1:
            raise UserError(
                f"{len(found)} of {self._store.name} match; take one by its id, from the column "
                "`best` of `.scopes`: .candidate(ID)"
            )
        top = self._store.best(found[0], 1)
        if not top:
            raise UserError(
                f"{self._store.name} has no verified schedule yet; run the search again"
            )
        return Candidate.of(self._store, top[0])

    def candidate(self, candidate_id: int, file: str | Path | None = None) -> Candidate:
        """The candidate with this id; `file` is where its procedure is now, if it has moved.
        Raises UserError if there is none."""
        stored = self._store.candidate(parse_id(candidate_id))
        return Candidate.of(self._store, stored, optional(given_path, "file=", file))

    def search(
        self, wanted: str | int | None = None, file: str | Path | None = None
    ) -> searched.Search:
        """One search, to look at its pictures and its tree: that of the run with this number,
        or the latest one of the procedure with this name, or the latest. `file` as in
        `candidate`. Raises UserError if there is none."""
        place = optional(given_path, "file=", file)
        return searched.search_of_run(self._store, wanted, place)

    def __repr__(self) -> str:
        return f"tuning store {self._store.name}\n{self.scopes.to_string()}"

    def _repr_html_(self) -> str:
        title = html.lines([html.strong(f"tuning store {self._store.name}")])
        return html.block([title, Markup(self.scopes._repr_html_())])


def open_store(store: str | Path = DEFAULT_STORE) -> StoreView:
    """Look at a tuning store; a run may be writing to it. Raises UserError if there is none."""
    return StoreView(Store.open(given_place("store=", store), create=False))
