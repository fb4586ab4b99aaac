"""`schedsearch run`"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from schedsearch.api.arguments import read_budget
from schedsearch.api.exporting import export_result
from schedsearch.api.source import source_of
from schedsearch.cli import completing
from schedsearch.cli.against import AgainstOption, show_against
from schedsearch.cli.options import (
    DEFAULT_OUT,
    INTERRUPTED,
    KERNEL,
    MEASUREMENT,
    PARALLEL,
    SEARCH,
    CcOption,
    DefineOption,
    ExecutorOption,
    FpOption,
    IncludeOption,
    InstructionsOption,
    JsonOption,
    OutOption,
    StoreOption,
    TargetOption,
    ThreadsOption,
    WorkersOption,
    integer_option,
)
from schedsearch.cli.parse import number, parse_names, parse_sizes
from schedsearch.cli.report import Written, as_json, gained, report
from schedsearch.cli.telling import say, told
from schedsearch.core.records import GeneratedC
from schedsearch.core.text_file import write_text
from schedsearch.evaluate.run.timing import Cache
from schedsearch.frontends.files import AsWritten, as_written, lowered_from
from schedsearch.frontends.lowered import Lowered
from schedsearch.peers.against import parse_against
from schedsearch.present.against import against_json
from schedsearch.present.files import make_writable
from schedsearch.present.live import make_view
from schedsearch.search.against import compare_with_peers
from schedsearch.search.result import Listener, Result
from schedsearch.search.session import tune
from schedsearch.search.setup.budget import Stop
from schedsearch.search.setup.options import Options
from schedsearch.search.strategies.make import STRATEGIES
from schedsearch.study.hot import limited


def run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Python file of the Exo procedure; or equations (.eq), C (.c)."
        ),
    ],
    proc: Annotated[
        str | None,
        typer.Argument(metavar="PROC", help="Procedure, or function, if the file has several."),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="N=64",
            help="Bind a size for timing (repeatable). Default: 256, or what asserts allow.",
            rich_help_panel=KERNEL,
        ),
    ] = None,
    specialize: Annotated[
        bool,
        typer.Option(
            "--specialize",
            help="Compile the sizes given in as constants. The C function loses these arguments "
            "and is called NAME_M512_N64.",
            rich_help_panel=KERNEL,
        ),
    ] = False,
    define: DefineOption = None,
    include: IncludeOption = None,
    cc: CcOption = None,
    target: TargetOption = None,
    fp: FpOption = None,
    instructions: InstructionsOption = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time for all of it: 90, 90s, 2m, 1h. Up to 40 % of it confirms the fastest.",
            rich_help_panel=SEARCH,
        ),
    ] = f"{Options.budget.seconds / 60:g}m",
    trials: Annotated[
        int | None,
        integer_option("--trials", "Stop after this many measured candidates.", SEARCH),
    ] = None,
    target_speedup: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            parser=number("--target-speedup"),
            help="Stop once this many times as fast as the baseline.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(STRATEGIES)}.",
            autocompletion=completing.strategies,
            rich_help_panel=SEARCH,
        ),
    ] = str(Options.strategy),
    transforms: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Use only these transforms, e.g. reorder,split,unroll.",
            autocompletion=completing.transforms,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    warm_start: Annotated[
        bool,
        typer.Option(
            "--warm-start/--no-warm-start",
            help="Try first what the store has for other sizes and similar procedures.",
            rich_help_panel=SEARCH,
        ),
    ] = Options.warm_start,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Start a new search. What earlier ones found stays in the store.",
            rich_help_panel=SEARCH,
        ),
    ] = False,
    seed: Annotated[
        int,
        integer_option("--seed", "Seed of the strategy.", SEARCH),
    ] = Options.seed,
    cache: Annotated[
        Cache,
        typer.Option(
            metavar="STATE",
            parser=Cache,
            autocompletion=completing.caches,
            help="Time kernels with their operands in the caches (warm), or not (cold).",
            rich_help_panel=MEASUREMENT,
        ),
    ] = Options.cache,
    align: Annotated[
        int,
        integer_option(
            "--align",
            "Alignment of the arrays: 16 as malloc and NumPy give, or 64.",
            MEASUREMENT,
            "BYTES",
        ),
    ] = Options.align,
    against: AgainstOption = None,
    threads: ThreadsOption = Options.threads,
    workers: WorkersOption = None,
    executor: ExecutorOption = Options.executor,
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Join a Ray cluster: its nodes rewrite; this one compiles and measures.",
            rich_help_panel=PARALLEL,
        ),
    ] = None,
    store: StoreOption = str(Options.store),
    out: OutOption = DEFAULT_OUT,
    json_: JsonOption = False,
) -> None:
    """Search for a fast schedule of a procedure, and write it out.

    Every candidate is a chain of rewrites that Exo accepts. It is compiled, compared with the
    procedure as written on seeded data, and only then timed, interleaved with it. The fastest few
    are measured again at the end. Ctrl-C stops early and keeps everything; the same command
    continues. If no schedule is faster, none is written.

    Example: [bold]schedsearch run matmul.py --budget 2m[/]
    """
    made = lowered_from(file, proc, define or (), include or ())
    theirs = as_written(file, proc, define or (), include or ()) if made else None
    source, only = source_of(made) if made else source_of(file, proc)
    options = Options(
        file=source,
        proc=only,
        sizes=parse_sizes(size or []),
        budget=read_budget(budget, trials, target_speedup),
        store=store,
        cc=cc,
        target=target,
        fp=fp,
        instructions=tuple(instructions or ()),
        strategy=strategy,
        executor=executor,
        workers=workers,
        seed=seed,
        transforms=parse_names(transforms),
        threads=threads,
        specialize=specialize,
        warm_start=warm_start,
        cache=cache,
        align=align,
        fresh=fresh,
        ray_address=ray_address,
    )
    requests = parse_against(against or [])
    make_writable(out)
    view = make_view(Console(stderr=True, highlight=False))
    try:
        # The user's file may print; standard output is for the result alone.
        with redirect_stdout(sys.stderr):
            result = tune(options, Listener(view.phase, view.started, view.progress))
        view.stop()
        written, code = _write(result, out) if result.best or result.gainless else (Written(), None)
        if code and made and written.paths and not result.setting.subject.workload.specialized:
            written = _with_replacement(written, made, theirs) if theirs else written
        asked = requests if code and result.stop is not Stop.INTERRUPTED else ()
        console = Console(highlight=False)
        if not json_:
            report(console, result, written, target_speedup)
        others = []
        if code and asked:
            subject = result.setting.subject
            text = ""
            if made and theirs:
                text = theirs.exported(made, subject.workload.function, subject.workload.fixed)
            with told() as tell:
                others = compare_with_peers(subject, code, asked, tell, text)
        if json_:
            found = as_json(result, written) | {"against": against_json(others)}
            print(json.dumps(found, indent=2))
        else:
            show_against(console, others)
    except KeyboardInterrupt:
        view.stop()
        again = "the same command without --fresh" if fresh else "the same command"
        say(f"interrupted; what was measured is kept, {again} continues")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        view.stop()
    if result.stop is Stop.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)


def _write(result: Result, out: Path) -> tuple[Written, GeneratedC]:
    """The best, or the procedure as written where nothing is faster; and its C. No files are
    written then: builds and reviews would take them for a gain."""
    files = export_result(result, out if gained(result) else None)
    sentence = limited(result, files.code, files.ast)
    return Written(files.paths, files.caveats, sentence), files.code


def _with_replacement(written: Written, made: Lowered, theirs: AsWritten) -> Written:
    """The same, and a file that takes the place of the user's."""
    [source] = [path for path in written.paths if path.suffix == ".c"]
    place = source.with_name(f"{made.name}.replacement.c")
    write_text(place, theirs.replacement(made, source.name))
    return replace(written, paths=(*written.paths, place))
