"""Users besides this one who may change a file. Such a file does not count as the user's own."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

ROOT = 0


def others_may_change(path: Path) -> str | None:
    """The reason why another user (root does not count) could change the file at `path`, or put
    another one there; None if nobody could.

    Links are followed, and every directory above counts. Raises OSError if there is no file.
    """
    place = path.resolve(strict=True)
    for each in place.parents:
        # In a sticky directory, such as /tmp, no user replaces a file of another.
        sticky = each.stat().st_mode & stat.S_ISVTX
        if problem := _belongs(each) if sticky else others_may_write(each):
            return problem
    return others_may_write(place)


def others_may_write(path: Path) -> str | None:
    """The same for the file at `path` alone: it belongs to another user, or its mode lets others
    write. Raises OSError."""
    who = _writers(path.stat())
    return _belongs(path) or (f"{path} can be written by {who}" if who else None)


def not_private(path: Path) -> str | None:
    """The reason why a file is not for this user alone; None if it is. Raises OSError."""
    found = path.lstat()
    if found.st_uid != os.geteuid():
        return f"{path} belongs to {user_name(found.st_uid)}"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"{path} has mode {stat.S_IMODE(found.st_mode):04o}, and is for its owner alone"
    return others_may_change(path)


def _belongs(path: Path) -> str | None:
    owner = path.stat().st_uid
    return None if owner in (ROOT, os.geteuid()) else f"{path} belongs to {user_name(owner)}"


def _writers(found: os.stat_result) -> str:
    """Other users who may write, in words; empty if there are none."""
    if found.st_mode & stat.S_IWOTH:
        return "everybody"
    if found.st_mode & stat.S_IWGRP and not _own_group(found.st_gid):
        return f"group {_group(found.st_gid)}"
    return ""


def _own_group(gid: int) -> bool:
    """Whether a group has this user as its only member, as many systems make one for each user. A
    member of root's group can do everything that root can."""
    if gid == ROOT:
        return True
    with suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
        alone = set(group.gr_mem) <= {user.pw_name}
        return gid == user.pw_gid and group.gr_name == user.pw_name and alone
    return False


def user_name(uid: int) -> str:
    """`user ann`, or `user 1000` if there is no such name."""
    with suppress(KeyError):
        return f"user {pwd.getpwuid(uid).pw_name}"
    return f"user {uid}"


def _group(gid: int) -> str:
    with suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
