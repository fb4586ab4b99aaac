"""Rules for functions of front ends: they hold what is true, what compilers make of it with
vector libraries, and little else."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontends.functions_module import BY, of_type, procedures
from numpy.typing import NDArray

from schedsearch.core.element_types import ELEMENT_TYPES
from schedsearch.core.functions import FUNCTIONS
from schedsearch.transforms.exo.compat import generate_c
from schedsearch.transforms.exo.mirror import mirror

from .enclosed import Enclosed, Enclosure
from .procs import chosen_sums

pytestmark = pytest.mark.normal

POINTS = 10_000
FAST = ("-O3", "-march=native", "-ffast-math")
KINDS = ("f32", "f64", "i32", "i8")
Array = NDArray[Any]


def _erf(x: Array) -> Array:
    erfl = ctypes.CDLL("libm.so.6").erfl
    erfl.argtypes, erfl.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    return np.array([erfl(float(value)) for value in x], np.longdouble)


def _of_bits(name: str) -> Callable[..., Array]:
    """Of whole numbers, which may be kept as floats."""
    return lambda a, b: getattr(np, name)(a.astype(np.int64), b.astype(np.int64))


TRUE: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt_": np.sqrt,
    "sin_": np.sin,
    "cos": np.cos,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid_": lambda x: 1 / (1 + np.exp(-x)),
    "pow_": np.power,
    "abs_": np.abs,
    "min_": np.minimum,
    "max_": np.maximum,
    "floor": np.floor,
    "rint": np.rint,
    "atan2": np.arctan2,
    "relu_": lambda x: np.maximum(x, 0),
    "bit_and": _of_bits("bitwise_and"),
    "bit_or": _of_bits("bitwise_or"),
    "bit_xor": _of_bits("bitwise_xor"),
    "ashr": lambda a, _: np.floor(a / 2.0 ** BY["ashr"]),
    "sdiv": lambda a, _: np.trunc(a / BY["sdiv"]),
    "select_lt": lambda a, b, c, d: np.where(a < b, c, d),
    "select_le": lambda a, b, c, d: np.where(a <= b, c, d),
    "select_eq": lambda a, b, c, d: np.where(a == b, c, d),
}


def inputs(kind: str, seed: int) -> list[Array]:
    """`a` to `d`: of every size and sign, whole ones, and equal ones."""
    rng = np.random.default_rng(seed)
    if kind[0] != "f":
        return [rng.integers(-100, 100, POINTS).astype(ELEMENT_TYPES[kind].numpy) for _ in "abcd"]
    scales = np.array([1e-6, 1e-3, 0.5, 1, 1, 2, 8, 8, 30, 80])
    found = []
    for _ in "abcd":
        values = rng.uniform(-1, 1, POINTS) * rng.choice(scales, POINTS)
        values[::5] = np.rint(values[::5])
        found.append(values.astype(ELEMENT_TYPES[kind].numpy))
    found[0][::7] = np.abs(found[0][::7])
    found[1][::11] = found[0][::11]
    return found


def arguments(kind: str, values: list[Array]) -> list[Any]:
    outputs = [np.zeros(POINTS, values[0].dtype) for _ in of_type(kind)]
    return [POINTS, *values, *outputs]


def shared(source: Path, options: Sequence[str], compiler: str = "gcc") -> ctypes.CDLL:
    """A library. Linked with -ffast-math it would flush denormal numbers in all of this process."""
    made, library = source.with_suffix(".o"), source.with_suffix(".so")
    for command in (
        [compiler, *options, "-fPIC", "-c", source, "-o", made],
        [compiler, "-shared", made, "-o", library, "-lm"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def compiled(procedure: Any, folder: Path, options: tuple[str, ...], args: list[Any]) -> None:
    """Call what Exo makes of it; the results are in `args`."""
    code = generate_c(procedure)
    folder.mkdir(exist_ok=True)
    source = folder / "kernel.c"
    source.write_text(code.header + code.source)
    call(shared(source, options)[code.proc], args)


def call(function: Any, args: list[Any]) -> None:
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in args[1:]]
    function(None, ctypes.c_int64(args[0]), *pointers)


def missed(found: Enclosed, wanted: Array) -> Array:
    """The elements that an enclosure does not hold; where it has no promise it holds all. Of half
    of them it has one."""
    assert (np.isfinite(found.value) & (found.radius < np.inf)).mean() > 0.5
    value, radius = found.value.astype(np.longdouble), found.radius
    with np.errstate(invalid="ignore"):
        held = (np.abs(wanted - value) <= radius) | (value == wanted) | (radius == np.inf)
    # A NaN where a number is expected is a miss; of the NaN of a negative number's root,
    # -ffast-math promises nothing.
    return np.flatnonzero(~held & np.isfinite(value))


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return procedures(tmp_path_factory.mktemp("direct"), kinds=KINDS)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def enclosures(
    direct: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Enclosure]:
    folder = tmp_path_factory.mktemp("enclosures")
    return {kind: Enclosure(mirror(proc), folder / kind) for kind, proc in direct.items()}


def true(name: str, values: list[Array]) -> Array:
    args = values[: FUNCTIONS[name].arity]
    with np.errstate(all="ignore"):
        return TRUE[name](*args)


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_value_is_admissible(kind: str, enclosures: dict[str, Enclosure]) -> None:
    values = inputs(kind, 1)
    found = enclosures[kind].run(arguments(kind, values))
    wide = [each.astype(np.longdouble) for each in values]
    for name in of_type(kind):
        wanted = true(name, wide)
        missing = missed(found[f"{name}_out"], wanted)
        assert not missing.size, (name, [each[missing[0]] for each in wide], wanted[missing[0]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [FAST, ("-O0",)], ids=["fast", "plain"])
def test_what_c_computes_is_admissible(
    kind: str,
    options: tuple[str, ...],
    direct: dict[str, Any],
    enclosures: dict[str, Enclosure],
    tmp_path: Path,
) -> None:
    args = arguments(kind, inputs(kind, 2))
    found = enclosures[kind].run(args)
    compiled(direct[kind], tmp_path, options, args)
    for name, result in zip(of_type(kind), args[5:], strict=True):
        missing = missed(found[f"{name}_out"], result.astype(np.longdouble))
        assert not missing.size, (name, [x[missing[0]] for x in args[1:5]], result[missing[0]])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_of_rounded_arguments(kind: str, tmp_path: Path) -> None:
    """`f(a * 1.1 + 0.1)` is admissible with its argument rounded, and not."""
    names = of_type(kind)
    procedure = procedures(tmp_path, "{}[i] * 1.1 + 0.1", [kind])[kind]
    args = arguments(kind, inputs(kind, 3))
    found = Enclosure(mirror(procedure), tmp_path).run(args)
    number = args[1].dtype.type
    wide = [
        each.astype(np.longdouble) * np.longdouble(number(1.1)) + np.longdouble(number(0.1))
        for each in args[1:5]
    ]
    compiled(procedure, tmp_path, FAST, args)
    for name, result in zip(names, args[5:], strict=True):
        for wanted in (true(name, wide), result.astype(np.longdouble)):
            missing = missed(found[f"{name}_out"], wanted)
            assert not missing.size, (name, [x[missing[0]] for x in wide], wanted[missing[0]])


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_little_else_is_admissible(kind: str, enclosures: dict[str, Enclosure]) -> None:
    """Of arguments around 1, five units of the last place are the most there is, and seven of
    a power and a sigmoid."""
    rng = np.random.default_rng(4)
    values = [rng.uniform(0.5, 1.5, POINTS).astype(ELEMENT_TYPES[kind].numpy) for _ in "abcd"]
    found = enclosures[kind].run(arguments(kind, values))
    unit = 2.0**-24 if kind == "f32" else 2.0**-52
    for name in of_type(kind):
        own = found[f"{name}_out"]
        if not FUNCTIONS[name].rounds:
            assert not own.radius.any()
            continue
        with np.errstate(all="ignore"):
            share = np.nanmax(own.radius / np.abs(own.value))
        assert share < 15 * unit, name


def test_exos_own_take_arguments_of_the_type(tmp_path: Path) -> None:
    """`a + b` of bytes is an `int` in C, and again a byte as an argument of Exo's `select`."""
    args = [POINTS, *inputs("i8", 5)[:3], np.zeros(POINTS, np.int8), np.zeros(POINTS, np.int8)]
    found = Enclosure(mirror(chosen_sums), tmp_path).run(args)
    compiled(chosen_sums, tmp_path, ("-O0",), args)
    for name, result in zip(("chosen", "cut"), args[4:], strict=True):
        assert not missed(found[name], result.astype(np.longdouble)).size
        assert not found[name].radius.any()
