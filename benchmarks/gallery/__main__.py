"""`python -m benchmarks.gallery`: write the gallery and the pictures of the documentation."""

from __future__ import annotations

from pathlib import Path

from benchmarks.command import run_command
from benchmarks.gallery.page import ROOT, exhibits, page, picture
from benchmarks.gallery.pictures import ratios
from benchmarks.gallery.tables import against_best


def pictures() -> dict[str, str]:
    """By file name, all that is drawn from records and results."""
    charts = {
        f"{name}.svg": ratios(against_best(name), f"{title}: speed over the fastest peer")
        for name, title in (("polybench", "PolyBench/C"), ("suite", "Kernel suite"))
    }
    return charts | {f"{each.case.name}.svg": picture(each) for each in exhibits()}


def write(docs: Path = ROOT / "docs") -> None:
    """Write docs/gallery.md and docs/pictures from the record book and the results."""
    (docs / "pictures").mkdir(exist_ok=True)
    for name, text in pictures().items():
        (docs / "pictures" / name).write_text(text)
    (docs / "gallery.md").write_text(page())


if __name__ == "__main__":
    run_command(write)
