"""The sandbox on systems that lack a part of it, for parallel kernels, and for plain users."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schedsearch.core.floats import FloatingPoint
from schedsearch.core.records import Failure, Measurement, Outcome
from schedsearch.evaluate.arguments.binding import bind
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.compiler import default_flags, find_compiler
from schedsearch.evaluate.build.host import usable_cores
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.preparing import prepare
from schedsearch.evaluate.run.sandbox import Sandbox
from schedsearch.transforms.exo.mirror import mirror

from .hostile import kernel, run
from .procs import generate, triple

# Makes system calls fail, then becomes another program: what old kernels and other
# sandboxes do to ours.
WITHOUT = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    unsigned short n = 0;
    struct sock_filter code[64];
    code[n++] = (struct sock_filter){BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}; /* the call's number */
    for (char *next = argv[1]; *next; next += *next == ',') {
        code[n++] = (struct sock_filter){BPF_JMP | BPF_JEQ | BPF_K, 0, 1, strtol(next, &next, 10)};
        code[n++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS};
    }
    code[n++] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        return 9;
    execv(argv[2], argv + 2);
    return 9;
}
"""
SECCOMP = {"x86_64": 317, "aarch64": 277}[platform.machine()]
CAPSET = {"x86_64": 126, "aarch64": 91}[platform.machine()]
LANDLOCK = 444


@pytest.fixture(scope="module")
def without(
    bench: Bench, builder: Builder, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Bench]:
    """The bench on a system that lacks some calls, by number."""
    place = tmp_path_factory.mktemp("without")
    (place / "without.c").write_text(WITHOUT)
    command = [builder.compiler.path, place / "without.c", "-o", place / "without"]
    subprocess.run(command, check=True)

    def limited(*numbers: int) -> Bench:
        name = "-".join(map(str, numbers))
        script = place / name
        listed = ",".join(map(str, numbers))
        script.write_text(f'#!/bin/sh\nexec {place}/without {listed} {bench.executable} "$@"\n')
        script.chmod(0o755)
        return replace(bench, executable=script)

    return limited


def sandbox_of(bench: Bench) -> Sandbox:
    return bench.run_baseline(bench.cases, FloatingPoint.FAST)[0].sandbox


def test_what_is_missing_is_noticed(bench: Bench, without: Callable[..., Bench]) -> None:
    whole = sandbox_of(bench)
    assert whole == bench.sandbox
    assert whole.warning is None
    no_files = sandbox_of(without(LANDLOCK))
    assert no_files == replace(whole, landlock=0)
    assert no_files.warning is None
    no_filter = sandbox_of(without(SECCOMP, CAPSET))
    assert no_filter == replace(whole, filtered=False, unprivileged=False)
    assert "no seccomp" in str(no_filter.warning)
    nothing = sandbox_of(without(SECCOMP, LANDLOCK, CAPSET))
    assert nothing.layers == ()
    assert "write your files" in str(nothing.warning)


@pytest.mark.normal
def test_the_filter_alone_refuses_to_write(
    bench: Bench, without: Callable[..., Bench], builder: Builder, home: Path
) -> None:
    result = run(without(LANDLOCK), kernel(builder, 'unlink("precious");'))
    assert isinstance(result, Failure)
    assert result.outcome is Outcome.REFUSED


@pytest.mark.normal
def test_landlock_alone_leaves_files_as_they_are(
    bench: Bench, without: Callable[..., Bench], builder: Builder, home: Path
) -> None:
    if not bench.sandbox.landlock:
        pytest.skip("this Linux has no Landlock")
    attempts = [
        'creat("made", 0600) != -1',
        'open("precious", O_RDWR) != -1',
        'unlink("precious") == 0',
        'rename("precious", "made") == 0',
        'mkdir("made", 0700) == 0',
        'link("precious", "made") == 0',
    ]
    if bench.sandbox.landlock >= 3:
        attempts.append('truncate("precious", 0) == 0')
    if bench.sandbox.landlock >= 6:
        attempts.append("kill(getppid(), 0) == 0")
    body = " ".join(f"if ({attempt}) abort();" for attempt in attempts)
    result = run(without(SECCOMP), kernel(builder, f"right(y, x); {body}"))
    assert isinstance(result, Measurement), result


