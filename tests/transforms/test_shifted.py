"""Rows that neighbours share are loaded once: the same results at every length and address."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from schedsearch.core import ast as q
from schedsearch.core.errors import RewriteError
from schedsearch.core.records import GeneratedC
from schedsearch.core.trace import Rewrite, Trace
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.expand import Expander
from schedsearch.transforms.registry import apply, label, normalises, select
from schedsearch.transforms.replay import Replayer
from schedsearch.transforms.vector.fused import shifted
from schedsearch.transforms.vector.fused.source import fused_instruction
from transforms import native
from transforms.helpers import TARGET, Procedures, arguments, runs_here
from transforms.interpret import interpret
from transforms.native import Library

PROCEDURES = Procedures("neighbours")
NAMES = sorted(name for name in PROCEDURES if not name.startswith("no_"))
(VECTORISE,) = select(["vectorise"])
WIDE = replace(TARGET, vector_bits=512, vector_registers=32)
FLAGS = {
    "plain": ["-O1"],
    "avx512": ["-O3", "-march=x86-64-v4", "-ffast-math"],
}


def rewrites(name: str) -> list[Rewrite]:
    found = VECTORISE.rewrites(mirror(PROCEDURES[name]), WIDE)
    return [each for each in found if dict(each.args).get("shifted")]


def made(name: str, rewrite: Rewrite) -> GeneratedC:
    return generate_c(apply(PROCEDURES[name], mirror(PROCEDURES[name]), rewrite))


def lengths(meaning: q.Proc) -> list[dict[str, int]]:
    """Around the least length of such a loop, and around those that leave something."""
    if not any(arg.type == "size" for arg in meaning.args):
        return [{}]
    return [{"n": n} for n in (1, 127, 128, 143, 255, 256, 257, 272, 335, 336, 351)]


def wrong(name: str, flags: list[str], folder: Path) -> list[tuple[Rewrite, dict[str, int]]]:
    meaning, own = mirror(PROCEDURES[name]), rewrites(name)
    library = Library([made(name, rewrite) for rewrite in own], folder, flags)
    found = []
    for controls in lengths(meaning):
        wanted = arguments(meaning, controls, 5)
        interpret(meaning, wanted)
        for number, rewrite in enumerate(own):
            given = arguments(meaning, controls, 5)
            library.call(number, meaning, given)
            if not all(map(np.allclose, given, wanted)):
                found.append((rewrite, controls))
    return found


@pytest.mark.normal
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_the_same(
    name: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runs_here(FLAGS[flags]):
        pytest.skip(f"this processor does not run {flags} code")
    for padding in (61, 64, 71):  # elements before an array
        monkeypatch.setattr(native, "PADDING", padding)
        assert rewrites(name)
        folder = tmp_path / str(padding)
        folder.mkdir()
        assert wrong(name, FLAGS[flags], folder) == []


@pytest.mark.normal
@pytest.mark.parametrize("of", ["before", "after"])
def test_a_row_that_is_shifted_wrongly_is_found(
    of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above has power: what the next iteration finds loaded is planted wrong."""
    right = shifted.handed_on

    def planted(row: shifted.Row, chains: int) -> list[str]:
        kept = re.compile(r"before = " if of == "before" else r"_0 = ")
        return [line for line in right(row, chains) if not kept.search(line)]

    monkeypatch.setattr("schedsearch.transforms.vector.fused.function.handed_on", planted)
    fused_instruction.cache_clear()
    try:
        assert wrong("three", FLAGS["plain"], tmp_path)
    finally:
        fused_instruction.cache_clear()


@pytest.mark.normal
def test_random_neighbours_in_registers_of_every_length(tmp_path: Path) -> None:
    """Up to a register apart, of several rows, in as many registers at a time as there may be."""
    rng = random.Random(7)
    shapes = [(lanes, unroll) for lanes in (2, 4, 8, 16) for unroll in (1, 2, 4)] * 3
    text = "\n".join(random_loop(rng, number, shape[0]) for number, shape in enumerate(shapes))
    (tmp_path / "drawn.py").write_text(f"from __future__ import annotations\n{IMPORTS}\n{text}")
    procs = load_source(tmp_path / "drawn.py").procs
    meanings, codes = [], []
    for number, (lanes, unroll) in enumerate(shapes):
        procedure = procs[f"drawn{number}"]
        meanings.append(mirror(procedure))
        args = {"lanes": lanes, "unroll": unroll, "tail": "masked", "aligned": True}
        args |= {"shifted": True, "least": rng.choice((1, 5))}
        loop = meanings[-1].body[0]
        step = Rewrite("vectorise", 1, loop.path, label(loop), tuple(sorted(args.items())))
        codes.append(generate_c(apply(procedure, meanings[-1], step)))
    flags = FLAGS["avx512"] if runs_here(FLAGS["avx512"]) else FLAGS["plain"]
    library = Library(codes, tmp_path, flags)
    for n in (1, 4, 5, 19, 48, 81, 97, 130):
        for number, meaning in enumerate(meanings):
            given, wanted = (arguments(meaning, {"n": n}, 5) for _ in range(2))
            library.call(number, meaning, given)
            interpret(meaning, wanted)
            assert all(map(np.allclose, given, wanted)), (text.split("@proc")[number + 1], n)


