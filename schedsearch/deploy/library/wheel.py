"""A library as a wheel, which needs NumPy alone (PEP 427).

For every procedure it has the module that `schedsearch.kernel` calls with, and one copy of what
refusals say; the C library chooses variants.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import platform
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from schedsearch import __version__
from schedsearch.core import ast as q
from schedsearch.deploy import caller
from schedsearch.deploy.library.compiling import default_compiler
from schedsearch.deploy.library.levels import baseline
from schedsearch.deploy.library.packing import Packed
from schedsearch.deploy.library.sources import environment_name
from schedsearch.evaluate.build.builder import Builder
from schedsearch.search.setup.subject import cache_dir

NUMPY = "numpy>=1.25"
"""The first with `numpy.exceptions`, which refusals need."""

_INIT = '''\
"""Kernels on arrays, tuned by schedsearch: $procs.

Arrays are whatever has the buffer protocol, or DLPack on the CPU. A call writes into them and
returns None; meanwhile other threads run. Wrong arguments raise TypeError or ValueError, and
nothing is changed.

$signatures
"""

from . import _kernels

__all__ = [$public]
__version__ = "$version"
isa, manifest, variant = _kernels.isa, _kernels.manifest, _kernels.variant
$kernels
'''
"""Procedures may be called as anything that does not begin with _."""

_KERNELS = '''\
from contextvars import ContextVar
from ctypes import CDLL, c_char_p, c_long, c_void_p, cast
from pathlib import Path

from . import $modules
from ._refusals import Argument, Refusals, as_buffer

_here = Path(__file__).parent
_library = CDLL(str(_here / "lib$name.so"))
_using = ContextVar("$name", default=None)
_known = {}


def _kernel(module, name, refusals, sizes):
    address = cast(getattr(_library, "${name}_" + name), c_void_p).value
    call, infer = module.caller(
        lambda sizes, using, layouts: (address, 0), refusals, as_buffer, _using
    )
    chosen = getattr(_library, f"${name}_{name}_variant")
    chosen.argtypes, chosen.restype = [c_long] * sizes, c_char_p
    _known[call] = infer, chosen
    return call


def variant(kernel, *arrays, **controls):
    """The variant of a kernel that runs for these arguments, as manifest() names it. Raises as the
    call does, and TypeError for what is no kernel of this module."""
    if kernel not in _known:
        raise TypeError(f"{kernel!r} is no kernel of $name: it has {', '.join(KERNELS)}")
    infer, chosen = _known[kernel]
    return chosen(*infer(*arrays, **controls)).decode()


def isa():
    """The best instruction set in use: what the processor has, or what $variable says."""
    return _library.${name}_isa().decode()


def manifest():
    """What is in here: variants, schedules, compiler options, how they were verified."""
    import json

    return json.loads((_here / "$name.json").read_text())


_library.${name}_isa.restype = c_char_p
KERNELS = {
$kernels
}
'''

_STUB = """\
import builtins as _b
import collections.abc as _c
import typing as _t

from typing_extensions import Buffer as _Buffer

class _Dlpack(_t.Protocol):
    def __dlpack__(self, *args: _t.Any, **options: _t.Any) -> _t.Any: ...
    def __dlpack_device__(self) -> _b.tuple[_t.Any, _t.Any]: ...

_Array: _t.TypeAlias = _Buffer | _Dlpack

__version__: _b.str

$kernels
def variant(
    kernel: _c.Callable[..., None], *arrays: _t.Any, **controls: _t.Any
) -> _b.str: ...
def isa() -> _b.str: ...
def manifest() -> _b.dict[_b.str, _t.Any]: ...
"""


def write_wheel(name: str, version: str, procs: Sequence[Packed], library: Path, out: Path) -> Path:
    """The wheel of a C library that was built in `library`, in the directory `out`."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    files: dict[str, bytes] = {
        f"{name}/__init__.py": _init(version, procs).encode(),
        f"{name}/_kernels.py": _kernels(name, procs).encode(),
        f"{name}/__init__.pyi": _stub(procs).encode(),
        f"{name}/py.typed": b"",
        f"{name}/_refusals.py": _refusals().encode(),
        f"{name}/lib{name}.so": (library / f"lib/lib{name}.so").read_bytes(),
        f"{name}/{name}.json": (library / f"share/{name}/{name}.json").read_bytes(),
    }
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for proc in procs:
        files[f"{name}/{_module_name(proc)}{suffix}"] = _module(proc).read_bytes()
    info = f"{name}-{version}.dist-info"
    files[f"{info}/METADATA"] = _metadata(name, version).encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: schedsearch {__version__}\n"
        f"Root-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel, draft = out / f"{name}-{version}-{tag}.whl", library / "wheel"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980: the same files are the same bytes
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    os.replace(draft, wheel)
    return wheel


