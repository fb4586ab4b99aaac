"""C of traces."""

from __future__ import annotations

from typing import Any

from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.generated import with_build
from schedsearch.transforms.replay import Replayer


class CodeGenerator:
    """Generates C of one procedure's traces. Traces in a row that give the same procedure,
    built otherwise, share its text."""

    def __init__(self, replayer: Replayer) -> None:
        self.replayer = replayer
        self._last: tuple[Any, GeneratedC] | None = None

    def generate(self, trace: Trace) -> GeneratedC:
        """Raises ReplayError, or CodegenError with Exo's reason (some schedules have no C:
        scalar code that reads a vector register, say)."""
        state = self.replayer.state(trace)
        if self._last is None or self._last[0] is not state.procedure:
            self._last = state.procedure, generate_c(state.procedure)
        plain = self._last[1]
        return with_build(plain.proc, plain.header, plain.source, state.build)
