"""Writes golden files. Only a change that is meant to give candidates other keys may do so.

In the directory tests, run PYTHONPATH=.. python -m golden_keys spaces, or library, or
store FILE NAME.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import typer
from transforms.helpers import PROCS, TARGET, walk

from benchmarks.spaces.record import KERNELS, SOURCE
from benchmarks.spaces.space import Space
from benchmarks.spaces.space_file import load as load_space
from golden_keys.golden import DATA, NAMES, Golden, Subject, identities, load, save
from schedsearch.core.errors import RewriteError
from schedsearch.core.trace import Trace
from schedsearch.store.database import Store
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.registry import apply, registry

WITHOUT = {"use_instruction"}
"""`use_instruction` needs the user's files."""

app = typer.Typer(add_completion=False, help=__doc__, pretty_exceptions_enable=False)


@app.command()
def spaces() -> None:
    """The candidates of the recorded spaces."""
    for name, (proc, _) in KERNELS.items():
        space = load_space(SOURCE.parent / f"{name}.json.gz")
        subject = Subject(SOURCE.read_text(), proc, space.target.fp.value, {})
        write(name, subject, traces_of(space))


@app.command()
def store(file: Path, name: str) -> None:
    """The candidates of a store: NAME_PROCEDURE.json.gz. Says where the store has other keys."""
    with Store.open(file, create=False) as opened:
        for scope in opened.scopes():
            workload, target = opened.workload(scope), opened.target(scope)
            fixed = {n: value for n, value in workload.sizes if n in workload.specialized}
            text = (file.parent / workload.source).read_text()
            subject = Subject(text, workload.proc, target.fp.value, fixed)
            records = [each.record for each in opened.load(scope) if each.record.keys.ast]
            stored = {each.trace.dumps(): each.keys for each in records}
            made = write(f"{name}_{workload.proc}", subject, list(stored))
            for each in made.identities:
                keys = stored[each.trace]
                if (each.ast, each.code) != (keys.ast, keys.code or each.code):
                    print(f"the store has other keys of {each.trace}")


@app.command()
def library() -> None:
    """Random schedules of test procedures, with transforms that no other file has."""
    files = [name for name in NAMES if not name.startswith("library_")]
    known = {each.transform for name in files for each in load(name).identities}
    path = PROCS / "before.py"
    for name in sorted(registry().keys() - known - WITHOUT):
        procedure = load_source(path).procs[name]
        subject = Subject(path.read_text(), name, TARGET.fp.value, {})
        traces = {trace.dumps() for seed in range(4) for trace, _ in walk(procedure, seed, 3)}
        ast = mirror(procedure)
        for rewrite in registry()[name].rewrites(ast, TARGET):
            with suppress(RewriteError):
                apply(procedure, ast, rewrite)
                traces.add(Trace().then(rewrite).dumps())
        write(f"library_{name}", subject, list(traces))


def write(name: str, subject: Subject, traces: Sequence[str]) -> Golden:
    golden = Golden(subject, tuple(identities(subject, sorted(traces))))
    path = DATA / f"{name}.json.gz"
    save(golden, path)
    print(f"{name}: {len(traces)} candidates, {path.stat().st_size // 1000} kB")
    return golden


def traces_of(space: Space) -> list[str]:
    traces: dict[str, Trace] = {}
    for key, point in space.points.items():
        parent = traces.get(point.parent or "")
        traces[key] = Trace() if parent is None else parent.then(point.rewrite)
    return [trace.dumps() for trace in traces.values()]


if __name__ == "__main__":
    app()