@pytest.mark.normal
def test_without_any_layer_nothing_outlives_the_kernel(
    bench: Bench, without: Callable[..., Bench], builder: Builder, home: Path
) -> None:
    """The fixture looks for processes afterwards."""
    leave = "if (fork() == 0) { setsid(); if (fork() == 0) setsid(); for (;;) sleep(99); }"
    started = "static int started; if (started++ < 3)"
    result = run(without(SECCOMP, LANDLOCK), kernel(builder, f"{started} {leave} right(y, x);"))
    assert isinstance(result, Measurement), result


def has_openmp(compiler: str) -> bool:
    command = [compiler, "-fopenmp", "-shared", "-fPIC", "-x", "c", "-o", os.devnull, "-"]
    source = "#include <omp.h>\nint f(void) { return omp_get_max_threads(); }"
    return subprocess.run(command, input=source, text=True, capture_output=True).returncode == 0


COMPILERS = [
    name
    for name in ("gcc", "clang-19", "clang-14", "clang")
    if shutil.which(name) and has_openmp(name)
]
PARALLEL = """
#pragma omp parallel for
for (int i = 0; i < 64; i++) y[i] = 3.0f * x[i];
char registration[99];
sprintf(registration, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", getpid(), getuid());
if (access(registration, F_OK) == 0) abort();
"""


@pytest.mark.normal
@pytest.mark.skipif(len(usable_cores()) < 2, reason="two threads need two cores")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_parallel_kernels(builder: Builder, tmp_path: Path, compiler: str) -> None:
    """Their libraries start threads and bind them; LLVM's leaves nothing in /dev/shm."""
    own = Builder(find_compiler(compiler), default_flags(), builder.cache_dir)
    bound = bind(mirror(triple), {})
    two = prepare(mirror(triple), generate(triple), bound, own, tmp_path, threads=2)
    result = run(two, kernel(own, PARALLEL))
    assert isinstance(result, Measurement), result
    refused = run(two, kernel(own, f"{PARALLEL} socket(1, 1, 0);"))
    assert isinstance(refused, Failure)
    assert refused.outcome is Outcome.REFUSED


@pytest.mark.normal
def test_a_compiler_without_half_precision(builder: Builder, tmp_path: Path) -> None:
    """As clang 14 is for most processors."""
    without = tmp_path / "gcc"
    without.write_text(
        f'#!/bin/sh\nexec {builder.compiler.path} "$@" -U__FLT16_MAX__ -D_Float16=missing\n'
    )
    without.chmod(0o755)
    own = Builder(find_compiler(str(without)), default_flags(), tmp_path / "cache")
    bench = prepare(mirror(triple), generate(triple), bind(mirror(triple), {}), own, tmp_path)
    assert isinstance(run(bench, kernel(own, "right(y, x);")), Measurement)


@pytest.mark.normal
@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs another user")
def test_a_plain_user() -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        own = Builder(find_compiler(), default_flags(), Path(place, "cache"))
        proc = mirror(triple)
        bench = prepare(proc, generate(triple), bind(proc, {}), own, Path(place, "work"))
        script = Path(place, "as_nobody")
        become = "setpriv --reuid=65534 --regid=65534 --clear-groups"
        script.write_text(f'#!/bin/sh\nexec {become} {bench.executable} "$@"\n')
        script.chmod(0o755)
        plain = replace(bench, executable=script)
        assert sandbox_of(plain) == bench.sandbox
        assert isinstance(
            run(plain, kernel(own, "if (getuid() == 0) abort(); right(y, x);")), Measurement
        )
        refused = run(plain, kernel(own, "fork();"))
        assert isinstance(refused, Failure)
        assert refused.outcome is Outcome.REFUSED
