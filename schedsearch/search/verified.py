"""What was verified on this machine is remembered: the same machine code of the same procedure
need not be verified by every check.

The record is in the user's cache, beside the kernels that are executed from there; nothing of a
lock file gets into it. Whatever decides the verdict is in the key: kernel, compiler and processor,
procedure and sizes, floating-point contract, threads, the harness itself, and the modules that
choose its cases.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from schedsearch import __version__
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Artifact
from schedsearch.core.text_file import write_text
from schedsearch.evaluate.build.disk import disk_explained
from schedsearch.evaluate.oracle.harness import own_sources, shared_sources
from schedsearch.search.setup.subject import Subject, cache_dir

PART = "verified"


@dataclass(frozen=True)
class Verified:
    """In how many cases a kernel was right, and what these cannot tell."""

    cases: int
    caveats: tuple[str, ...]


def place_of(subject: Subject, artifact: Artifact) -> Path:
    """Where the record of a kernel is, if there is one."""
    target = subject.target
    sources = {**shared_sources(), **own_sources(subject.ast, subject.code, target.fp)}
    key = digest_of(
        [
            __version__,
            artifact.binary_key,
            artifact.code_key,
            subject.builder.key,
            subject.workload.key,
            [target.fp, target.threads, digest_of(sources), modules()],
        ]
    )
    return cache_dir() / PART / key[:2] / f"{key}.json"


_VERIFYING = ("arguments", "oracle", "run")
"""Packages of `evaluate`: their cases make a verdict stronger or weaker, within a version too."""


@cache
def modules() -> str:
    """The text of the modules that verify."""
    rooms = [files("schedsearch.evaluate") / name for name in _VERIFYING]
    texts = [each for room in rooms for each in room.iterdir() if each.name.endswith(".py")]
    return digest_of(sorted(each.read_text("utf-8") for each in texts))


def recall(place: Path) -> Verified | None:
    """None if there is no record, or a damaged one."""
    try:
        data = json.loads(place.read_text())
        return Verified(int(data["cases"]), tuple(map(str, data["caveats"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(place: Path, found: Verified) -> None:
    with disk_explained(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_text(place, json.dumps({"cases": found.cases, "caveats": list(found.caveats)}))