IMPORTS = "from exo import proc"


def random_loop(rng: random.Random, number: int, lanes: int) -> str:
    """Terms of rows of two arrays; a row at least is read at two places."""
    kind, row = rng.choice(("f32", "f64", "i32")), rng.randrange(3)
    first, last = sorted(rng.sample(range(lanes + 1), 2))
    reads = [f"x[{row}, i + {first}]", f"x[{row}, i + {last}]"]
    for _ in range(rng.randrange(5)):
        other = f"z[i + {rng.randrange(2 * lanes)}]"
        reads.append(rng.choice((f"x[{rng.randrange(3)}, i + {rng.randint(first, last)}]", other)))
    rng.shuffle(reads)
    factor = (lambda: rng.randint(1, 3)) if kind == "i32" else (lambda: rng.randint(1, 9) / 4)
    terms = rng.choice((" + ", " - ")).join(f"{factor()} * {read}" for read in reads)
    array = f"x: {kind}[3, n + 32], z: {kind}[n + 32]"
    op = rng.choice(("=", "+="))
    head = f"def drawn{number}(n: size, y: {kind}[n], {array}):"
    return f"@proc\n{head}\n    for i in seq(0, n):\n        y[i] {op} {terms}\n"


@pytest.mark.parametrize("name", [name for name in PROCEDURES if name.startswith("no_")])
def test_what_shares_no_row_is_not_shifted(name: str) -> None:
    assert rewrites(name) == []


def test_each_register_of_a_row_is_loaded_once() -> None:
    text = made("three", rewrites("three")[0]).source
    (loop,) = re.findall(r"for \(; n - l >= 80; l \+= 64\) \{\n(.*?)\n        \}\n", text, re.S)
    assert loop.count("vec_f32x16_u *)(x") == 4 + 4  # loads, stores
    assert loop.count("shifted_") == 2 * 4


def test_the_normal_form_has_long_rows_in_registers_that_are_aligned() -> None:
    """Of known length, or where they turn out to be long; not where lines are not shared."""
    first, *_ = VECTORISE.rewrites(mirror(PROCEDURES["three"]), WIDE)
    assert normalises(first) == 0
    (row,) = rewrites("three")
    assert normalises(row) > 0
    assert dict(row.args)["least"] == 256
    assert "least" not in dict(rewrites("gradients")[0].args)
    narrow = replace(WIDE, vector_bits=128)
    assert not any(map(normalises, VECTORISE.rewrites(mirror(PROCEDURES["three"]), narrow)))
    assert not any(map(normalises, VECTORISE.rewrites(mirror(PROCEDURES["three"]), THREADS)))


THREADS = replace(WIDE, threads=2)
"""They divide a loop that is alone."""


@pytest.mark.parametrize(("n", "kept"), [(255, 0), (256, 1)])
def test_rows_that_are_short_at_the_sizes_given_keep_their_loop(n: int, kept: int) -> None:
    """No call that verification can afford might be long enough."""
    expander = Expander(Replayer(PROCEDURES["three"]), WIDE, [VECTORISE], {"n": n})
    found = [child.rewrite for child in expander.expand(Trace()).children]
    assert sum("shifted" in dict(each.args) for each in found) == kept
    steps = Expander(Replayer(PROCEDURES["three"]), WIDE, [VECTORISE], {"n": n}).normalise(60.0)
    assert len(steps.steps) == kept


@pytest.mark.parametrize("least", [0, True, "256"])
def test_a_least_length_that_no_proposal_has_is_refused(least: int | str) -> None:
    proposed = rewrites("three")[0]
    args = {**dict(proposed.args), "least": least}
    with pytest.raises(RewriteError, match="least number of iterations"):
        made("three", replace(proposed, args=tuple(sorted(args.items()))))
