"""One procedure and some of its schedules: does everything hold that should?"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fuzz import elsewhere
from fuzz.procedures import Generated
from fuzz.running import Disagreement, cases, differences
from fuzz.schedules import Step, walk
from schedsearch.analysis.out_of_bounds import out_of_bounds
from schedsearch.core.errors import CodegenError, UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC, Target
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror

ELSEWHERE = 16
"""One of so many schedules is also replayed from text, exported, and asked of Exo as it is."""


@dataclass(frozen=True)
class Finding:
    """A schedule that does not do what the procedure does, or that something broke on."""

    text: str
    trace: Trace
    problem: str
    where: str

    def __str__(self) -> str:
        steps = "\n".join(f"  {step}" for step in self.trace.steps)
        return f"{self.text}\n{steps}\n{self.where}\n{self.problem}"


@dataclass
class Report:
    """What was examined: counters that add up over procedures."""

    procedures: int = 0
    pairs: set[str] = field(default_factory=set)
    compiled: int = 0
    carried: int = 0
    transforms: Counter[str] = field(default_factory=Counter)
    consecutive: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.procedures += other.procedures
        self.pairs |= other.pairs
        self.compiled += other.compiled
        self.carried += other.carried
        self.transforms.update(other.transforms)
        self.consecutive.update(other.consecutive)
        self.left_out.update(other.left_out)
        self.findings += other.findings


def examine(
    generated: Generated,
    walks: Sequence[Sequence[int]],
    target: Target,
    flags: Sequence[str],
    folder: Path,
) -> Report:
    """Schedules of one procedure by random walks, compiled and compared."""
    report = Report()
    path = folder / "fuzzed.py"
    path.write_text(generated.text)
    try:
        source = load_source(path)
    except UserError as error:
        report.left_out[f"Exo's front end: {_first(str(error))}"] += 1
        return report
    original = source.procs["fuzzed"]
    meaning = mirror(original)
    where = f"for {target.isa}, {target.threads} threads, {' '.join(flags)}"
    if out_of_bounds(meaning):  # a name was shadowed: the loader refuses it
        report.left_out["drawn with an access out of bounds"] += 1
        return report
    try:
        data, left_out = cases(meaning, generated.sizes)
    except Disagreement as error:
        report.findings.append(Finding(generated.text, Trace(), str(error), where))
        return report
    report.left_out += left_out
    if not data:
        report.left_out["procedures without a defined result"] += 1
        return report
    try:
        codes: dict[str, tuple[GeneratedC, Trace]] = {}
        code = generate_c(original)
        codes[code.key] = code, Trace()
    except CodegenError as error:
        report.left_out[f"no C: {_first(str(error))}"] += 1
        return report
    report.procedures = 1
    root = digest(generated.text)
    for choices in walks:
        steps: list[Step] = []
        try:
            for step in walk(original, choices, target, dict(generated.sizes[-1])):
                steps.append(step)
                report.pairs.add(digest(f"{root} {step.trace.key}"))
                if problem := out_of_bounds(step.state.ast):
                    report.findings.append(Finding(generated.text, step.trace, problem, where))
                try:
                    code = generate_c(step.state.procedure, step.state.build)
                    codes.setdefault(code.key, (code, step.trace))
                except CodegenError as error:
                    report.left_out[f"schedule without C: {_first(str(error))}"] += 1
        except Exception:  # whatever else comes out is what is looked for
            trace = steps[-1].trace if steps else Trace()
            report.findings.append(Finding(generated.text, trace, traceback.format_exc(), where))
        if steps and choices[0] % ELSEWHERE == 0:
            report.carried += 1
            trace = steps[-1].trace
            try:
                problems = elsewhere.differences(source, steps[-1], folder)
            except CodegenError:
                problems = []  # said above
            except Exception:  # as above
                problems = [traceback.format_exc()]
            report.findings += [Finding(generated.text, trace, each, where) for each in problems]
        names = [step.trace.steps[-1].transform for step in steps]
        report.transforms.update(names)
        report.consecutive.update(pairwise(names))
    kept = list(codes.values())
    report.compiled = len(kept)
    wrong = differences(meaning, [code for code, _ in kept], data, folder, flags)
    for number, problem in wrong.items():
        report.findings.append(Finding(generated.text, kept[number][1], problem, where))
    return report


def _first(message: str) -> str:
    """Without the file and the line, which are others every time."""
    said = re.sub(r"^\S+:\d+:\d+: ", "", message.split("failed to load:")[-1])
    return " ".join(said.split())[:120]
