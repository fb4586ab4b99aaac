"""Golden files: the candidates of a procedure, with the keys and the text each has to have."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from schedsearch.core.errors import CodegenError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.keys import digest
from schedsearch.core.trace import Trace
from schedsearch.transforms.codegen import CodeGenerator
from schedsearch.transforms.exo.fixed_sizes import specialize
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import Source, load_source
from schedsearch.transforms.export import schedule_python
from schedsearch.transforms.replay import Replayer

DATA = Path(__file__).parent / "data"
NAMES = tuple(sorted(path.name.removesuffix(".json.gz") for path in DATA.glob("*.json.gz")))


@dataclass(frozen=True)
class Subject:
    """A procedure in the text of its file, with the sizes that are constants of it."""

    text: str
    proc: str
    fp: str
    fixed: Mapping[str, int]


@dataclass(frozen=True)
class Identity:
    """`ast` and `code` are a candidate's keys. `python` is the digest of the exported Python of
    its last rewrite. A candidate that Exo has no C for has an empty `code`."""

    trace: str
    ast: str
    code: str
    python: str

    @property
    def transform(self) -> str:
        steps = Trace.loads(self.trace).steps
        return steps[-1].transform if steps else ""


@dataclass(frozen=True)
class Golden:
    """In the order of their trace texts, so that replaying each starts where it left the last."""

    subject: Subject
    identities: tuple[Identity, ...]


def identities(subject: Subject, traces: Sequence[str]) -> Iterator[Identity]:
    """What the candidates are in this version. Raises ReplayError if one no longer is any."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "golden.py")
        path.write_text(subject.text)
        source = load_source(path)
    procedure = specialize(source.procs[subject.proc], dict(subject.fixed))
    replayer = Replayer(procedure, fp=FloatingPoint(subject.fp))
    generator = CodeGenerator(replayer)
    for text in traces:
        trace = Trace.loads(text)
        state = replayer.state(trace)
        key = ast_key(state.ast, state.build)
        try:
            code = generator.generate(trace).key
        except CodegenError:
            code = ""
        python = digest(_last_step(source, subject.proc, replayer, trace))
        yield Identity(trace.dumps(), key, code, python)


def _last_step(source: Source, name: str, replayer: Replayer, trace: Trace) -> str:
    """As exported from where the others led: to carry out all of them takes ten times as long."""
    before = replayer.state(Trace(trace.steps[:-1])).procedure
    return schedule_python(replace(source, procs={name: before}), name, Trace(trace.steps[-1:]))


def save(golden: Golden, path: Path) -> None:
    """Equal ones give equal bytes. Rewrites, of which traces share many, are written once."""
    rewrites: dict[str, int] = {}
    rows = [
        [
            [rewrites.setdefault(text, len(rewrites)) for text in _rewrites(each.trace)],
            each.ast,
            each.code,
            each.python,
        ]
        for each in golden.identities
    ]
    data = {"subject": asdict(golden.subject), "rewrites": list(rewrites), "candidates": rows}
    path.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


def load(name: str) -> Golden:
    data: dict[str, Any] = json.loads(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()))
    return Golden(
        Subject(**data["subject"]),
        tuple(
            Identity(f"[{','.join(data['rewrites'][n] for n in steps)}]", ast, code, python)
            for steps, ast, code, python in data["candidates"]
        ),
    )


def _rewrites(trace: str) -> list[str]:
    """`[a,b]` -> `a`, `b`, as written there."""
    texts = [json.dumps(each, sort_keys=True, separators=(",", ":")) for each in json.loads(trace)]
    assert f"[{','.join(texts)}]" == trace
    return texts
