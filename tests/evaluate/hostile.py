"""Kernels written in C by hand, in place of a candidate for `triple`."""

from __future__ import annotations

from schedsearch.core.records import Artifact, Failure, Measurement
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Anchor, Bench
from schedsearch.evaluate.run.timing import TimingPlan

from .procs import generate, handwritten, triple

SCREEN = TimingPlan("screen", 2, 2, sample_ns=1e5)
INCLUDES = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void right(float *y, const float *x) { for (int i = 0; i < 64; i++) y[i] = 3.0f * x[i]; }
static int word;
static void *sleeper(void *unused) { for (;;) syscall(SYS_futex, &word, 0, 0, 0); return unused; }
"""
SIGNATURE = "void triple(void *ctxt, float *y, const float *x)"


def kernel(builder: Builder, body: str, before: str = "") -> Artifact:
    source = f"{INCLUDES}\n{before}\n{SIGNATURE} {{ {body} }}\n"
    artifact = builder.build(handwritten(generate(triple), source), 60)
    assert isinstance(artifact, Artifact), artifact
    return artifact


def run(bench: Bench, artifact: Artifact) -> Measurement | Failure:
    return bench.evaluate(artifact, SCREEN, Anchor(bench.baseline, "baseline")).result
