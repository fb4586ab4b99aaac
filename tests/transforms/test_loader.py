"""Whatever is wrong with a user's file, the message says what and where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.transforms.exo.loader import load_source, pick

HEAD = "from __future__ import annotations\nfrom exo import proc, instr, DRAM\n\n"
ONE = "@proc\ndef one(x: f32[8]):\n    for i in seq(0, 8):\n        x[i] = 0.0\n\n"
WINDOW = "@proc\ndef f(x: f32[8, 8]):\n    w = x[0:4, 0:4]\n    "
TWO = ONE.replace("one", "two")


def write(folder: Path, text: str, name: str = "kernel.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_procedures_and_their_variables(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + ONE + "@proc\ndef f(x: f32[8]):\n    one(x)\n\nmain = f\ndel f\n")
    source = load_source(path)
    assert sorted(source.procs) == ["f", "one"]
    assert source.variables == {"one": "one", "f": "main"}
    assert source.text == path.read_text()
    assert pick(source, None).name() == "f"
    assert pick(source, "one").name() == "one"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (\n", r"SyntaxError: .*\n  at .*kernel.py:1$"),
        ("\n\nx = 1 / 0\n", r"ZeroDivisionError: division by zero\n  at .*kernel.py:3"),
        ("import sys\nsys.exit(3)\n", r"SystemExit: 3\n  at .*kernel.py:2"),
        ("import no_such_module_here\n", "no_such_module_here"),
        ("def f():\n    g()\n\n\ndef g():\n    raise ValueError('why')\n\nf()\n", "kernel.py:6"),
        ("raise Exception\n", "failed to load: Exception"),
        (HEAD + "@proc\ndef f(x: f32[4]):\n    x[5] = 0.0\n", "written outside of its bounds; "),
        (
            HEAD + "@proc\ndef f(x: f32[4]):\n    x[i] = 0.0\n",
            r"kernel.py:\d+:\d+: variable 'i' undefined$",
        ),
        (HEAD + "@proc\ndef f(out: f32[4]):\n    oot[0] = 0.0\n", "undefined. Did you mean 'out'"),
        (HEAD + "@proc\ndef f(x: f32[4]):\n    pass\nprint(ff)\n", "Did you mean 'f'"),
        (
            HEAD + WINDOW + "v = w[1:3]\n",
            "Exo cannot make a window of a named window.*it of the array",
        ),
        (HEAD + WINDOW + "x[0, 0] = w[1]\n", "w\\[1\\] where w has two dim.*\n  at .*kernel.py:4"),
        ("x = 1\n", "no Exo procedure"),
        ("", "no Exo procedure"),
        (HEAD + "@instr('f();')\ndef only(x: f32[8]):\n    x[0] = 0.0\n", "no Exo procedure"),
    ],
)
def test_files_that_do_not_load(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    before = set(sys.modules), list(sys.path)
    with pytest.raises(UserError, match=message) as caught:
        load_source(path)
    assert str(path) in str(caught.value)
    assert sys.path == before[1]


def test_interrupts_are_not_swallowed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_source(write(tmp_path, "raise KeyboardInterrupt\n"))


def test_what_is_not_a_python_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory"):
        load_source(tmp_path / "absent.py")
    with pytest.raises(UserError, match="Is a directory"):
        load_source(tmp_path)
    with pytest.raises(UserError, match=r"name should end in \.py"):
        load_source(write(tmp_path, HEAD + ONE, "kernel.txt"))
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\x7fELF\xff\xfe\x00")
    with pytest.raises(UserError, match=r"cannot read .*binary\.py: byte 5 is not UTF-8"):
        load_source(binary)
    nulls = tmp_path / "nulls.py"
    nulls.write_bytes(b"\x00\x00")
    with pytest.raises(UserError, match="null bytes"):
        load_source(nulls)


def test_which_procedure(tmp_path: Path) -> None:
    source = load_source(write(tmp_path, HEAD + ONE + TWO))
    with pytest.raises(UserError, match=r"several procedures.*NAME one of: one, two"):
        pick(source, None)
    with pytest.raises(UserError, match=r"no procedure 'three'.*it has: one, two"):
        pick(source, "three")


def test_words_of_c_are_no_names(tmp_path: Path) -> None:
    text = "@proc\ndef double(new: f32[8]):\n    for do in seq(0, 8):\n        new[do] = 0.0\n\n"
    with pytest.raises(UserError, match=r"in double, do, double: words of C"):
        pick(load_source(write(tmp_path, HEAD + text)), None)


def test_sibling_modules_can_be_imported_and_their_procedures_are_not_the_users(
    tmp_path: Path,
) -> None:
    write(tmp_path, HEAD + ONE, "helper_of_this_test.py")
    text = HEAD + "from helper_of_this_test import one\n@proc\ndef f(x: f32[8]):\n    one(x)\n"
    source = load_source(write(tmp_path, text))
    assert list(source.procs) == ["f"]
    assert str(tmp_path) not in sys.path


def test_files_of_one_name_do_not_get_mixed_up(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = load_source(write(tmp_path / "a", HEAD + ONE))
    b = load_source(write(tmp_path / "b", HEAD + TWO))
    assert (list(a.procs), list(b.procs)) == (["one"], ["two"])
    assert a.sha != b.sha


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    load_source(write(tmp_path, HEAD + ONE))
    assert list(load_source(write(tmp_path, HEAD + TWO)).procs) == ["two"]
