"""What `tune` is given is checked before anything starts, as the command's options are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import typer

import schedsearch
from schedsearch.api import source
from schedsearch.api.exploring import Explored
from schedsearch.cli.main import make_app
from schedsearch.cli.run import run
from schedsearch.core.errors import UserError
from schedsearch.core.floats import FloatingPoint
from schedsearch.core.given import parse_seconds
from schedsearch.evaluate.run.timing import Cache
from schedsearch.search import session
from schedsearch.search.setup.budget import Budget
from schedsearch.search.setup.options import Options

GEMV = Path(__file__).parents[2] / "examples" / "gemv.py"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0.0}, "is not a time; write for example 90, 90s, 2m or 1h"),
        ({"budget": float("nan")}, "is not a time; write for example 90, 90s, 2m or 1h"),
        ({"budget": float("inf")}, "is not a time; write for example 90, 90s, 2m or 1h"),
        ({"trials": 0}, "--trials 0 is no limit"),
        ({"target_speedup": 0.5}, "above 1"),
        ({"target_speedup": float("nan")}, "above 1"),
        ({"budget": 10**5000}, "--budget is a number of more than 63 bits, not a time"),
        ({"target_speedup": 10**5000}, "--target-speedup is a number of more than 63 bits, not a"),
        ({"seed": -(2**63)}, "--seed is a number of more than 63 bits"),
        ({"trials": 10**5000}, "--trials is a number of more than 63 bits"),
        ({"sizes": {"N": 2**63}}, "--size N is a number of more than 63 bits"),
        ({"cache": "cold!"}, "is unknown; known: warm, cold"),
        ({"workers": 0}, "--workers 0"),
        ({"workers": -2}, "--workers -2"),
        ({"budget": -3}, "is not a time; write for example 90, 90s, 2m or 1h"),
        ({"budget": "-3s"}, "--budget '-3s' is not a time; write for example 90, 90s, 2m or 1h"),
        ({"budget": "soon"}, "--budget 'soon' is not a time"),
        ({"budget": None}, "--budget None is not a time"),
        ({"budget": True}, "--budget True is not a time"),
        ({"trials": "many"}, "--trials 'many' is not an integer"),
        ({"trials": True}, "--trials True is not an integer"),
        ({"target_speedup": "2x"}, "--target-speedup '2x' is not a number"),
        ({"transforms": "split,unrol"}, "unknown transform 'unrol'"),
        ({"transforms": ","}, "--transforms is empty"),
        ({"transforms": []}, "--transforms is empty"),
        ({"transforms": [len]}, "is not a name; give names, such as 'reorder,split'"),
        ({"transforms": 5}, "--transforms 5: give a text, or a list of them"),
        ({"cache": "hot"}, "--cache 'hot' is unknown; known: warm, cold"),
        ({"cache": None}, "is unknown; known: warm, cold"),
        ({"fp": "exact"}, "--fp 'exact' is unknown; known: strict, reassociate, fast"),
        ({"sizes": "N=64"}, "sizes 'N=64': give numbers by name"),
        ({"sizes": {"N": "64"}}, "--size N '64' is not an integer"),
        ({"sizes": {"N": 6.5}}, "--size N 6.5 is not an integer"),
        ({"sizes": {5: 64}}, "sizes: 5 is not a name"),
        ({"threads": "two"}, "--threads 'two' is not an integer"),
        ({"align": 24}, "--align 24: give a power of two"),
        ({"align": "64"}, "--align '64' is not an integer"),
        ({"seed": 0.5}, "--seed 0.5 is not an integer"),
        ({"executor": "slurm"}, "--executor 'slurm' is unknown"),
        ({"executor": None}, "--executor is a text, not None"),
        ({"store": 5}, "--store is a path, not int"),
        ({"store": ""}, "--store is empty"),
        ({"cc": ["gcc"]}, "--cc is a text, not"),
        ({"target": 512}, "--target is a path, not int"),
        ({"instructions": 5}, "--instructions 5: give a text, or a list"),
        ({"instructions": [5]}, "--instructions is a path, not int"),
        ({"specialize": "no"}, "--specialize is True or False, not 'no'"),
        ({"warm_start": None}, "--warm-start is True or False"),
        ({"fresh": "yes"}, "--fresh is True or False"),
        ({"progress": "quiet"}, "progress is True or False"),
        ({"ray_address": "a:1", "executor": "inline"}, "--ray-address is for --executor ray"),
        ({"against": "mathematica"}, "--against 'mathematica': it takes"),
        ({"against": [5]}, "--against is a text, not 5"),
        ({"name": 5}, "name is a text, not 5"),
        ({"define": 5}, "--define 5: give a text, or a list"),
        ({"include": [5]}, "--include is a path, not int"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_loaded(
    given: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "source_of", fail)
    with pytest.raises(UserError, match=re.escape(message)):
        schedsearch.tune(GEMV, **{"store": tmp_path / "s.db", "budget": 1.0, **given})
    assert list(tmp_path.iterdir()) == []


def fail(*given: Any) -> NoReturn:
    raise AssertionError("it is loaded")


@pytest.mark.parametrize(
    ("proc", "message"),
    [
        (lambda x: x, "not function; put @proc of Exo above it, or @schedsearch.jit"),
        (5, "an Exo procedure or a path is tuned, not int"),
        (None, "an Exo procedure or a path is tuned, not NoneType"),
        ([GEMV], "an Exo procedure or a path is tuned, not list"),
    ],
)
@pytest.mark.parametrize("function", [schedsearch.tune, schedsearch.explore])
def test_what_is_no_procedure_is_refused(
    function: Callable[..., Any], proc: Any, message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        function(proc)


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--budget", "30q"),
        ("--budget", "0"),
        ("--trials", "many"),
        ("--trials", "0"),
        ("--target-speedup", "fast"),
        ("--target-speedup", "1"),
        ("--strategy", "randm"),
        ("--executor", "inlin"),
        ("--workers", "0"),
        ("--workers", "all"),
        ("--seed", "x"),
        ("--transforms", "reoder"),
        ("--transforms", ","),
        ("--fp", "srict"),
        ("--cache", "cool"),
        ("--align", "48"),
        ("--align", "x"),
        ("--threads", "0"),
        ("--threads", "two"),
        ("--against", "nump"),
        ("--target", "avx513"),
        ("--target", "absent.toml"),
        ("--cc", "gccc"),
        ("--instructions", "absent.py"),
        ("--store", "mysql://h/d"),
    ],
)
def test_the_command_line_and_python_say_the_same(
    option: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = typer.main.get_command(make_app(["run"]))
    with pytest.raises(UserError) as typed:
        command(["run", str(GEMV), "--store", "s.db", option, given], prog_name="schedsearch")
    value = int(given) if given.isdecimal() and option != "--budget" else given
    with pytest.raises(UserError) as called:
        schedsearch.tune(GEMV, **{"store": "s.db", option[2:].replace("-", "_"): value})
    assert str(typed.value) == str(called.value)


def test_macros_are_for_c() -> None:
    with pytest.raises(UserError, match="macros and headers are for C"):
        schedsearch.tune(GEMV, define="N=100")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"transforms": "split,unrol"}, "unknown transform 'unrol'"),
        ({"sizes": 64}, "sizes 64: give numbers by name"),
        ({"cache": "hot"}, "--cache 'hot' is unknown"),
        ({"store": 5}, "--store is a path"),
        ({"threads": 0.5}, "--threads 0.5 is not an integer"),
        ({"progress": None}, "progress is True or False"),
    ],
)
def test_explore_refuses_the_same(
    given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "source_of", fail)
    with pytest.raises(UserError, match=re.escape(message)):
        schedsearch.explore(GEMV, **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.open(5), "store= is a path, not int"),
        (lambda s: s.kernel(5), "a kernel is made of an Exo procedure, not of int"),
        (lambda s: s.kernel(lambda x: x), "not of function"),
        (lambda s: s.jit(5), "a kernel is made of the text of a Python function"),
        (lambda s: s.jit(preprocess="no"), "preprocess is True or False"),
        (lambda s: s.jit(store=5), "store= is a path, not int"),
        (lambda s: s.jit(lock=5), "lock= is a path, not int"),
        (lambda s: s.einsum(5), "its first argument is a string"),
        (lambda s: s.einsum("ij->i", [1.0], backend="gpu"), "backend 'gpu' is unknown"),
        (lambda s: s.program(5), "equations are a text, or the path of a file, not int"),
        (lambda s: s.program("y[i] = x[i]", types="f64"), "types 'f64': give types by name"),
        (lambda s: s.program("y[i] = x[i]", default=64), "default is a text, not 64"),
        (lambda s: s.program("y[i] = x[i]", name=None), "name is a text, not None"),
        (lambda s: s.tune_recorded(5), "the directory of a recording, not int"),
        (lambda s: s.tune_recorded("calls", budget="soon"), "--budget 'soon' is not a time"),
        (
            lambda s: s.tune_recorded("calls", budget=-1),
            "is not a time; write for example 90, 90s, 2m or 1h",
        ),
        (lambda s: s.tune_recorded("calls", workers="two"), "--workers 'two' is not an integer"),
        (lambda s: s.tune_recorded("calls", store=5), "--store is a path, not int"),
        (
            lambda s: s.tune_recorded("calls", fp="x"),
            "is unknown; known: strict, reassociate, fast",
        ),
        (lambda s: s.using(5).__enter__(), "a schedule is a result of `schedsearch.tune`"),
    ],
)
def test_other_functions_refuse_what_is_wrong(call: Callable[..., Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        call(schedsearch)


def test_what_the_command_takes_as_text_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "source_of", lambda proc, *more: (proc, None))
    taken: list[Options] = []
    monkeypatch.setattr(session, "tune", lambda options, listener: taken.append(options))
    with pytest.raises(AttributeError):  # there is no result
        schedsearch.tune(
            GEMV,
            {"N": np.int64(64)},  # type: ignore[dict-item]
            budget="1.5m",
            transforms="split, unroll",
            cache="cold",
            fp="strict",
            instructions="my.py",
            target=Path("my.toml"),
            progress=False,
        )
    [options] = taken
    assert options.budget.seconds == 90.0
    assert options.transforms == ("split", "unroll")
    assert (options.cache, options.fp) == (Cache.COLD, FloatingPoint.STRICT)
    assert (options.instructions, options.target) == ((Path("my.py"),), "my.toml")
    assert options.sizes == {"N": 64}
    assert type(options.sizes["N"]) is int


NAMES = {"file": "proc", "proc": "name", "size": "sizes"}
"""Of the command's parameters, in Python."""
WRITING = {"json_", "out"}
"""What is written, and how: `Result.export`, and the result itself."""


