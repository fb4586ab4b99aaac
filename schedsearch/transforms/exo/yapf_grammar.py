"""yapf, by which Exo prints procedures, caches its grammar in a file that it renames into
place before it is written (0.43): a full disk leaves it cut short for good, a process that is
just writing it for a moment. Importing Exo would end with an EOFError."""

from __future__ import annotations

import pickle
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_dir

try:
    import_module("yapf")
except (EOFError, pickle.UnpicklingError):
    for cached in Path(user_cache_dir("YAPF", "Google", version("yapf"))).glob("*.pickle"):
        cached.unlink(missing_ok=True)
    import_module("yapf")
