"""The `schedsearch` command, also `python -m schedsearch`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, also while modules are loaded,
    which takes a second."""
    try:
        from schedsearch.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
