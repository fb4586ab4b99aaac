"""One HTML file about one run, for people who were not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedsearch.api.document import page_data
from schedsearch.api.searched import Search
from schedsearch.core.records import PeerComparison
from schedsearch.core.text_file import write_text
from schedsearch.present import page
from schedsearch.present.files import require_folder


def write_report(about: Search, path: Path, against: Sequence[PeerComparison] = ()) -> Path:
    """The page of `report` as a file. Raises UserError as that does, and if it cannot be
    written; that its directory is there is checked first."""
    require_folder("--out", path)
    write_text(path, report(about, against))
    return path


def report(about: Search, against: Sequence[PeerComparison] = ()) -> str:
    """The page of `ui` as it is now, with what the best was compared with. Raises UserError if
    there is nothing to show."""
    return page.page(page_data(about, against, frozen=True))
