"""The page's script and style are those that `make page` makes of its sources."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

WEB = Path(str(files("schedsearch.present"))) / "web"
PAGE = Path(__file__).parents[2] / "page"


def test_the_bundle_is_built_from_these_sources() -> None:
    built = json.loads((WEB / "built.json").read_text())
    for folder, known in ((PAGE, built["sources"]), (WEB, built["made"])):
        for name, digest in known.items():
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            assert found == digest, f"{folder / name} has changed since `make page`"
    assert {f"src/{path.name}" for path in (PAGE / "src").iterdir()} <= set(built["sources"])
    assert {path.name for path in WEB.iterdir()} == {*built["made"], "built.json"}


def test_every_bundled_library_has_its_licence() -> None:
    wanted = json.loads((PAGE / "package.json").read_text())["dependencies"]
    licences = (WEB / "LICENSES.txt").read_text()
    for name, version in wanted.items():
        assert f"{name} {version} (" in licences
    assert not re.findall(r"^\S+ \d\S* \((?!MIT|ISC|BSD-3-Clause|BSD-2-Clause)", licences, re.M)


def test_the_script_cannot_end_its_block() -> None:
    script = (WEB / "page.js").read_text()
    assert not re.search("</script|<!--", script, re.I)


def test_the_lock_names_no_registry() -> None:
    lock = json.loads((PAGE / "package-lock.json").read_text())
    assert all("resolved" not in each for each in lock["packages"].values())
