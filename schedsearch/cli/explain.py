"""`schedsearch explain` and `compare`"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.cli.options import (
    DEFAULT_STORE,
    FileOption,
    InstructionsOption,
    JsonOption,
    StoreOption,
)
from schedsearch.core.errors import ReplayError, UserError
from schedsearch.present import compared, explained
from schedsearch.present import format as fmt
from schedsearch.present.diff import Diff
from schedsearch.search.explain import explain as explain_trace
from schedsearch.search.kept import load_kept
from schedsearch.search.recorded import stored_roof
from schedsearch.search.versus import recorded_ratio, versus
from schedsearch.store.database import Store
from schedsearch.transforms.exo_compat import generate_c
from schedsearch.transforms.replay import Replayer


def explain(
    candidate_id: Annotated[int, typer.Argument(metavar="ID", help="As `best` prints it.")],
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a review.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Show step by step what each rewrite did to the loop nest and to the speed.

    Effects are measured where the search measured the schedule up to a step, or one with
    the same machine code; else they are the cost estimate's, marked with ~.
    """
    with Store.open(store, create=False) as opened:
        candidate = opened.candidate(candidate_id)
        workload = opened.workload(candidate.scope)
        target = opened.target(candidate.scope)
        roof = stored_roof(opened, candidate.scope)
        _, procedure = load_kept(workload, file, instructions or ())
        try:
            explanation = explain_trace(
                opened, candidate.scope, workload, target, procedure, candidate.record.trace
            )
        except ReplayError as error:
            raise UserError(f"the recorded schedule does not replay: {error}") from error
    title = f"candidate {candidate.id} of {fmt.kernel(workload)} on {fmt.target(target)}"
    if json_:
        head = {"candidate": candidate.id, "procedure": workload.proc}
        head |= {"sizes": dict(workload.sizes)}
        print(json.dumps(head | explained.to_json(explanation, roof), indent=2))
    elif markdown:
        print(explained.markdown(title, explanation, roof))
    else:
        Console(highlight=False).print(explained.terminal(title, explanation, roof))


def compare(
    first: Annotated[int, typer.Argument(metavar="A", help="A candidate, as `best` prints it.")],
    second: Annotated[int, typer.Argument(metavar="B", help="Another of the same procedure.")],
    c: Annotated[
        bool, typer.Option("--c", help="Print the difference of their C as well.")
    ] = False,
    file: FileOption = None,
    instructions: InstructionsOption = None,
    store: StoreOption = DEFAULT_STORE,
    json_: JsonOption = False,
) -> None:
    """Show what two schedules have in common, where they part, and which one is faster."""
    with Store.open(store, create=False) as opened:
        pair = opened.candidate(first), opened.candidate(second)
        ratio = recorded_ratio(*pair)
        workload = opened.workload(pair[0].scope)
        roof = stored_roof(opened, pair[0].scope)
    _, procedure = load_kept(workload, file, instructions or ())
    replayer = Replayer(procedure)
    traces = [candidate.record.trace for candidate in pair]
    try:
        found = versus(replayer, traces[0], traces[1])
        states = [replayer.state(trace) for trace in traces]
    except ReplayError as error:
        raise UserError(f"a recorded schedule does not replay: {error}") from error
    if json_:
        print(json.dumps(compared.to_json(pair, found, ratio), indent=2))
        return
    console = Console(highlight=False)
    console.print(compared.terminal(pair, found, ratio, roof))
    if c:
        texts = [generate_c(state.procedure, state.build).source for state in states]
        titles = (f"candidate {first}", f"candidate {second}")
        difference = Diff(texts[0], texts[1], titles, "c")
        console.print(f"\n{difference!r}", markup=False, soft_wrap=True)
