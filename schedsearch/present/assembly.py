"""The hottest loops of a kernel beside their C and Exo lines: for a terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from schedsearch.evaluate.code.c_lines import Line
from schedsearch.evaluate.code.counters import Counters
from schedsearch.present import format as fmt
from schedsearch.study.hot import Hot, Shown

MOST_ROWS = 60
"""Instructions of a loop that a terminal and Markdown show; JSON has all."""

NOT_MEASURED = (
    "With line tables the compiler makes other machine code than what is measured: take lines "
    "and counts as approximate."
)
_COLUMNS = ("assembly", "C", "Exo")
_LISTED = 40  # characters, before a comment
_NOTHING = "No loop of the machine code takes a good part of the time: all loops are unrolled."


@dataclass(frozen=True, repr=False)
class Assembly:
    """What `schedsearch explain --asm` prints, and with --counters."""

    hot: Hot
    counters: Counters | None = None
    loops: bool = True
    """Whether these are to be shown."""

    @property
    def terminal(self) -> RenderableType:
        """Tables as wide as the terminal: lines of C and Exo are folded, instructions are not."""
        parts: list[RenderableType] = []
        for number, shown in enumerate(self._shown, 1):
            parts.append(Text(f"\n{_title(number, shown)}", style="bold"))
            table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
            table.add_column(_COLUMNS[0], no_wrap=True)
            table.add_column(_COLUMNS[1], ratio=4, overflow="fold")
            table.add_column(_COLUMNS[2], ratio=3, overflow="fold")
            for row in self._rows(shown):
                table.add_row(*map(Text, row))
            parts += [table, *(Text(line) for line in _summary(shown))]
        parts += [Text(f"\n{line}") for line in self._notes()]
        return Group(*parts)

    @property
    def markdown(self) -> str:
        """A section for each loop, and one with what limits it."""
        lines: list[str] = []
        for number, shown in enumerate(self._shown, 1):
            lines += ["", f"## {_title(number, shown)}", ""]
            lines += [f"| {' | '.join(_COLUMNS)} |", "|---|---|---|"]
            for row in self._rows(shown):
                lines.append(f"| {' | '.join(map(_code, row))} |")
            lines += ["", *(f"- {line}" for line in _summary(shown))]
        lines += ["", "## What limits it"]
        return "\n".join([*lines, *(part for note in self._notes() for part in ("", note))])

    @property
    def listing(self) -> str:
        """Assembly with comments, to be read beside the C: an instruction a line."""
        lines: list[str] = []
        for number, shown in enumerate(self._shown, 1):
            lines += [f"; {_title(number, shown)}", ""]
            for text, c, _ in self._rows(shown):
                lines.append(f"{text:<{_LISTED}} ; C {c}" if c else text)
            lines += ["", *(f"; {line}" for line in _summary(shown)), ""]
        return "\n".join([*lines, *(f"; {note}" for note in self._notes())])

    def to_json(self) -> dict[str, Any]:
        """Lines of C are numbered as in the source alone; `exo` is empty where the statement is not
        known. `iterations` and `share` are estimates."""
        return {
            "as_measured": self.hot.measured,
            "limited_by": self.hot.limited,
            "loops": [self._loop_json(shown) for shown in self._shown],
            "counters": self.counters.to_json() if self.counters else None,
        }

    @property
    def _shown(self) -> tuple[Shown, ...]:
        return self.hot.loops if self.loops else ()

    def _loop_json(self, shown: Shown) -> dict[str, Any]:
        loop = shown.loop
        code = [
            {
                "address": each.address,
                "assembly": each.text,
                "c_line": line.number - self.hot.offset,
                "c": line.text,
                "exo": line.statement,
            }
            for each, line in self._lines(shown)
        ]
        return {
            "function": loop.function,
            "share": loop.share,
            "iterations": loop.iterations,
            "counts": loop.counts.to_json(),
            "least_cycles": loop.cycles,
            "binds": loop.binds,
            "llvm_mca_cycles": shown.model.cycles,
            "llvm_mca": shown.model.cpu or shown.model.why,
            "code": code,
        }

    def _lines(self, shown: Shown) -> Iterator[tuple[Any, Line]]:
        nothing = Line(self.hot.offset, "")
        for each in shown.loop.instructions:
            yield each, self.hot.lines.get(each.line, nothing)

    def _rows(self, shown: Shown) -> Iterator[tuple[str, str, str]]:
        """A line of C is beside the first instruction of each run of its instructions: its text
        the first time, then its number alone."""
        before, seen = 0, set[int]()
        rows = list(self._lines(shown))
        for each, line in rows[:MOST_ROWS]:
            c = exo = ""
            if line.text and line.number != before:
                new = line.number not in seen
                c = f"{line.number - self.hot.offset}" + f": {line.text}" * new
                exo = line.statement * new
            seen.add(line.number)
            yield " ".join(each.text.split("<")[0].split()), c, exo
            before = line.number
        if len(rows) > MOST_ROWS:
            yield f"({len(rows) - MOST_ROWS} instructions more)", "", ""

    def _notes(self) -> Iterator[str]:
        if self.loops and not self.hot.loops:
            yield _NOTHING
        if self.counters is not None:
            yield from _counted(self.counters, self.hot)
        if not self.hot.measured:
            yield NOT_MEASURED
        yield self.hot.limited


def _title(number: int, shown: Shown) -> str:
    loop = shown.loop
    return (
        f"Hot loop {number}: about {loop.share:.0%} of the time, "
        f"{loop.iterations:.3g} iterations a call"
    )


def _summary(shown: Shown) -> Iterator[str]:
    counts, model = shown.loop.counts, shown.model
    yield (
        f"One iteration: {fmt.count(counts.instructions, 'instruction')}, {_width(shown)}, "
        f"{fmt.count(counts.fmas, 'multiply-add')}, {fmt.count(counts.loads, 'load')}, "
        f"{fmt.count(counts.stores, 'store')}, {counts.spills} of them spills"
    )
    intensity = "" if counts.intensity is None else f", {counts.intensity:.3g} a byte moved"
    yield f"{fmt.count(counts.operations, 'operation')}{intensity}"
    cycles = f"At least {shown.loop.cycles:.3g} cycles by counting ({shown.loop.binds})"
    if model.cycles is None:
        yield f"{cycles}; {model.why}"
    else:
        yield f"{cycles}, {model.cycles:.3g} by llvm-mca (-mcpu={model.cpu})"


def _counted(counters: Counters, hot: Hot) -> Iterator[str]:
    known = {
        "instructions": counters.instructions,
        "cycles": counters.cycles,
        "instructions per cycle (IPC)": counters.per_cycle,
        "misses of the first cache": counters.l1_misses,
        "misses of the last cache": counters.cache_misses,
        "mispredicted branches": counters.branch_misses,
    }
    numbers = ", ".join(
        f"{name} {value:,.0f}" if value >= 100 else f"{name} {value:.3g}"
        for name, value in known.items()
        if value is not None
    )
    yield f"One call: {numbers}. Source: {counters.source}."
    if hot.loops:
        yield f"The hottest loop uses {_width(hot.loops[0])}."
    if counters.refused:
        yield f"Better sources do not count here: {'; '.join(counters.refused)}."


def _width(shown: Shown) -> str:
    width = shown.loop.counts.width
    return {0: "no vectors", 64: "scalar registers"}.get(width, f"{width}-bit vectors")


def _code(text: str) -> str:
    """In a table's cell."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""
