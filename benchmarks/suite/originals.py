"""C of others, as a compiler sees it: with headers, so that the cache knows when one changes."""

from __future__ import annotations

from benchmarks.suite.case import Original
from schedsearch.core.build import compile_flags
from schedsearch.core.errors import UserError
from schedsearch.core.keys import digest
from schedsearch.core.records import GeneratedC
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.build.process import run_group

_SECONDS = 60.0


def preprocessed(original: Original, builder: Builder) -> GeneratedC:
    """By the builder's compiler and flags, on which headers depend. Raises UserError."""
    flags = compile_flags(builder.flags, original.text, builder.compiler.kind)
    folders = [f"-I{each}" for each in original.include]
    command = [builder.compiler.path, *flags, *folders, "-E", "-P", "-x", "c", "-"]
    done = run_group(command, text=original.text, timeout_s=_SECONDS)
    if done is None or done.code != 0:
        said = done.stderr.strip().splitlines()[:1] if done else [f"no end in {_SECONDS:.0f} s"]
        raise UserError(f"does not compile: {' '.join(said)}")
    return GeneratedC(original.name, "", done.stdout, digest(done.stdout))
