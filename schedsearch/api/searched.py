"""One search of a store, to look at: its numbers as frames, pictures of them, its tree."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from schedsearch.api.document import page_data
from schedsearch.api.pictures import Plots
from schedsearch.api.statistics import Statistics
from schedsearch.api.tree import TreeView
from schedsearch.core.errors import UserError
from schedsearch.core.records import Measurement, Target, Workload
from schedsearch.evaluate.roof.ceilings import Ceilings
from schedsearch.present import format as fmt
from schedsearch.present import page
from schedsearch.search.lookup import find_scopes
from schedsearch.search.reloading import load_tuned
from schedsearch.search.setup.run_summary import NEST_OF, RunSummary
from schedsearch.store.database import Store
from schedsearch.store.views import Run, StoredCandidate
from schedsearch.study.ceilings import ceilings
from schedsearch.study.stepping import BY_HAND
from schedsearch.transforms.exo.loader import Source


def find_run(store: Store, wanted: str | int | None) -> Run:
    """The run with this id, or the latest search of the procedure with this name, or the latest;
    runs by hand, and of a nest for its procedure's sake, only if there are no others. Raises
    UserError if there is none."""
    if wanted is not None and str(wanted).isdigit():
        found = [run for run in store.runs() if run.id == int(wanted)]
        if not found:
            raise UserError(f"no run {wanted} in {store.name}; `schedsearch list --json` has them")
        return found[0]
    scopes = find_scopes(store, None if wanted is None else str(wanted))
    runs = [run for scope in scopes for run in store.runs(scope)]
    return max(runs, key=lambda run: (run.strategy != BY_HAND, NEST_OF not in run.settings, run.id))


def search_of_run(store: Store, wanted: str | int | None, file: Path | None = None) -> Search:
    """Raises UserError as `find_run` does."""
    return Search(store, find_run(store, wanted), file)


class Search(Statistics):
    """A run, and the search tree that it and the other runs of its kind have grown.

    Frames: `convergence`, `outcomes`, `stage_times`, `gains`, `arguments`; `plot` draws them.
    `file` is where the procedure is now, if it has moved.
    """

    @cached_property
    def workload(self) -> Workload:
        """The procedure and the sizes that it was tuned for."""
        return self.store.workload(self.scope)

    @cached_property
    def target(self) -> Target:
        """The machine, compilers and floating-point contract that it was tuned for."""
        return self.store.target(self.scope, self.run.id)

    @property
    def best(self) -> StoredCandidate | None:
        """The fastest of all searches of this procedure here."""
        return next(iter(self.store.best(self.scope, 1)), None)

    @property
    def noise(self) -> Measurement | None:
        """The best schedule timed against itself at the end of the run, if it was."""
        return RunSummary.of(self.run).noise

    @property
    def name(self) -> str:
        """The procedure with its sizes."""
        return fmt.kernel(self.workload)

    @cached_property
    def loaded(self) -> tuple[Source, Any] | UserError:
        """The file that was tuned and its procedure, or why they cannot be had."""
        try:
            return load_tuned(self.workload, self.file)
        except UserError as error:
            if self.file is not None:
                raise
            return error

    @property
    def procedure(self) -> Any | None:
        """The Exo procedure as written; None if its file cannot be loaded."""
        return None if isinstance(self.loaded, UserError) else self.loaded[1]

    @cached_property
    def ceilings(self) -> Ceilings:
        """GB/s of the memory levels where the procedure's arrays are not, for the picture of the
        roofline. The first time they are measured, for about a second. Empty on another machine
        than the search's, and if the procedure cannot be loaded."""
        if self.procedure is None:
            return ()
        return ceilings(self.procedure, self.workload, self.target, self.tell)

    def __repr__(self) -> str:
        counts = fmt.outcomes(self.store.outcomes(self.scope))
        return f"run {self.run.id} of {self.name}, {self.run.status.value}: {counts}"

    @property
    def plot(self) -> Plots:
        """Pictures of the frames. Needs the extra `notebook`."""
        return Plots(self)

    @property
    def tree(self) -> TreeView:
        """The page of `schedsearch report`, in a frame: the search tree to click through. Raises
        UserError if there are no candidates."""
        return TreeView(f"search tree of {self.name}", page.page(page_data(self, frozen=True)))

    def widget(self) -> Any:
        """The same page as a widget, which follows the search while that runs, and replays any
        candidate that is clicked. Notebooks that are exported show its verdict and samples.
        Needs the extra `notebook`."""
        from schedsearch.api.widget import page_widget  # which asks for this class

        return page_widget(self)
