"""One search of a store, to look at: its numbers as frames, pictures of them, its tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.api import pictures, statistics
from schedsearch.api.tree_view import TreeView, tree_view
from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement, Target, Workload
from schedsearch.evaluate.roofline import Roof
from schedsearch.present import format as fmt
from schedsearch.search.kept import load_kept
from schedsearch.search.recorded import find_scopes, stored_roof
from schedsearch.search.stepping import BY_HAND
from schedsearch.store.database import Store
from schedsearch.store.views import Run, Scope, StoredCandidate
from schedsearch.transforms.loader import Source

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


def find_run(store: Store, wanted: str | int | None) -> Run:
    """The run with this id, or the latest search of the procedure with this name, or the latest;
    runs by hand only if there are no others. Raises UserError if there is none."""
    if wanted is not None and str(wanted).isdigit():
        found = [run for run in store.runs() if run.id == int(wanted)]
        if not found:
            raise UserError(f"no run {wanted} in {store.name}; `schedsearch list --json` has them")
        return found[0]
    scopes = find_scopes(store, None if wanted is None else str(wanted))
    runs = [run for scope in scopes for run in store.runs(scope)]
    return max(runs, key=lambda run: (run.strategy != BY_HAND, run.id))


@dataclass(frozen=True)
class Search:
    """A run, and the search tree that it and the other runs of its kind have grown.

    Frames: `convergence`, `outcomes`, `stage_times`, `gains`, `arguments`; `plot` draws them.
    `file` is where the procedure is now, if it has moved.
    """

    store: Store
    run: Run
    file: Path | None = None

    @property
    def scope(self) -> Scope:
        return self.run.scope

    @cached_property
    def workload(self) -> Workload:
        return self.store.workload(self.scope)

    @cached_property
    def target(self) -> Target:
        return self.store.target(self.scope, self.run.id)

    @cached_property
    def roof(self) -> Roof | None:
        return stored_roof(self.store, self.scope)

    @property
    def best(self) -> StoredCandidate | None:
        """The fastest of all searches of this procedure here."""
        return next(iter(self.store.best(self.scope, 1)), None)

    @property
    def noise(self) -> Measurement | None:
        found = (self.run.summary or {}).get("noise")
        return Measurement.from_json(found) if found else None

    @property
    def name(self) -> str:
        return fmt.kernel(self.workload)

    @cached_property
    def kept(self) -> tuple[Source, Any] | UserError:
        """The file that was tuned and its procedure, or why they cannot be had."""
        try:
            return load_kept(self.workload, self.file)
        except UserError as error:
            if self.file is not None:
                raise
            return error

    @property
    def procedure(self) -> Any | None:
        return None if isinstance(self.kept, UserError) else self.kept[1]

    def convergence(self) -> pd.DataFrame:
        """The best so far, timing by timing (`statistics.convergence`)."""
        return statistics.convergence(self.store, self.scope)

    def outcomes(self) -> pd.DataFrame:
        """What became of the candidates (`statistics.outcomes`)."""
        return statistics.outcomes(self.store, self.scope)

    def stage_times(self) -> pd.DataFrame:
        """Where the time went (`statistics.stage_times`)."""
        return statistics.stage_times(self.store, self.scope)

    def gains(self) -> pd.DataFrame:
        """What single rewrites gained (`statistics.gains`)."""
        return statistics.gains(self.store, self.scope)

    def arguments(self) -> pd.DataFrame:
        """Numbers in rewrites, and speeds (`statistics.arguments`)."""
        return statistics.arguments(self.store, self.scope)

    def __repr__(self) -> str:
        counts = fmt.outcomes(self.store.outcomes(self.scope))
        return f"run {self.run.id} of {self.name}, {self.run.status.value}: {counts}"

    @property
    def plot(self) -> Plots:
        return Plots(self)

    @property
    def tree(self) -> TreeView:
        """The search tree, to click through."""
        return tree_view(self.store, self.scope, self.target, self.procedure, self.name)


@dataclass(frozen=True)
class Plots:
    """Plotly figures of the frames with the same names. Where there is nothing to draw (no
    numbers, no roof), None."""

    search: Search

    def convergence(self) -> Figure:
        return pictures.convergence(self.search.store, self.search.scope)

    def outcomes(self) -> Figure:
        return pictures.outcomes(self.search.store, self.search.scope)

    def stage_times(self) -> Figure:
        return pictures.stage_times(self.search.store, self.search.scope)

    def gains(self) -> Figure:
        return pictures.gains(self.search.store, self.search.scope)

    def arguments(self) -> Figure | None:
        return pictures.arguments(self.search.store, self.search.scope)

    def roofline(self) -> Figure | None:
        roof = self.search.roof
        return pictures.roofline(self.search.store, self.search.scope, roof) if roof else None
