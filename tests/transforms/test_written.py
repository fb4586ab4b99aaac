"""Procedures written to files and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedsearch.core.errors import UserError
from schedsearch.transforms.exo.identity import ast_key
from schedsearch.transforms.exo.loader import load_source
from schedsearch.transforms.exo.mirror import mirror
from schedsearch.transforms.exo.written import written
from transforms.helpers import CONTROLS, kernels
from transforms.procs.unsaved import constants_and_names, in_a_function


@pytest.mark.parametrize("name", [*sorted(CONTROLS.keys() - {"configured"}), "constants_and_names"])
def test_what_is_written_is_the_same_procedure(name: str, tmp_path: Path) -> None:
    original = kernels().get(name, constants_and_names)
    file = tmp_path / "written.py"
    file.write_text(written(original))
    again = load_source(file).procs[original.name()]
    assert ast_key(mirror(again)) == ast_key(mirror(original))


def test_what_a_file_cannot_import_is_named() -> None:
    for procedure, name in ((in_a_function(), "Local"), (kernels()["configured"], "Mode")):
        with pytest.raises(UserError, match=f"{name} is not something that a file could import"):
            written(procedure)
