"""What is said of input that cannot be used, word by word: what failed, where, what to do next.

`UPDATE_GOLDEN=1 pytest tests/cli/test_messages.py` writes the texts anew, to be read in the diff.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .invoke import KERNELS, Answer

pytestmark = pytest.mark.normal

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"

FILES = {
    "m.py": (KERNELS / "matmul32.py").read_text(),
    "two.py": (KERNELS / "two.py").read_text(),
    "sized.py": (KERNELS / "sized.py").read_text(),
    "syntax.py": "def f(:\n",
    "empty.py": "",
    "raises.py": "1 / 0\n",
    "bad_exo.py": "from __future__ import annotations\nfrom exo import proc\n\n\n@proc\n"
    "def f(x: f32[8]):\n    for i in seq(0, 9):\n        x[i] = 0.0\n",
    "no_type.py": "from __future__ import annotations\nfrom exo import proc\n\n\n@proc\n"
    "def f(x: f31[8]):\n    x[0] = 0.0\n",
    "unknown.py": "from __future__ import annotations\nfrom exo import proc\n\n\n@proc\n"
    "def f(total: f32[8]):\n    for i in seq(0, 8):\n        totl[i] = 0.0\n",
    "fp.toml": 'fp = "fsat"\n',
    "k.c": "void scaled(float *x) { for (int i = 0; i < 8; i++) x[i] *= 2.0f; }\n"
    "void other(float *x) { x[0] = 1.0f; }\n",
    "k.eq": "C[i, j] = \n",
    "t.toml": 'isaa = "avx2"\n',
    "text.sqlite": "no database\n" * 20,
    "text.lock": "no lock\n",
}

INPUTS = """
frobnicate
ru m.py
run
run absent.py
run .
run empty.py
run syntax.py
run raises.py
run bad_exo.py
run no_type.py
run unknown.py
run two.py
run two.py fil
run two.py copyy
run m.py --bugdet 3
run m.py --budget soon
run m.py --budget 0
run m.py --trials 0
run m.py --target-speedup 1
run m.py --size K
run m.py --size K=8
run sized.py --size m=8
run sized.py --size M=0
run sized.py --size M=big
run sized.py --size M=8 --size M=9
run sized.py --specialize
run m.py --transforms reoder
run m.py --transforms ,
run m.py --strategy best-frist
run m.py --executor inlin
run m.py --executor inline --ray-address localhost:1
run m.py --fp srict
run m.py --cache cool
run m.py --align 48
run m.py --align 7
run m.py --threads two
run m.py --target avx513
run m.py --target t.toml
run m.py --target fp.toml
run m.py --cc nocc
run m.py --cc gccc
run m.py --instructions absent.py
run m.py --against nump
run m.py --against gcc
run m.py --against absent.py:f
run m.py --against cc=nocc
run m.py --out text.sqlite
run m.py --store mysql://h/d
run m.py --store sqlite://
run m.py --store postgresql://u:secret@h:port/d
run k.c
run k.c scald
run k.eq
lower m.py
lower k.c scaled --out m.py
list
list --store text.sqlite
best
show abc
show 1
show
show 1 2
explain x
compare 1 y
export --format pdf
export --format jsn
export --minimal --budget never
pin
pin nobody
check
check absent
check text.lock
check --tolerance much
check --tolerance 200
check --against numpy --correct-only
check --only gem*
build --out x --name y
build --name y
merge absent.sqlite
gc --older-than soon
gc --max-size big
gc --keep 3
watch
report 7
tune
tune --recorded absent
""".strip().splitlines()


@pytest.fixture
def said(run: Callable[..., Answer], tmp_path: Path) -> Callable[[str], str]:
    """What a command says, with the directory as `HERE`."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def call(line: str) -> str:
        answer = run(*shlex.split(line))
        assert answer.code == 2, answer
        assert answer.out == ""
        assert "Traceback" not in answer.err
        places = {str(tmp_path): "HERE", str(KERNELS): "KERNELS", sys.executable: "PYTHON"}
        text = answer.err
        for place, name in places.items():
            text = text.replace(place, name)
        return "\n".join(each.rstrip() for each in text.strip().splitlines())

    return call


def test_every_message_is_as_it_was_read(said: Callable[[str], str]) -> None:
    assert len(INPUTS) >= 40
    text = "\n\n".join(f"$ schedsearch {line}\n{said(line)}" for line in INPUTS) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
