"""A store, opened to look at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from schedsearch.api import frames, searched
from schedsearch.api.candidate import Candidate
from schedsearch.core.closeable import Closeable
from schedsearch.core.errors import UserError
from schedsearch.present import html
from schedsearch.search.lookup import find_scopes
from schedsearch.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_STORE = "schedsearch.sqlite"


class StoreView(Closeable):
    """A tuning store as DataFrames and as candidates.

    Nothing is kept between calls: the next one sees what a run wrote meanwhile. The file
    is released by `close`, or at the end of `with`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def scopes(self) -> pd.DataFrame:
        """Procedures and targets, and the best schedule of each (`frames.scopes`)."""
        return frames.scopes(self._store)

    @property
    def runs(self) -> pd.DataFrame:
        """Runs, by id (`frames.runs`)."""
        return frames.runs(self._store)

    @property
    def candidates(self) -> pd.DataFrame:
        """Every schedule that was tried, by id (`frames.candidates`)."""
        return frames.candidates(self._store)

    @property
    def measurements(self) -> pd.DataFrame:
        """Every timing, by id (`frames.measurements`)."""
        return frames.measurements(self._store)

    @property
    def stages(self) -> pd.DataFrame:
        """Seconds by run and stage (`frames.stages`)."""
        return frames.stages(self._store)

    @property
    def tree(self) -> pd.DataFrame:
        """The search tree, by id (`frames.tree`)."""
        return frames.tree(self._store)

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
        stored = self._store.candidate(int(candidate_id))
        return Candidate.of(self._store, stored, Path(file) if file else None)

    def search(
        self, wanted: str | int | None = None, file: str | Path | None = None
    ) -> searched.Search:
        """One search, to look at its pictures and its tree: that of the run with this number,
        or the latest one of the procedure with this name, or the latest. `file` as in
        `candidate`. Raises UserError if there is none."""
        run = searched.find_run(self._store, wanted)
        return searched.Search(self._store, run, Path(file) if file else None)

    def close(self) -> None:
        self._store.close()

    def __repr__(self) -> str:
        return f"tuning store {self._store.name}\n{self.scopes.to_string()}"

    def _repr_html_(self) -> str:
        title = html.lines([html.strong(f"tuning store {self._store.name}")])
        return html.block([title, Markup(self.scopes._repr_html_())])


def open_store(store: str | Path = DEFAULT_STORE) -> StoreView:
    """Look at a tuning store; a run may be writing to it. Raises UserError if there is none."""
    return StoreView(Store.open(store, create=False))
