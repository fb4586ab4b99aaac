"""Errors that cross package borders."""

from __future__ import annotations


class UserError(Exception):
    """Input the user can correct: the message says what failed, where, and what to do.

    The command line prints the message alone and exits with code 2.
    """


class UnnamedFileError(UserError):
    """Only a store or a lock file names a file that would be executed. `words` are the words that
    the user adds to the command to name it too."""

    def __init__(self, message: str, words: tuple[str, ...]) -> None:
        super().__init__(message)
        self.words = words


class DiskError(UserError):
    """A disk is full, or may not be written. The state of the data to be written is unknown."""


class BaselineError(UserError):
    """The compiled baseline does not compute what the procedure says."""


class DisagreementError(BaselineError):
    """Its results differ from the reference's; how it was compiled may be why."""


class RewriteError(Exception):
    """A rewrite could not be applied; the message says why. An outcome, not a bug."""


class ReplayError(RewriteError):
    """Replay of a trace failed at `step` (0-based); rewrites before it were applied."""

    def __init__(self, step: int, rewrite: str, cause: str) -> None:
        super().__init__(f"step {step + 1} ({rewrite}): {cause}")
        self.step = step
        self.cause = cause


class CodegenError(Exception):
    """Exo could not generate C for a procedure."""