def _init(version: str, procs: Sequence[Packed]) -> str:
    own = [proc.name for proc in procs]
    return Template(_INIT).substitute(
        version=version,
        procs=", ".join(own),
        signatures="\n".join(map(_signature, procs)),
        public=", ".join(map(repr, [*own, "isa", "manifest", "variant"])),
        kernels="\n".join(f"{each} = _kernels.KERNELS[{each!r}]" for each in own),
    )


def _kernels(name: str, procs: Sequence[Packed]) -> str:
    kernels = [
        f"    {proc.name!r}: _kernel(\n        {_module_name(proc)},\n        {proc.name!r},\n"
        f"        {caller.described(proc.written.proc, proc.written.parameters)!r},\n"
        f"        {sum(arg.type == 'size' for arg in proc.written.proc.args)},\n    ),"
        for proc in procs
    ]
    return Template(_KERNELS).substitute(
        name=name,
        variable=environment_name(name),
        modules=", ".join(map(_module_name, procs)),
        kernels="\n".join(kernels),
    )


def _stub(procs: Sequence[Packed]) -> str:
    return Template(_STUB).substitute(kernels="\n".join(map(_typed, procs)))


def _typed(proc: Packed) -> str:
    """`def matmul(C: _Array, A: _Array, B: _Array, *, M: int = ...) -> None: ...`"""
    doc = "\n".join(['    """', *_shapes(proc), '    """'])
    return f"def {proc.name}({_parameters(proc, _TYPES)}) -> None:\n{doc}"


def _signature(proc: Packed) -> str:
    """For `help`: `matmul(C, A, B, *, M=...)`, and what the arrays have to be."""
    return "\n".join([f"{proc.name}({_parameters(proc, {})})", *_shapes(proc)])


_TYPES = {
    "array": ": _Array",
    "number": ": _Array | _b.float",
    "bool": ": _b.bool",
    "control": ": _t.SupportsIndex",
}


def _parameters(proc: Packed, types: Mapping[str, str]) -> str:
    """With `types`, if there are any: `C: _Array, *, M: int = ...`, else `C, *, M=...`."""
    needed = caller.untold(proc.written.proc)
    unset = " = ..." if types else "=..."
    arrays, controls = list[str](), list[str]()
    for each in proc.written.parameters:
        arg, name = each.arg, each.arg.var.name
        if arg.type in q.CONTROL_TYPES:
            kind = types.get("bool" if arg.type == "bool" else "control", "")
            controls.append(f"{name}{kind}" + ("" if arg in needed else unset))
        else:
            number = arg.shape is None and not each.written
            arrays.append(name + types.get("number" if number else "array", ""))
    return ", ".join([*arrays, *(["*", *controls] if controls else [])])


def _shapes(proc: Packed) -> Iterator[str]:
    refusals = caller.described(proc.written.proc, proc.written.parameters)
    yield from (f"    {each.name}: {each.wanted}" for each in refusals.args if each.bytes)


def _refusals() -> str:
    return (resources.files("schedsearch.deploy") / "refusals.py").read_text()


def _module(proc: Packed) -> Path:
    """The extension module of one procedure."""
    written = proc.written
    own = Builder(default_compiler([proc]), (), cache_dir() / "artifacts")
    renamed = f"-DPyInit_schedsearch_caller=PyInit_{_module_name(proc)}"
    return caller.built(
        own, written.proc, written.parameters, context=None, flags=(*baseline().march, renamed)
    )


def _module_name(proc: Packed) -> str:
    return f"_module_{proc.name}"


def _metadata(name: str, version: str) -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: Kernels tuned by schedsearch, for {platform.machine()}\n"
        f"Requires-Python: =={python}.*\nRequires-Dist: {NUMPY}\n"
    )


def _record(files: Mapping[str, bytes], own: str) -> str:
    """Path, digest and size of every file (PEP 376)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_rows(files, own))
    return text.getvalue()


def _rows(files: Mapping[str, bytes], own: str) -> Iterator[tuple[str, str, str]]:
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        yield path, f"sha256={digest}", str(len(data))
    yield own, "", ""
