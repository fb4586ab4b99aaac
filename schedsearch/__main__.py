"""The `schedsearch` command, also `python -m schedsearch`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while modules are loaded,
    which takes a second. If they cannot be loaded, that is no 1 (a regression to `check`)."""
    try:
        # Here, because it may be interrupted or fail.
        from schedsearch.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main()
