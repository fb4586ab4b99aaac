"""What `schedsearch check` tells the GitHub workflow that it runs in.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from schedsearch.core.checked import Checked
from schedsearch.present.annotations import annotation_lines
from schedsearch.present.markdown import markdown


def _in_workflow() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def commands_stopped() -> Iterator[None]:
    """Nothing that is printed meanwhile is a command to the runner, which looks for them in all
    lines of both streams, behind spaces too: names and messages come from files of others, and
    kernels may print. Only who knows the token ends this."""
    if not _in_workflow():
        yield
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        print(f"::{token}::", flush=True)


def tell(results: Sequence[Checked], root: Path) -> None:
    """Annotations, and the step's summary; nothing outside of a workflow."""
    if _in_workflow():
        # Files of annotations are seen from the checkout, wherever in it the step runs.
        checkout = Path(os.environ.get("GITHUB_WORKSPACE", ""))
        for line in annotation_lines(results, root, checkout):
            print(line)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(markdown(results))
