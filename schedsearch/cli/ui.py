"""`schedsearch ui`"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from schedsearch.api.live import LivePage
from schedsearch.api.searched import find_run
from schedsearch.api.serving import PageServer
from schedsearch.cli.options import DEFAULT_STORE, FileOption, InstructionsOption, StoreOption
from schedsearch.cli.telling import say
from schedsearch.core.errors import UserError
from schedsearch.store.database import Store
from schedsearch.transforms.vector.instruction_sets import load_instructions

NICE = 10
"""What this process yields: a search beside it times kernels."""


def ui(
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN|PROC",
            help="A run's number, or a procedure. Default: the search that runs, or the latest.",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, metavar="PORT", help="0: one that is free."),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address only.")
    ] = False,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Open a page about a search in the browser, live while it runs.

    It shows the verdict, the search tree, every candidate in a table to sort and filter, code
    in two forms beside each other, and how the search went. Its buttons pin a candidate into
    schedules.lock, and export its files to this directory, as `pin` and `export` do. Ctrl-C
    ends the page, not the search.

    The page is for you alone: it is served on 127.0.0.1, and the address has a token. From
    another machine: `ssh -L 8000:127.0.0.1:8000 HOST`, there `ui --port 8000 --no-browser`, and
    open the address that it prints. `report` writes the same page as a file.
    """
    for each in instructions or ():
        load_instructions(each)
    with Store.open(store, create=False) as opened, redirect_stdout(sys.stderr):
        find_run(opened, wanted)  # what is wrong with what was asked for is said here
        os.nice(NICE)
        page = LivePage(opened, Path.cwd(), wanted, file, tuple(instructions or ()))
        try:
            server = PageServer(page, port)
        except OSError as error:
            raise UserError(
                f"port {port} cannot be used ({error.strerror}); choose another --port"
            ) from error
        with server:
            _serve(server, not no_browser)


def _serve(server: PageServer, browse: bool) -> None:
    """Until Ctrl-C."""
    serving = threading.Thread(target=server.serve_forever, name="page", daemon=True)
    serving.start()
    try:
        print(server.address, file=sys.__stdout__, flush=True)
        say("Ctrl-C ends the page")
        if browse:
            webbrowser.open(server.address)
        serving.join()
    except KeyboardInterrupt:
        say("no longer served; a search that runs goes on")
    finally:
        server.shutdown()
