"""The report at the end of a run is true, whatever the run was like."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from schedsearch.cli.report import Written, as_json, gained, report
from schedsearch.core.decision import Decision
from schedsearch.core.records import Measurement, Outcome, Round
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.evaluate.oracle.agreed import Agreement
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.evaluate.run.sandbox import Sandbox
from schedsearch.search.baseline import Baseline
from schedsearch.search.engine.progress import Best, Progress
from schedsearch.search.result import Result, Setting
from schedsearch.search.setup.budget import Stop
from schedsearch.search.setup.run_summary import Inspection
from schedsearch.search.setup.subject import Subject, load_subject
from schedsearch.search.warmstart.prior_runs import Known
from schedsearch.store.views import Scope
from schedsearch.study.hot import limited

from .invoke import MATMUL

pytestmark = pytest.mark.normal

TRACE = Trace((Rewrite("reorder", 1, (0,), "for i in seq(0, 32)"),))


FILE = Written((Path("matmul32.c"),))
ROOF = Roof(2.0**16 / 140e9, 1e-7, peak=140.0, kind="f32", bandwidth=160.0, level="L1")


@pytest.fixture(scope="module")
def subject() -> Subject:
    return load_subject(MATMUL, None, {}, None)


def timed(kind: str, *speedups: float) -> Measurement:
    return Measurement(kind, tuple(Round((8e3 / s,), (8e3,)) for s in speedups), calls=100)


def ended(
    subject: Subject, stop: Stop, found: Measurement | None, noise: Measurement | None = None
) -> Result:
    """A run that ended by `stop` and with a best measured as `found`."""
    best = Best(TRACE.key, TRACE, found) if found else None
    passed = Check("data races", Finding.PASSED)
    progress = Progress(
        "inspecting",
        9.6,
        10.0,
        {Outcome.CORRECT: 4},
        3,
        2,
        best,
        (),
        search_s=10.0,
        inspection=Inspection("c", (passed,)),
    )
    baseline = Baseline(timed("baseline", 1.0), ROOF, Sandbox(True, 7, True))
    setting = Setting(subject, baseline, Scope(1, 1), Known(0, 0))
    return Result(setting, 1, stop, progress, best, ROOF, noise)


def said(
    subject: Subject,
    stop: Stop,
    found: Measurement | None,
    noise: Measurement | None = None,
    **options: Any,
) -> str:
    """The report of such a run."""
    result = ended(subject, stop, found, noise)
    return printed(result, FILE if result.best else Written(), **options)


def printed(result: Result, written: Written, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    report(console, result, written, **options)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_confirmed_and_clearly_faster(subject: Subject) -> None:
    text = said(subject, Stop.TIME, timed("confirm", 3.9, 4.0, 4.1))
    assert "4.00x [3.61, 4.44] the speed of matmul32 as written: 2 us" in text
    assert "Verified on data, confirmed on 3 interleaved rounds" in text
    assert "Sanitizers, data races: passed." in text
    assert "agrees with its evaluation in 0 of 0 cases" in text
    assert "includes 1" not in text
    assert "schedule (1 rewrite, 1 Exo operator):" in text
    assert "time budget used up: 3 measured, 2 expanded in 10 s" in text


def test_a_race_against_another_schedule_is_no_test_against_the_procedure(
    subject: Subject,
) -> None:
    """It lost by 10 % to one that was taken for four times as fast."""
    raced = replace(timed("race", *[0.9] * 10), reference_speedup=4.0)
    assert raced.decision() is Decision.SLOWER
    text = said(subject, Stop.TIME, raced)
    assert "3.60x the speed of matmul32 as written" in text
    assert "Not tested: it was timed against another schedule" in text
    assert "Clearly" not in text


def test_what_rounds_do_not_tell_apart_is_inconclusive(subject: Subject) -> None:
    text = said(subject, Stop.TIME, timed("confirm", 0.95, 1.05, 1.1))
    assert "Inconclusive: 3 rounds do not tell them apart" in text
    assert "Clearly" not in text


def test_the_verdict_does_not_contradict_the_interval(subject: Subject) -> None:
    scattered = timed("confirm", 1.6, 4.0, 9.0)
    assert scattered.speedup.low < 1.0
    text = said(subject, Stop.TIME, scattered)
    assert "Faster in this session, by a signed-rank test of 3 rounds, but not for" in text
    assert "Clearly" not in text
    few = timed("confirm", 1.31, 1.33, 1.35)
    assert few.speedup.low > 1.0
    text = said(subject, Stop.TIME, few)
    assert "The interval is above 1; 3 rounds are too few for a signed-rank test to" in text
    assert "Inconclusive" not in text
    many = timed("confirm", *[3.0] * 25)
    assert "Clearly faster, by a signed-rank test of 3 rounds." in said(subject, Stop.TIME, many)


def test_a_small_but_clear_gain_and_none(subject: Subject) -> None:
    slightly = timed("confirm", *[1.03, 1.04] * 5)
    said_of_it = "Faster in this session, by a signed-rank test of 10 rounds, but"
    assert said_of_it in said(subject, Stop.TIME, slightly)
    equal = timed("confirm", *[1.001, 1.004] * 5)
    result = replace(ended(subject, Stop.TIME, None), level=Best(TRACE.key, TRACE, equal))
    text = printed(result, Written())
    assert "No schedule faster than matmul32 as written was found." in text
    assert "The fastest has 1 rewrite: 1.00x [1.00, 1.00] its speed." in text
    assert "a difference of more than 2% is ruled out" in text
    assert "No files are written, as no schedule is faster for certain." in text
    assert "schedule (" not in text
    data = as_json(result, Written())
    assert (data["best"], data["files"]) == (None, [])


@pytest.mark.parametrize(
    ("ratios", "written"), [([3.9, 4.0, 4.1], True), ([0.91, 1.01, 1.15], False)]
)
def test_what_may_be_no_faster_is_not_written(
    subject: Subject, ratios: list[float], written: bool
) -> None:
    result = ended(subject, Stop.TIME, timed("confirm", *ratios))
    assert gained(result) == written


def test_what_limits_the_result_is_said_once(subject: Subject) -> None:
    result = ended(subject, Stop.TIME, timed("confirm", 2.0))
    written = Written((Path("a.c"),), limited="Limited by the divider.")
    text = printed(result, written)
    assert text.count("imited by") == 1
    after = text.partition("Limited by the divider.\n")[2]
    assert after.startswith("continue: schedsearch")
    assert "schedsearch explain ID --asm" in after
    assert as_json(result, written)["limited_by"] == "Limited by the divider."


@pytest.mark.parametrize("found", [timed("confirm", 2.0), None])
def test_the_roofline_says_what_limits_else_the_machine_code(
    subject: Subject, found: Measurement | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the best, or of the procedure as written if nothing is faster."""
    result = ended(subject, Stop.EXHAUSTED, found)
    call_s = (found or result.setting.baseline.measurement).candidate_ns * 1e-9
    near, far = (
        replace(result, roof=replace(ROOF, compute_s=share * call_s, memory_s=0.0))
        for share in (0.8, 0.1)
    )
    looked = limited(far, subject.code, subject.ast)
    assert looked.endswith("it reaches 10% of its roofline (estimated, by counting instructions).")
    monkeypatch.setenv("PATH", "")  # neither a compiler nor objdump
    sure = limited(near, subject.code, subject.ast)
    assert sure.startswith(f"Limited by arithmetic, the {ROOF.kind} multiply-add peak")
    assert sure.endswith("it reaches 80% of it (measured).")
    unknown = limited(far, subject.code, subject.ast)
    assert unknown == "What limits it is not known; it reaches 10% of its roofline."


