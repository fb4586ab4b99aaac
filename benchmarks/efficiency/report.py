"""The tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from benchmarks.efficiency.curve import Course, Point, passed
from schedsearch.present import format as fmt


def curve_table(course: Course, flops: float, roof_s: float) -> Table:
    """`roof_s`: the least seconds of a call by the roofline; `flops` of a call."""
    table = _table(f"{course.kernel}: best so far")
    for title in ("after", "measured", "over as written", "a call takes", "GFLOP/s", "of roofline"):
        table.add_column(title, justify="right")
    for point in course.curve:
        table.add_row(*_cells(point, flops, roof_s))
    if course.confirmed is not None:
        table.add_section()
        table.add_row("confirmed", *_cells(course.confirmed, flops, roof_s)[1:])
    return table


def _cells(point: Point, flops: float, roof_s: float) -> list[str]:
    return [
        f"{point.at_s:.1f} s",
        str(point.measured),
        f"{point.speedup:.2f}x",
        fmt.duration(point.seconds),
        f"{flops / point.seconds * 1e-9:.1f}" if flops else "-",
        f"{roof_s / point.seconds:.0%}",
    ]


def threshold_table(course: Course, thresholds: Mapping[str, float]) -> Table:
    """When the best so far first took at most so many seconds per call."""
    table = _table("First past")
    for title in ("threshold", "a call takes", "after", "measured"):
        table.add_column(title, justify="left" if title == "threshold" else "right")
    for name, seconds in thresholds.items():
        point = passed(course.curve, seconds)
        when = [f"{point.at_s:.1f} s", str(point.measured)] if point else ["never", ""]
        table.add_row(name, fmt.duration(seconds), *when)
    return table


def stage_table(course: Course) -> Table:
    """Seconds of all workers together."""
    table = _table(f"Where {course.wall_s:.0f} s went ({course.search_s:.1f} s before the search)")
    table.add_column("stage")
    table.add_column("seconds", justify="right")
    table.add_column("of the wall clock", justify="right")
    for stage, seconds in sorted(course.stage_s.items(), key=lambda item: -item[1]):
        table.add_row(stage, f"{seconds:.1f}", f"{seconds / course.wall_s:.0%}")
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left")


def as_json(
    course: Course, flops: float, roof_s: float, thresholds: Mapping[str, float]
) -> dict[str, object]:
    """Everything the tables say; seconds throughout."""

    def points(found: Sequence[Point]) -> list[dict[str, float]]:
        return [vars(point) for point in found]

    first = {name: passed(course.curve, seconds) for name, seconds in thresholds.items()}
    return {
        "kernel": course.kernel,
        "search_s": course.search_s,
        "wall_s": course.wall_s,
        "measured": course.measured,
        "candidates": course.candidates,
        "flops": flops,
        "roof_s": roof_s,
        "curve": points(course.curve),
        "confirmed": vars(course.confirmed) if course.confirmed else None,
        "thresholds": {
            name: {"seconds": seconds, "passed": vars(p) if (p := first[name]) else None}
            for name, seconds in thresholds.items()
        },
        "stage_s": course.stage_s,
    }
