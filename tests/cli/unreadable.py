"""What a name may stand for that is no file to be read."""

from __future__ import annotations

import os
from pathlib import Path

UNREADABLE = ("missing", "folder", "pipe", "device", "huge", "loop", "long")


def unreadable(path: Path, kind: str) -> Path:
    """Make `path` such; another path where a name itself is the matter."""
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "huge":
            path.touch()
            os.truncate(path, 1 << 40)
        case "loop":
            path.symlink_to(path)
        case "long":
            return path.with_name("a" * 5000)
    return path
