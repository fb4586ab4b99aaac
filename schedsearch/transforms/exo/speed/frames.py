"""The part of `inspect` that Exo uses, without looking files and source lines up.

Every pattern, every error message and every definition of a procedure asks for the
frames on Python's stack. It wants local variables, names of functions and line numbers;
`inspect` reads source files too.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

from exo.frontend import parse_fragment, pattern_match, pyparser
from exo.rewrite import new_eff


class _Frames:
    """Takes the place of the module `inspect` in modules that use just these."""

    FrameInfo = inspect.FrameInfo
    getsource = staticmethod(inspect.getsource)
    getsourcefile = staticmethod(inspect.getsourcefile)
    getsourcelines = staticmethod(inspect.getsourcelines)

    @staticmethod
    def stack() -> list[inspect.FrameInfo]:
        """As seen by the caller."""
        found = []
        frame: FrameType | None = sys._getframe(1)
        while frame:
            code = frame.f_code
            found.append(
                inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None)
            )
            frame = frame.f_back
        return found

    @staticmethod
    def getframeinfo(frame: FrameType) -> inspect.Traceback:
        code = frame.f_code
        return inspect.Traceback(code.co_filename, frame.f_lineno, code.co_name, None, None)


def patches() -> list[tuple[Any, str, Any]]:
    modules = (parse_fragment, pattern_match, pyparser, new_eff)
    return [(module, "inspect", _Frames) for module in modules]