def test_where_nothing_is_gained_weak_verification_is_said_too(subject: Subject) -> None:
    result = ended(subject, Stop.TIME, None)
    agreement = Agreement(("a case",), (), ("C is known roughly",))
    setting = replace(
        result.setting, baseline=replace(result.setting.baseline, agreement=agreement)
    )
    text = printed(replace(result, setting=setting), FILE)
    assert "Schedules of it are weakly verified: C is known roughly." in text


def test_a_gain_within_the_noise_of_the_session_is_none(subject: Subject) -> None:
    slightly = timed("confirm", *[1.03, 1.04] * 20)
    text = said(subject, Stop.TIME, slightly, noise=timed("noise", *[0.95] * 10))
    assert "Inconclusive" in text
    assert "Noise of this session: 5.0% (the schedule against itself, 0.950" in text
    calm = said(subject, Stop.TIME, slightly, noise=timed("noise", *[1.002] * 10))
    assert "Faster in this session" in calm


def test_a_result_above_its_roof_is_an_error_of_measuring(subject: Subject) -> None:
    text = said(subject, Stop.TIME, timed("confirm", 20.0, 20.0, 20.0))
    assert "117 % of its roofline" in text
    assert "fewer operations do than were counted" in text
    assert "fewer operations" not in said(subject, Stop.TIME, timed("confirm", 16.0))
    ends = (ended(subject, Stop.TIME, timed("confirm", x)) for x in (16.0, 20.0))
    found = [as_json(each, Written()) for each in ends]
    assert [data["best"]["over_roof"] for data in found] == [False, True]
    assert found[0]["roof"]["name"] == "f32 multiply-add peak, 140 GFLOP/s"


