"""What a check found as Markdown, for the summary of a CI step."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedsearch.core.checked import Checked, Status
from schedsearch.present import format as fmt
from schedsearch.present.checked import headline, kernel

_MARKS = {
    Status.PASSED: "✅",
    Status.WRONG: "⛔",
    Status.REGRESSION: "❌",
    Status.ERROR: "❌",
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
        "| | kernel | file | now | locked | held from |",
        "|---|---|---|---|---|---|",
    ]
    for each in results:
        timing = each.timing
        cells = (
            f"{_MARKS[each.status]} {each.status}",
            _text(kernel(each)),
            _text(each.entry.workload.source),
            _text(fmt.speedup(timing.ratio)) if timing else "",
            _text(fmt.speedup(each.entry.speed.ratio)),
            f"{timing.least:.3g}x" if timing else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    for each in results:
        if each.status is not Status.PASSED or each.notes:
            fence = _fence("\n".join((each.summary, *each.notes)))
            lines += ["", f"**{_text(kernel(each))}**: {each.status}", "", fence]
            lines += [each.summary, *each.notes, fence]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Names come from files: nothing in them is Markdown or HTML."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)


def _fence(text: str) -> str:
    """Longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)
