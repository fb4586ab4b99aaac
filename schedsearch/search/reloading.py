"""Loads the procedures that a store or a lock file names.

The text of a file in a store or a lock is compared with the file, never executed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedsearch.core import ast as q
from schedsearch.core.errors import UnnamedFileError, UserError
from schedsearch.core.records import Outcome, Workload
from schedsearch.evaluate.arguments.binding import Binding, bind
from schedsearch.search.setup.trust import doubt
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.identity import proc_key
from schedsearch.transforms.exo.loader import Source, load_source, pick
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.vector.instruction_sets import load_instructions

if TYPE_CHECKING:  # `check` does without a store
    from schedsearch.store.views import StoredCandidate


def load_tuned(
    workload: Workload, file: Path | None = None, instructions: Sequence[Path] = ()
) -> tuple[Source, Any]:
    """The source and the procedure that was tuned, from `file` or where it was then; the
    user's `instructions` are loaded too, for its schedules to use.

    Raises UserError if the file is not there, is not one that a store may name
    (`require_tuned`), or has another procedure now.
    """
    path = file or Path(workload.source)
    if not os.path.isfile(path):  # Path.is_file raises for names that are too long
        raise UserError(
            f"{workload.proc} was tuned from {path}, which is not there (any more); "
            "give the file with --file"
        )
    if file is None:
        require_tuned(path, "--file")
    source = load_source(path)
    procedure = specialize(pick(source, workload.proc), workload.fixed)
    if proc_key(mirror(procedure)) != workload.proc_key:
        raise UserError(
            f"{workload.proc} in {source.path} is not what was tuned: it has changed since. "
            "Tune it again, or give the old file with --file"
        )
    for each in instructions:
        load_instructions(each)
    return source, procedure


def bound(workload: Workload, ast: q.Proc) -> Binding:
    """Of the sizes that are still arguments."""
    names = {arg.var.name for arg in ast.args}
    return bind(ast, {name: size for name, size in workload.sizes if name in names})


def require_tuned(path: Path, option: str) -> None:
    """Raises UnnamedFileError for a Python file that a store or a lock names, unless the record
    says that this user tuned it, or tuned with it (`trust.py`). `option` is by what the user
    names such a file."""
    try:
        reason = doubt(path)
    except UserError as error:
        reason = str(error)
    if reason is None:
        return
    words = (option, str(path))
    raise UnnamedFileError(
        f"{path} is not executed because a store, lock or recording names it: {reason}. If it is "
        f"yours, and should be, add to the command: {shlex.join(words)}",
        words,
    )


def differs(what: str) -> UserError:
    """The error of a schedule that replays, but to something else than was recorded."""
    return UserError(
        f"the replayed {what} differs from the recorded one: this schedsearch or Exo is not "
        "the version that recorded it; `schedsearch run` tunes it anew"
    )


def require_verified(candidate: StoredCandidate) -> None:
    """Raises UserError for a candidate that was not verified and timed."""
    record = candidate.record
    if record.outcome is not Outcome.CORRECT or record.measurement is None:
        outcome = record.outcome.value.replace("_", " ") if record.outcome else "not measured"
        raise UserError(
            f"candidate {candidate.id} is not a verified schedule: {outcome}. "
            f"`schedsearch best` lists those that are; `schedsearch show {candidate.id}` tells more"
        )
