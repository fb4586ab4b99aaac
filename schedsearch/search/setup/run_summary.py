"""What a run says of itself, in the store: how it began, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from schedsearch.core.alignment import arrays
from schedsearch.core.errors import UserError
from schedsearch.core.fields import Fields
from schedsearch.core.numbers import duration, speedup
from schedsearch.core.records import Measurement
from schedsearch.core.stats import Estimate
from schedsearch.evaluate.oracle.agreed import Agreement
from schedsearch.evaluate.roof.roofline import Roof
from schedsearch.evaluate.run.findings import Check, Finding
from schedsearch.store.views import Run

ALIGNMENT_DIFFERENCE = 0.03
"""Relative: what callers do not have to know."""

NEST_OF = "nest_of"
"""In the settings of a run: the procedure for the sake of which a nest was searched alone."""

_CIRCUMSTANCES = ("cores", "compilers")
_HOST = ("governor", "huge_pages", "load")


@dataclass(frozen=True)
class Inspection:
    """What sanitizers checked of the kernel with this `code_key`."""

    code_key: str
    checks: tuple[Check, ...] = ()

    @property
    def failure(self) -> str | None:
        """What was found; None if nothing was."""
        failed = [str(check) for check in self.checks if check.verdict is Finding.FAILED]
        return "; ".join(failed) or None

    def to_json(self) -> dict[str, Any]:
        checks = [[check.what, check.verdict, check.detail] for check in self.checks]
        return {"code_key": self.code_key, "checks": checks}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Inspection:
        checks = (Check(what, Finding(found), detail) for what, found, detail in data["checks"])
        return Inspection(data["code_key"], tuple(checks))


@dataclass(frozen=True)
class Elsewhere:
    """One kernel in one `measurement`: the candidate is on arrays as it was tuned for, the
    reference on arrays aligned to `align` bytes."""

    align: int
    measurement: Measurement

    @property
    def speed(self) -> Estimate:
        """How many times as fast it is with the other alignment."""
        ratio = self.measurement.ratio
        return Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)

    @property
    def differs(self) -> bool:
        """By so much that users are told, and not by chance."""
        speed = self.speed
        return abs(speed.value - 1) > ALIGNMENT_DIFFERENCE and not speed.low <= 1 <= speed.high

    def __str__(self) -> str:
        """`arrays aligned to 64 bytes: 97 us instead of 105 us, 1.08x [1.07, 1.09] as fast`"""
        own, there = self.measurement.candidate_ns * 1e-9, self.measurement.reference_ns * 1e-9
        times = f"{duration(there)} instead of {duration(own)}"
        return f"{arrays(self.align)}: {times}, {speedup(self.speed)} as fast"

    def to_json(self) -> dict[str, Any]:
        return {"align": self.align, "measurement": self.measurement.to_json()}

    @staticmethod
    def from_json(data: Any) -> Elsewhere:
        """Raises UserError for anything else (it may come from anywhere)."""
        given = Fields(data, "elsewhere")
        measurement = Measurement.from_json(given.value("measurement", dict, "a measurement"))
        return Elsewhere(given.integer("align", least=1), measurement)


@dataclass(frozen=True)
class RunEnvironment:
    """Where a run began, `before_s` after it was asked for, and when its search was to end.

    `circumstances` is what its target kept (`Target.circumstances`), `host` what the machine was
    doing.
    """

    schedsearch: str = ""
    roof: Roof | None = None
    before_s: float = 0.0
    search_s: float | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        own = {
            "schedsearch": self.schedsearch,
            "roof": self.roof and self.roof.to_json(),
            "before_s": self.before_s,
            "search_s": self.search_s,
        }
        known = {name: value for name, value in own.items() if value not in (None, "")}
        return {**known, **self.circumstances, **self.host}

    @staticmethod
    def of(run: Run) -> RunEnvironment:
        """Raises UserError for what no run writes. Earlier versions wrote less."""
        data = run.environment
        given = Fields(data, "the run")
        return RunEnvironment(
            str(data.get("schedsearch", "")),
            _read(Roof.from_json, run, data, "roof"),
            given.number("before_s", zero=True) if given.has("before_s") else 0.0,
            given.number("search_s", zero=True) if given.has("search_s") else None,
            {name: data[name] for name in _CIRCUMSTANCES if name in data},
            {name: str(data[name]) for name in _HOST if name in data},
        )


@dataclass(frozen=True)
class RunSummary:
    """How a run ended; of one that failed nothing is known.

    `best` is the trace key of the best, which was shortened from `minimal_of` and timed `against`
    it. `reference` says how the procedure as written was verified. `superseded` are schedules and
    their shortened forms, `minimal` those that cannot be shortened. The end of the search took
    `closing_s`. `roof` is measured again if the best was above it; `over_roof` if it still is.
    """

    stop: str | None = None
    measured: int | None = None
    expanded: int | None = None
    best: str | None = None
    curve: tuple[tuple[float, float], ...] = ()
    reference: Agreement | None = None
    inspection: Inspection | None = None
    superseded: Mapping[str, str] = field(default_factory=dict)
    minimal: tuple[str, ...] = ()
    closing_s: float | None = None
    noise: Measurement | None = None
    elsewhere: Elsewhere | None = None
    roof: Roof | None = None
    over_roof: bool | None = None
    minimal_of: str | None = None
    against: Measurement | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what is not known."""
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: _json(value) for name, value in given if value not in (None, (), {})}

    @staticmethod
    def of(run: Run) -> RunSummary:
        """Raises UserError for what no run writes. Other versions wrote less, or more."""
        data = run.summary or {}
        return RunSummary(
            **{
                name: value
                for name, read in _SUMMARY.items()
                if (value := _read(read, run, data, name)) is not None
            }
        )


def roof_of_run(run: Run) -> Roof | None:
    """As it was measured last; None for runs of earlier versions."""
    return RunSummary.of(run).roof or RunEnvironment.of(run).roof


def _json(value: Any) -> Any:
    if isinstance(value, Agreement):
        return asdict(value)
    if isinstance(value, Measurement | Elsewhere | Inspection | Roof):
        return value.to_json()
    return value


def _read(read: Callable[[Any], Any], run: Run, data: Mapping[str, Any], name: str) -> Any:
    """None if it is not there."""
    try:
        return None if data.get(name) is None else read(data[name])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"the {name} of run {run.id} is not one of schedsearch: {error!r}; choose another store"
        ) from error


def _as(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"no {kind.__name__}")
        return value

    return read


def _curve(points: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(seconds), float(speedup)) for seconds, speedup in points)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value))


_SUMMARY: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("stop", "best", "minimal_of"), _as(str)),
    **dict.fromkeys(("measured", "expanded"), _as(int)),
    **dict.fromkeys(("noise", "against"), Measurement.from_json),
    "curve": _curve,
    "reference": Agreement.from_json,
    "inspection": Inspection.from_json,
    "superseded": _as(dict),
    "minimal": _texts,
    "closing_s": float,
    "elsewhere": Elsewhere.from_json,
    "roof": Roof.from_json,
    "over_roof": _as(bool),
}
"""How each field is read."""
