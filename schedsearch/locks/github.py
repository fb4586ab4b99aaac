"""Report a check to GitHub: Markdown for a step's summary or a comment, and workflow commands that
annotate files and lines.

https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from schedsearch.locks.result import Checked, Status
from schedsearch.locks.table import COMPARED, compared, headline, kernel
from schedsearch.present.against import AGAINST, against_lines

_MARKS = {
    Status.PASSED: "✅",
    Status.WRONG: "⛔",
    Status.REGRESSION: "❌",
    Status.ERROR: "❌",
    Status.STALE: "📌",
    Status.INCONCLUSIVE: "❔",
    Status.SKIPPED: "⏭️",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_COMMANDS = {
    Status.WRONG: "error",
    Status.REGRESSION: "error",
    Status.ERROR: "error",
    Status.STALE: "error",
    Status.INCONCLUSIVE: "warning",
}


def markdown(results: Sequence[Checked]) -> str:
    """A table, and the details of every entry that did not just pass."""
    lines = [
        "### schedsearch check",
        "",
        headline(results),
        "",
        f"| | kernel | file | {' | '.join(COMPARED)} |",
        "|---|---|---|---|---|---|",
    ]
    for each in results:
        cells = (
            f"{_MARKS[each.status]} {each.status}",
            _text(kernel(each)),
            _text(each.entry.workload.source),
            *map(_text, compared(each)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    for each in results:
        if each.status is not Status.PASSED or each.notes:
            fence = _fence("\n".join((each.summary, *each.notes)))
            lines += ["", f"**{_text(kernel(each))}**: {each.status}", "", fence]
            lines += [each.summary, *each.notes, fence]
    for each in results:
        if each.against:
            beside = [line.strip() for line in against_lines(each.against)]
            lines += ["", f"**{_text(kernel(each))}** {AGAINST}:", ""]
            lines += [f"- {_text(line)}" for line in beside]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Names come from files: nothing in them is Markdown or HTML."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)


def _fence(text: str) -> str:
    """Longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _in_workflow() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextmanager
def commands_stopped() -> Iterator[None]:
    """Stop the runner from taking printed lines for commands, which it looks for in every line of
    both streams, behind spaces too: names and messages come from other people's files, and
    kernels may print. Only the secret token ends this."""
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
    """Print annotations and append to the step's summary; in a workflow only."""
    if _in_workflow():
        # Annotations name files relative to the checkout, wherever in it the step runs.
        checkout = Path(os.environ.get("GITHUB_WORKSPACE", ""))
        for line in annotation_lines(results, root, checkout):
            print(line)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(markdown(results))


def annotation_lines(
    results: Sequence[Checked], root: Path, checkout: Path = Path()
) -> Iterator[str]:
    """A line for each result that needs attention; `root` is the lock file's directory. File names
    are relative to `checkout`."""
    for each in results:
        if each.status in _COMMANDS:
            file = os.path.relpath(root / each.entry.workload.source, checkout.resolve())
            title = f"{kernel(each)}: {each.status}"
            place = f"file={_property(file)},line={max(each.line, 1)},title={_property(title)}"
            message = _data("\n".join((each.summary, *each.notes)))
            yield f"::{_COMMANDS[each.status]} {place}::{message}"


def _data(text: str) -> str:
    """Escape text, so that no line of it is a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