def test_tune_takes_everything_that_run_takes() -> None:
    wanted = {NAMES.get(each, each) for each in inspect.signature(run).parameters} - WRITING
    assert wanted - inspect.signature(schedsearch.tune).parameters.keys() == set()


def test_a_session_without_a_search_needs_no_budget(tmp_path: Path) -> None:
    Options(GEMV, None, {}, Budget(0.0), tmp_path / "s.db").check()


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    given = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in given if each.default is not each.empty}


def defaults_of_options() -> dict[str, Any]:
    found = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(Options)
    }
    budget = found["budget"]
    return found | {
        "budget": budget.seconds,
        "trials": budget.trials,
        "target_speedup": budget.speedup,
    }


@pytest.mark.parametrize("function", [schedsearch.tune, schedsearch.explore, Explored.search, run])
def test_defaults_are_those_of_the_options(function: Callable[..., Any]) -> None:
    own, wanted = defaults_of(function), defaults_of_options()
    if function is run:
        own["budget"] = parse_seconds(own["budget"])
    if function is Explored.search:
        del own["budget"]  # less: what it goes on from is good already
    common = own.keys() & wanted.keys()
    assert len(common) >= 5
    # Parameters of several values have no default on the command line.
    empty = {name for name in common if not own[name] and not wanted[name]}
    assert {name: own[name] for name in common - empty} == {
        name: wanted[name] for name in common - empty
    }


def test_every_argument_has_an_option() -> None:
    extra = {"name", "progress", "trials", "target_speedup", "define", "include", "against"}
    given = inspect.signature(schedsearch.tune).parameters.keys() - extra
    assert given <= {field.name for field in fields(Options)}
    assert inspect.signature(schedsearch.explore).parameters.keys() <= given | extra
