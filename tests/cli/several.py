"""Several steps in one process (`several.py JSON`), since loading the program takes longer than
most of them. A step is the arguments of a command, or the path of a file to delete. Prints what
the commands answered."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from schedsearch.cli.main import main


def run(args: list[str]) -> dict[str, object]:
    sys.argv = ["schedsearch", *args]
    code: object = 0
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    answers = []
    for step in json.loads(sys.argv[1]):
        if isinstance(step, str):
            Path(step).unlink()
        else:
            answers.append(run(step))
    print(json.dumps(answers))
