"""What this user has tuned on this machine, or run with a recording of its calls: the files that a
store, a lock file or a recording may have executed by naming them.

Stores and lock files come from elsewhere, and loading a Python file executes it. So every run
notes what the user gave it to execute, by resolved path and text, where only the user can
write. Whatever else is named by data is executed only if the user names it, too.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_state_path

from schedsearch.core.keys import digest
from schedsearch.core.ownership import not_private, others_may_change
from schedsearch.core.text_file import read_text
from schedsearch.evaluate.build.disk import disk_explained


def state_dir() -> Path:
    """Where this user's record and locks are."""
    return user_state_path("schedsearch")


def make_private(*folders: Path) -> None:
    """Make directories for this user alone, each in the one before. Raises OSError."""
    for folder in folders:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def remember(path: Path, sha: str) -> None:
    """Note that the user had this file executed, whose text has the digest `sha`.

    There is one empty file for each, so that runs that note something at the same time do not
    get into each other's way. Raises UserError if the record cannot be written.
    """
    note = _note(path, sha)
    with disk_explained(note):
        make_private(state_dir(), _record(), note.parent)
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def doubt(path: Path) -> str | None:
    """Why a file is not executed because such data names it, in words; None if the
    record has it as it is now, and nobody else can change it. Raises UserError if it cannot be
    read."""
    note = _note(path, digest(read_text(path)))
    try:
        if not note.parent.is_dir():
            return "it was not tuned or recorded by this user on this machine"
        if not note.exists():
            return "it has changed since this user tuned or recorded it"
        if problem := _forged(note):
            return f"the record of what was tuned may be forged, as {problem}"
        return others_may_change(path)
    except OSError as error:
        return f"the record of what was tuned cannot be read: {error}"


def _record() -> Path:
    return state_dir() / "tuned"


def _note(path: Path, sha: str) -> Path:
    return _record() / digest(os.path.realpath(path)) / sha


def _forged(note: Path) -> str | None:
    """Why somebody else may have made a note; None if nobody could."""
    places = (_record(), note.parent, note)
    return next((problem for place in places if (problem := not_private(place))), None)
