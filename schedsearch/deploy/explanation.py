"""What runs and why, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from schedsearch.core.numbers import count, duration, speedup
from schedsearch.deploy.choose import Choice, Request
from schedsearch.locks.entry import LockedRoof

SCHEMA = 1
"""Of `Explanation.as_json`; raised when a field changes its meaning."""


@dataclass(frozen=True)
class Explanation:
    """The schedule that a call runs; its text is for people."""

    request: Request
    choice: Choice

    def as_json(self) -> dict[str, Any]:
        """The same for programs: `expected_s` is seconds of a call, `roof` the share of the
        machine's limit that this is, and the limit's name. Both are null if they were not measured
        at these sizes on this kind of machine; `schedule` is null for the procedure as written."""
        offer, choice = self.choice.offer, self.choice
        return {
            "schema": SCHEMA,
            "proc": self.request.proc,
            "sizes": dict(self.request.sizes),
            "schedule": None
            if offer is None
            else {
                "name": offer.name,
                "trace": [step.to_json() for step in offer.trace.steps],
                "measured_sizes": dict(offer.workload.sizes),
                "specialized": list(offer.workload.specialized),
                "cpu": offer.cpu,
                "isa": offer.isa,
                "compiler": f"{offer.compiler.kind} {offer.compiler.version}",
                "fp": str(offer.fp),
                "threads": offer.threads,
                "speedup": offer.speedup.to_json(),
            },
            "source": choice.source or None,
            "why": choice.why,
            "expected_s": choice.call_s(self.request),
            "roof": asdict(roof) if (roof := self._roof) else None,
            "passed_over": [asdict(each) for each in choice.passed],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def _roof(self) -> LockedRoof | None:
        """As it was measured beside the schedule: measuring it now would take a second."""
        offer, choice = self.choice.offer, self.choice
        return offer.roof if offer and choice.call_s(self.request) else None

    @property
    def _expected(self) -> str:
        seconds, roof = self.choice.call_s(self.request), self._roof
        if not seconds:
            offer = self.choice.offer
            if offer and offer.threads > (cores := self.request.cores):
                return f"not measured: it has {offer.threads} threads, for {count(cores, 'core')}"
            return "not measured"
        reached = f", {100 * roof.share:.0f} % of its roofline ({roof.name})" if roof else ""
        return f"{duration(seconds)} a call{reached}"

    def _lines(self) -> Iterator[str]:
        sizes = ", ".join(f"{name}={value}" for name, value in self.request.sizes.items())
        offer, choice = self.choice.offer, self.choice
        name = f"{self.request.proc}({sizes})"
        if offer is None:
            yield f"{name} runs as written: {choice.why}"
        else:
            yield f"{name} runs {offer.name}, from {choice.source}"
            yield f"  {choice.why}: {speedup(offer.speedup)} over the procedure as written"
            yield f"  floating point: {offer.fp}"
        yield f"  expected: {self._expected}"
        for each in choice.passed:
            yield f"  passed over: {each.name}: {each.reason}"
