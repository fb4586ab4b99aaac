"""What `--target` and `--instructions` say, against what is detected."""

from __future__ import annotations

import platform
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint, contract_flags, forbidden_flags
from schedsearch.core.isa import KNOWN
from schedsearch.search.setup.targets import read_target, require_native, resolve_target
from schedsearch.study.schedule import _here

pytestmark = pytest.mark.normal

FOREIGN = "neon" if platform.machine() == "x86_64" else "avx2"

SET = """
from __future__ import annotations
from exo import DRAM, instr

@instr("{x_data} = 0.0f;")
def mine_zero(x: [f32][1] @ DRAM):
    for i in seq(0, 1):
        x[i] = 0.0
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    return str(path)


def test_nothing_said_is_this_machine() -> None:
    target = resolve_target(read_target(None))
    require_native(target)
    assert "-march=native" in target.flags
    assert target.instructions == () or target.instructions[0].name == target.isa


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an ISA below the machine's own")
def test_an_isa_by_name_sets_what_belongs_to_it() -> None:
    target = resolve_target(read_target("sse2"))
    require_native(target)
    assert (target.isa, target.vector_bits, target.vector_registers) == ("sse2", 128, 16)
    assert target.flags == ("-O3", "-ffast-math", "-march=x86-64")
    assert target.instructions == ()
    assert target.key != resolve_target(read_target(None)).key


def test_scalar_has_no_vectors_anywhere() -> None:
    target = resolve_target(read_target("scalar"))
    require_native(target)
    assert target.vector_bits == 0
    assert "-fno-tree-vectorize" in target.flags


def test_a_file_overrides_what_is_detected(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SET)
    text = """
        cpu = "cellar"
        vector_bits = 128
        vector_registers = 8
        line_bytes = 128
        cache_bytes = [16384, 262144]
        cores = 3
        compiler = "gcc"
        flags = ["-O2"]
        instructions = ["mine.py"]
    """
    detected = resolve_target(read_target(None))
    target = resolve_target(read_target(write(tmp_path, text)))
    found = (target.cpu, target.vector_bits, target.vector_registers, target.line_bytes)
    assert found == ("cellar", 128, 8, 128)
    assert (target.cache_bytes, target.cores, target.flags) == ((16384, 262144), 3, ("-O2",))
    assert target.isa == detected.isa
    assert target.other_compilers == ()
    mine = target.instructions[-1]
    assert (mine.name, mine.path) == ("mine", str(tmp_path / "mine.py"))


def test_instruction_files_are_part_of_the_identity(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SET)
    none = resolve_target(read_target(None))
    first = resolve_target(read_target(None), instructions=[file])
    file.write_text(SET.replace("0.0f", "-0.0f"))
    second = resolve_target(read_target(None), instructions=[file])
    assert len({none.key, first.key, second.key}) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("isa = 'mmx'", r"isa = 'mmx' is not one of avx512, avx2"),
        ("vector_bits = 100", "vector_bits = 100 is not a multiple of 64"),
        ("vector_registers = 0", "is not a number from 1 to 1024"),
        ("cores = true", "cores = True is not a number from 1 to 65536"),
        ("cache_bytes = []", "is not a list of numbers"),
        ("cache_bytes = [1, -1]", "is not a list of numbers"),
        ("flags = '-O3'", "flags = '-O3' is not a list of options"),
        ("speed = 3", "key 'speed' is unknown; known: isa, cpu, "),
        ("isa =", r"--target .*machine.toml: .*; give one of avx512"),
        ("compiler = 'no-such-cc'", "no-such-cc not found"),
        ("instructions = ['missing.py']", "cannot read .*missing.py"),
        ("fp = 'loose'", "fp = 'loose' is not one of strict, reassociate, fast"),
        ("fp = 1", "fp = 1 is not one of strict, reassociate, fast"),
        ("fp = 'strict'\nflags = ['-Ofast']", "flags has -Ofast, which changes results"),
        ("fp = 'strict'\nflags = ['-ffp-contract=fast']", "flags has -ffp-contract=fast"),
        ("fp = 'reassociate'\nflags = ['-O3', '-ffinite-math-only']", "flags has -ffinite-math"),
    ],
)
def test_files_that_say_something_wrong_are_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        resolve_target(read_target(write(tmp_path, text)))


@pytest.mark.parametrize(
    "text",
    [
        f"cores = {10**4000}",
        f"cores = {'9' * 1_000_000}",  # more digits than Python reads
        f"vector_bits = 0x{'f' * 1_000_000}",  # read, but not printed
        f"vector_bits = {1 << 62}",
        f"cache_bytes = [{'1, ' * 100_000}]",
        "cores = 1e400",
        "cores = nan",
        "cores = 1979-05-27",
        "isa = {}",
        "isa = [['avx2']]",
        "cpu = ''",
        r"cpu = 'zen5\u0000'".replace("'", '"'),
        r"cpu = 'zen5\n#include <evil.h>'".replace("'", '"'),
        f"cpu = '{'x' * 1_000_000}'",
        r"compiler = 'gcc\u0000'".replace("'", '"'),
        r"flags = ['-O2\u0000']".replace("'", '"'),
        "flags = [" + "'-O2', " * 5000 + "]",
        "features = [1]",
        "instructions = [['mine.py']]",
        f"instructions = ['{'a/' * 5000}']",
        f"cpu = {'[' * 100_000}",
        f"{'x.' * 50_000}y = 1",
        f"{'x' * 1_000_000} = 1",
        "[cpu]\n" * 2,
        "[[flags]]\nx = 1",
        "\x00",
        "",
    ],
    ids=lambda text: text[:20] or "nothing",
)
def test_hostile_files_are_refused_in_one_short_sentence(text: str, tmp_path: Path) -> None:
    """But for the empty one, which says nothing."""
    if not text:
        assert resolve_target(read_target(write(tmp_path, text))) == resolve_target(
            read_target(None)
        )
        return
    with pytest.raises(UserError) as error:
        resolve_target(read_target(write(tmp_path, text)))
    assert len(str(error.value)) < 600 + len(str(tmp_path))


def test_flags_follow_the_contract(tmp_path: Path) -> None:
    """Those that are not there are added: without -ffp-contract=off gcc fuses operations."""
    assert "-ffast-math" in resolve_target(read_target(None)).flags
    for fp in (FloatingPoint.STRICT, FloatingPoint.REASSOCIATE):
        target = resolve_target(read_target(None), fp=fp)
        assert target.fp is fp
        assert target.flags == ("-O3", "-march=native", *contract_flags(fp))
        assert forbidden_flags(fp, target.flags) == []
        own = resolve_target(read_target(write(tmp_path, f"fp = '{fp}'\nflags = ['-O2']")))
        assert own.flags == ("-O2", *contract_flags(fp))
    as_ever = resolve_target(read_target(write(tmp_path, "flags = ['-O2']")))
    assert (as_ever.fp, as_ever.flags) == (FloatingPoint.FAST, ("-O2",))


def test_a_contract_that_is_said_twice_is_said_alike(tmp_path: Path) -> None:
    request = read_target(write(tmp_path, "fp = 'reassociate'"))
    assert resolve_target(request).fp is FloatingPoint.REASSOCIATE
    assert resolve_target(request, fp=FloatingPoint.REASSOCIATE) == resolve_target(request)
    with pytest.raises(UserError, match="says fp = reassociate, but strict is wanted"):
        resolve_target(request, fp=FloatingPoint.STRICT)


def test_a_target_that_is_neither_an_isa_nor_a_file() -> None:
    with pytest.raises(UserError, match=r"'neno' is unknown.*avx512.*Did you mean 'neon'"):
        read_target("neno")


def test_a_foreign_target_cannot_be_timed() -> None:
    compiler = "gcc"  # that it compiles for another machine is not asked here
    target = resolve_target(read_target(FOREIGN), compiler)
    own = next(isa for isa in KNOWN if isa.name == FOREIGN)
    assert set(target.features) == own.needs
    assert (target.cpu, target.cores) == (own.machine, 1)
    with pytest.raises(UserError, match=f"kernels for {FOREIGN} do not run on this .* machine"):
        require_native(target)


@pytest.mark.skipif(bool(shutil.which("aarch64-linux-gnu-gcc")), reason="it is installed")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="native there")
def test_a_missing_cross_compiler_is_named() -> None:
    with pytest.raises(UserError, match="aarch64-linux-gnu-gcc not found"):
        resolve_target(read_target("neon"))


def test_a_search_goes_on_with_other_cores_and_another_patch_level() -> None:
    here = resolve_target(read_target(None))
    patched = replace(here.compiler, version=f"{here.compiler.release}.99")
    later = replace(here, cores=here.cores + 1, compiler=patched)
    assert _here(later, ())[0] is None
    with pytest.raises(UserError, match=r"here these differ: z3 version(, other compilers)?\. `"):
        _here(replace(later, z3_version="0.1"), ())
