"""The gallery: kernels of the record book with their loops, schedules, pictures and figures."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gallery.pictures import shares
from benchmarks.suite.case import Case
from benchmarks.suite.catalogue import CASES
from benchmarks.suite.records import BOOK, recorded
from schedsearch.transforms.export import schedule_lines

ROOT = Path(__file__).parents[2]
OURS = "schedsearch"

SHOWN = {
    "gemm_nn": "Matrix product",
    "nn_conv3x3_bias_relu_b1": "Convolution with bias and relu",
    "nn_attention_b1": "Attention",
    "softmax": "Softmax",
    "nn_layernorm_b1": "Layer norm",
    "pb_syrk": "Symmetric rank-k update",
    "pb_3mm": "Three matrix products",
    "pb_cholesky": "Cholesky factorisation",
}
"""Records of `avx512`, with the title of each."""

NAMES = {"numpy": "NumPy", "torch": "PyTorch", "scipy": "SciPy", "clang +Polly": "clang with Polly"}
"""Of peers, where a record has another one."""

LEAD = """\
# Gallery

Each of these eight kernels has its loops, the best known schedule, and its speed beside a peer's.

The bars show shares of the [roofline](glossary.md), so 100 % is the most that the machine allows.
The share of a peer follows from ours and from the ratio of the two times. The figures are of the
day on which a schedule entered the [record book](how-to/benchmarks.md#the-record-book), on one
thread of a virtual machine. Names of procedures are those of `benchmarks/suite`.
"""


@dataclass(frozen=True)
class Exhibit:
    """A kernel of the gallery. `found` is what its record says of the day it was found."""

    case: Case
    title: str
    found: Mapping[str, Any]

    @property
    def peer(self) -> tuple[str, float]:
        """The fastest peer, and its time over ours."""
        [(name, ratio)] = self.found["best peer"].items()
        return NAMES.get(name, name), ratio

    @property
    def record(self) -> Path:
        return BOOK / "avx512" / f"{self.case.name}.json"


def exhibits() -> list[Exhibit]:
    """In the order of the page."""
    cases = {case.name: case for case in CASES}
    book = BOOK / "avx512"
    return [
        Exhibit(cases[name], title, json.loads((book / f"{name}.json").read_text())["found"])
        for name, title in SHOWN.items()
    ]


def picture(exhibit: Exhibit) -> str:
    """Shares of the roofline: the baseline, the fastest peer, the schedule."""
    name, ratio = exhibit.peer
    reached = exhibit.found["roofline"]
    bars = [
        ("baseline", reached / exhibit.found["speedup"]),
        (name, reached / ratio),
        (OURS, reached),
    ]
    return shares(bars, OURS, f"{exhibit.title}: share of the roofline")


def page() -> str:
    """The whole page. Replays every schedule, which takes seconds."""
    return LEAD + "".join(section(each, tuple(operators(each))) for each in exhibits())


def operators(exhibit: Exhibit) -> list[str]:
    """The schedule as Exo code, one line an operator."""
    trace = recorded(exhibit.record)
    assert trace is not None
    return schedule_lines(exhibit.case.load().procedure, trace)


def section(exhibit: Exhibit, code: tuple[str, ...]) -> str:
    """Its part of the page; `code` is the schedule's."""
    return "\n".join(_section(exhibit, code)) + "\n"


def _section(exhibit: Exhibit, code: tuple[str, ...]) -> Iterator[str]:
    case, found = exhibit.case, exhibit.found
    peer, ratio = exhibit.peer
    yield f"\n## {exhibit.title}\n"
    yield (
        f"**{found['speedup']:.3g}x the baseline and {ratio:.2f}x {peer}, at "
        f"{100 * found['roofline']:.0f} % of the roofline.** "
        f"A search of {found['search']} found it on {found['day']} "
        f"({found['cpu']}, {found['compiler']}){_sizes(case)}.\n"
    )
    yield f"![{exhibit.title}: shares of the roofline](pictures/{case.name}.svg)\n"
    yield f'```python title="{case.name}.py"\n{loops(case)}\n```\n'
    yield from _rewrites(exhibit)
    yield f'\n<details markdown="1"><summary>The schedule as Exo code, {_count(code)}</summary>\n'
    yield f'```python title="{case.name}.schedule.py"\n' + "\n".join(code) + "\n```\n"
    yield "</details>"


def _count(code: tuple[str, ...]) -> str:
    return f"{len(code)} operator{'s' if len(code) != 1 else ''}"


def _sizes(case: Case) -> str:
    told = ", ".join(f"{name} = {size}" for name, size in case.sizes)
    return f"; {told}" if told else ""


def _rewrites(exhibit: Exhibit) -> Iterator[str]:
    steps = json.loads(exhibit.record.read_text())["schedule"]
    yield "| | rewrite | at |\n|---|---|---|"
    for number, step in enumerate(steps, 1):
        label = step["label"].replace("|", "\\|")
        name = step["transform"]
        yield f"| {number} | [{name}](reference/transforms.md#{name}) | `{label}` |"


def loops(case: Case) -> str:
    """The text of its procedure, decorator included."""
    text = case.file.read_text()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == case.proc:
            first = min(node.lineno, *(each.lineno for each in node.decorator_list))
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise ValueError(f"{case.file} has no {case.proc}")
