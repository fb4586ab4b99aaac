"""Pages of the reference that are made when the site is built, from what the code says of itself.

Hooks of MkDocs: `mkdocs.yml` names this file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from schedsearch.transforms.exo import compat as exo_compat
from schedsearch.transforms.registry import registry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, content in (
        ("reference/cli.md", commands()),
        ("reference/transforms.md", "\n".join(alphabet())),
        ("reference/exo.md", "\n".join(mistakes())),
    ):
        files.append(File.generated(config, path, content=content))
    return files


def commands() -> str:
    """What `--help` says, of every command."""
    typer = (sys.executable, "-m", "typer", "--app", "app", "schedsearch.cli.main", "utils", "docs")
    finished = subprocess.run(
        [*typer, "--name", "schedsearch"], capture_output=True, text=True, check=True
    )
    # Typer cuts the list of commands short; the table of contents has them all.
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", finished.stdout)
    return text.replace("# `schedsearch`", "# Commands", 1)


def alphabet() -> Iterator[str]:
    """One section per transform, from the text of its module."""
    yield "# Transforms\n"
    yield (
        "The search makes schedules of these transforms, and `--transforms` restricts it to some. "
        "[How to add one](../how-to/transforms.md).\n"
    )
    for transform in registry().values():
        yield f"## {transform.name}\n"
        yield f"{transform.doc.strip()}\n"


def mistakes() -> Iterator[str]:
    """What Exo gets wrong, and what is done about each, as the module that does it says."""
    yield "# Mistakes of Exo 1.0.0\n"
    yield "Exo 1.0.0 gets these things wrong; schedsearch rejects them or works around them.\n"
    yield "````text"
    yield (exo_compat.__doc__ or "").strip()
    yield "````"
