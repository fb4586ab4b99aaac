"""What a check found as Markdown, for a CI step's summary or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedsearch.core.checked import Checked, Status
from schedsearch.present.against import AGAINST, against_lines
from schedsearch.present.checked import COMPARED, compared, headline, kernel

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


def markdown(results: Sequence[Checked]) -> str:
    """A table, and what is behind everything that did not just pass."""
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
