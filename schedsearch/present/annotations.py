"""What a check found as GitHub's workflow commands: annotations of files and lines.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from schedsearch.core.checked import Checked, Status
from schedsearch.present.checked import kernel

_COMMANDS = {
    Status.WRONG: "error",
    Status.REGRESSION: "error",
    Status.ERROR: "error",
    Status.STALE: "error",
    Status.INCONCLUSIVE: "warning",
}


def annotation_lines(
    results: Sequence[Checked], root: Path, checkout: Path = Path()
) -> Iterator[str]:
    """A line for each result that people should see; `root` is the lock file's directory. Files
    are named as seen from `checkout`."""
    for each in results:
        if each.status in _COMMANDS:
            file = os.path.relpath(root / each.entry.workload.source, checkout.resolve())
            title = f"{kernel(each)}: {each.status}"
            place = f"file={_property(file)},line={max(each.line, 1)},title={_property(title)}"
            message = _data("\n".join((each.summary, *each.notes)))
            yield f"::{_COMMANDS[each.status]} {place}::{message}"


def _data(text: str) -> str:
    """Whatever follows is text: a line of it cannot be a command of its own."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
