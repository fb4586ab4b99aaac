"""The token that a Ray cluster wants from those who join it: where it is, and who can read it.

Ray takes it from `RAY_AUTH_TOKEN`, else from the file `RAY_AUTH_TOKEN_PATH`, else from
`~/.ray/auth_token` (2.60). Whoever has it runs code on the whole cluster as its user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from schedsearch.core.errors import UserError

HOW_TO_START = (
    "Make a token and start the cluster with it, on each machine with the same file:\n"
    "  (umask 077; mkdir -p ~/.ray; openssl rand -hex 32 > ~/.ray/auth_token)\n"
    "  RAY_AUTH_MODE=token ray start --head --port 6379      # on the first machine\n"
    "  RAY_AUTH_MODE=token ray start --address HOST:6379     # on the others"
)


def require_token(environment: Mapping[str, str]) -> None:
    """Raises UserError unless there is a token that only this user can read."""
    if environment.get("RAY_AUTH_MODE", "token").lower() != "token":
        raise UserError(
            f"RAY_AUTH_MODE is {environment['RAY_AUTH_MODE']}: a cluster is joined with a token "
            f"only, because without one whoever reaches it runs code there. {HOW_TO_START}"
        )
    if environment.get("RAY_AUTH_TOKEN"):
        return
    default = Path(environment.get("HOME") or Path.home()) / ".ray" / "auth_token"
    _check_file(Path(environment.get("RAY_AUTH_TOKEN_PATH") or default))


def _check_file(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UserError(
            f"joining a Ray cluster takes a token, and {path} is not there. {HOW_TO_START}"
        ) from error
    except OSError as error:
        raise UserError(f"cannot read the token of Ray, {path}: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"the token of Ray, {path}, is not a regular file")
        if status.st_uid != os.geteuid():
            raise UserError(f"the token of Ray, {path}, belongs to another user; use your own")
        if others := stat.S_IMODE(status.st_mode) & 0o077:
            raise UserError(
                f"others may have seen the token of Ray: {path} has mode "
                f"{stat.S_IMODE(status.st_mode):04o} ({others:04o} too much). Make a new token, "
                f"or, if nobody else was on the machine: chmod 600 {path}"
            )
        if not os.read(descriptor, 1):
            raise UserError(f"the token of Ray, {path}, is empty. {HOW_TO_START}")
    finally:
        os.close(descriptor)
