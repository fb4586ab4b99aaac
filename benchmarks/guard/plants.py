"""A compiler after which today's C of scheduled kernels takes a known share longer.

`check` sees what it would of a schedule that now gives worse C: other machine code than that of
the pinned C, which the compiler leaves alone, as its text is marked (`marked`). What makes a kernel
slower is a loop of dependent additions before everything else, of as many as take that share of
its time on this machine; then the whole is timed against the kernel as it was.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest_of
from schedsearch.core.records import Artifact, Failure, GeneratedC, TimingKind
from schedsearch.core.stats import Estimate, median_with_interval
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan
from schedsearch.locks.entry import LockEntry
from schedsearch.locks.kernel import LockedKernel, Where, load_locked
from schedsearch.search.setup.subject import bench_of
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot
from schedsearch.transforms.exo.generated import code_key

FIRST_SPINS = 100_000
ROUNDS = 15

_COMPILER = """\
#!{python}
'''{path}, called another version; some C is other C to it.'''
import json, subprocess, sys

asked = sys.argv[1:]
text = sys.stdin.read() if "-" in asked else ""
for before, after in json.load(open({plants!r})):
    text = text.replace(before, after)
sys.exit(subprocess.run([{path!r}, *{version!r}, *asked], input=text, text=True).returncode)
"""
_VERSION = [
    f"-{what}__{name}_{level}"
    for name, level in (("GNUC", "PATCHLEVEL__"), ("clang", "patchlevel__"))
    for what in ("U", "D")
]
_SPIN = '    for (long spin = 0; spin < {spins}; spin++) __asm__ volatile("" : "+r"(spin));\n'


@dataclass(frozen=True)
class Plant:
    """C in place of a locked kernel's, and how many times as long it takes, measured."""

    kernel: str
    before: str
    after: str
    times: Estimate


def marked(entry: LockEntry) -> LockEntry:
    """With pinned C that is another text, but the same program."""
    assert entry.code is not None, "it was pinned with its C"
    source = _beginning(entry.code, "    // pinned\n").source
    key = code_key(entry.code.header, source, entry.code.build)
    code = replace(entry.code, source=source, key=key)
    return replace(entry, code=code, keys=replace(entry.keys, code=key))


def equal(entry: LockEntry) -> Plant:
    """Other machine code, as fast: a single addition more."""
    assert entry.code is not None, "it was pinned with its C"
    code = entry.code
    own = Estimate(1.0, 1.0, 1.0)
    return Plant(entry.workload.proc, code.source, with_spins(code, 1).source, own)


def plant(entry: LockEntry, root: Path, scratch: Path, slower: float) -> Plant:
    """A kernel that is `slower` (relative) than the locked one. The first is timed with spins
    enough to be seen, from which follows how many are needed. Arrays are kept in `scratch`."""
    kernel = load_locked(entry, root, Where(named=(root,)))
    subject = kernel.subject
    bench = bench_of(subject, scratch)
    first = _times(kernel, bench, FIRST_SPINS)
    spins = round(FIRST_SPINS * slower / (first.value - 1.0))
    return Plant(
        entry.workload.proc,
        kernel.code.source,
        with_spins(kernel.code, spins).source,
        _times(kernel, bench, spins),
    )


def with_spins(code: GeneratedC, spins: int) -> GeneratedC:
    """The same procedure after so many dependent additions."""
    return _beginning(code, _SPIN.format(spins=spins))


def _beginning(code: GeneratedC, line: str) -> GeneratedC:
    """With this line before everything else that it does."""
    start = re.compile(rf"^void {re.escape(code.proc)}\(.*\) \{{\n", re.MULTILINE)
    source, found = start.subn(lambda m: m[0] + line, code.source)
    if found != 1:
        raise UserError(f"no place in the C of {code.proc} to put something at its beginning")
    return replace(code, source=source)


def _times(kernel: LockedKernel, bench: Bench, spins: int) -> Estimate:
    """How many times as long the kernel takes with so many spins."""
    own = _built(kernel, kernel.code)
    plan = TimingPlan(TimingKind.GUARD, ROUNDS, ROUNDS, fresh=True)
    with measuring_slot(lambda holder: None):
        found = bench.evaluate(
            _built(kernel, with_spins(kernel.code, spins)), plan, Anchor(own, own.code_key)
        ).result
    if isinstance(found, Failure):
        raise UserError(f"{kernel.entry.workload.proc} made slower: {found.message}")
    return median_with_interval([1.0 / each.speedup for each in found.rounds])


def _built(kernel: LockedKernel, code: GeneratedC) -> Artifact:
    built = kernel.subject.builder.build(code, BUILD_TIMEOUT_S)
    if isinstance(built, Failure):
        raise UserError(f"{kernel.entry.workload.proc}: {built.message}")
    return built


def compiler(path: str, plants: Sequence[Plant], folder: Path) -> Path:
    """A compiler in `folder`, as the one at `path` but for the plants, and its version: one of
    its own for them, since compilers of one version share what they have built."""
    folder.mkdir()
    pairs = folder / "plants.json"
    texts = [[each.before, each.after] for each in plants]
    pairs.write_text(json.dumps(texts))
    patch = int(digest_of(texts)[:6], 16)
    made = folder / Path(path).name
    version = [each + f"={patch}" * each.startswith("-D") for each in _VERSION]
    made.write_text(
        _COMPILER.format(python=sys.executable, path=path, plants=str(pairs), version=version)
    )
    made.chmod(0o755)
    return made