def test_interrupted_before_confirmation(subject: Subject) -> None:
    text = said(subject, Stop.INTERRUPTED, timed("screen", 3.0, 3.0))
    assert "screened on 2 interleaved rounds, not confirmed yet" in text
    assert "confirmed on" not in text
    assert "interrupted: 3 measured" in text
    assert "continue: " in text


def test_nothing_faster(subject: Subject) -> None:
    text = said(subject, Stop.EXHAUSTED, None)
    assert "No schedule faster than matmul32 as written was found." in text
    assert "schedule (" not in text
    assert "written:" not in text
    assert "continue: " not in text


@pytest.mark.parametrize(
    ("stop", "measured", "correct", "said_so"),
    [
        (Stop.TIME, 0, 1, True),
        (Stop.TIME, 0, 5, False),
        (Stop.TIME, 2, 1, False),
        (Stop.EXHAUSTED, 0, 1, False),
    ],
)
def test_nothing_measured_is_not_nothing_faster(
    subject: Subject, stop: Stop, measured: int, correct: int, said_so: bool
) -> None:
    """In earlier runs there may have been time."""
    result = ended(subject, stop, None)
    progress = replace(result.progress, measured=measured, outcomes={Outcome.CORRECT: correct})
    text = printed(replace(result, progress=progress), Written())
    assert (
        "No schedule of matmul32 was measured in 10 s: give it more, as --budget 30s." in text
    ) is said_so
    assert ("No schedule faster than" in text) is not said_so


def test_what_took_the_time_is_said_where_nothing_was_measured(subject: Subject) -> None:
    result = ended(subject, Stop.TIME, None)
    progress = replace(
        result.progress, measured=0, outcomes={Outcome.CORRECT: 1}, elapsed_s=46.4, before_s=31.2
    )
    text = printed(replace(result, progress=progress), Written())
    assert (
        "No schedule of matmul32 was measured in 46 s, 31 s of which it took to verify and time "
        "matmul32 as written: give it more, as --budget 100s." in " ".join(text.split())
    )


@pytest.mark.parametrize(("target", "missed"), [(2.0, True), (1.5, False)])
def test_a_target_that_confirmation_did_not_reach(
    subject: Subject, target: float, missed: bool
) -> None:
    text = said(subject, Stop.TARGET, timed("confirm", 1.8), target_speedup=target)
    assert ("not when measured again" in text) is missed
