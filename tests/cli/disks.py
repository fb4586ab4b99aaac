"""Disks of a size, that fill up or turn read-only, and commands that see them.

They are mounted in a namespace of their own, by `unshare` (util-linux): without being root, and
for nobody else. Where users may not make namespaces, as in some containers, the tests skip.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .invoke import Answer, environment

SEVERAL = Path(__file__).with_name("several.py")


@dataclass(frozen=True)
class Disk:
    """`place` is where it is mounted for commands, `seen` the same directory from outside."""

    place: Path
    keeper: int

    @property
    def seen(self) -> Path:
        return Path(f"/proc/{self.keeper}/root{self.place}")

    def remount(self, options: str) -> None:
        subprocess.run(
            [*self._inside(), "mount", "-o", f"remount,{options}", self.place], check=True
        )

    def steps(self, home: Path, *wanted: Sequence[str | Path] | Path) -> list[Answer]:
        """Run the steps (`several.py`) in `home`; what the commands answered."""
        asked = [str(step) if isinstance(step, Path) else [*map(str, step)] for step in wanted]
        several = [sys.executable, SEVERAL, json.dumps(asked)]
        done = subprocess.run(
            # A directory entered outside of the namespace has no name in it.
            [*self._inside(), "sh", "-c", 'cd "$0" && exec "$@"', home, *several],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [Answer(**answer) for answer in json.loads(done.stdout)]

    def kept(self, name: str) -> Path:
        """A copy of a store on it, with its log, for who is outside."""
        copies = self.place.with_name("copies")
        copies.mkdir(exist_ok=True)
        for path in self.seen.glob(f"{name}*"):
            shutil.copy(path, copies)
        return copies / name

    def _inside(self) -> list[str]:
        return ["nsenter", "--preserve-credentials", "--user", "--mount", f"-t{self.keeper}"]


@contextmanager
def mounted(place: Path, size: str) -> Iterator[Disk]:
    """An empty disk, gone at the end. Skips the test where that is not allowed."""
    place.mkdir()
    script = 'mount -t tmpfs -o "size=$0" tmpfs "$1" && echo mounted && exec sleep infinity'
    try:
        keeper = subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", script, size, place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError:
        pytest.skip("no unshare here (util-linux)")
    with keeper:
        assert keeper.stdout is not None
        assert keeper.stderr is not None
        try:
            if not keeper.stdout.readline():
                pytest.skip(f"no mounting here: {keeper.stderr.read().strip()}")
            yield Disk(place, keeper.pid)
        finally:
            keeper.kill()
