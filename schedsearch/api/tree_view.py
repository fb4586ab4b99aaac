"""A search tree to click through, in a notebook or as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from schedsearch.api import pictures
from schedsearch.api.details import details, interesting, measured_code
from schedsearch.api.tree_data import tree_data
from schedsearch.core.errors import UserError
from schedsearch.core.records import Target
from schedsearch.present import page
from schedsearch.search.recorded import stored_roof
from schedsearch.store.database import Store
from schedsearch.store.views import Scope

HEIGHT = 780
"""Pixels, in a notebook."""


@dataclass(frozen=True)
class TreeView:
    """`page` is HTML that needs nothing else: 5 MB, most of it Plotly."""

    title: str
    page: str

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return f"{self.title}; shown by notebooks, and by a browser: .save(FILE)"

    def _repr_html_(self) -> str:
        """A frame of its own: the page's policy and style are not the notebook's."""
        frame = '<iframe srcdoc="{}" style="width:100%;height:{}px;border:0"></iframe>'
        return Markup(frame).format(str(self.page), HEIGHT)


def tree_view(
    store: Store, scope: Scope, target: Target, procedure: Any | None, name: str
) -> TreeView:
    """Code differences need `procedure`. Raises UserError if there are no candidates."""
    title = f"search tree of {name}"
    data = {"tree": shown_tree(store, scope, target, procedure)}
    return TreeView(title, page.page(title, [page.tree("tree")], data, pictures.library()))


def shown_tree(store: Store, scope: Scope, target: Target, procedure: Any | None) -> dict[str, Any]:
    """Data of the tree, with details of its interesting candidates."""
    table = store.candidate_table(scope)
    if not table.rows:
        raise UserError(f"{store.name} has no candidates of this search: it ended too early")
    shown = details(interesting(store, scope), target, procedure)
    with_code = {key for key, each in shown.items() if each["diffs"]}
    for key, changes in measured_code(store, table, with_code).items():
        shown.setdefault(key, {"measurement": ""})["diffs"] = changes
    return tree_data(table, shown, stored_roof(store, scope))
