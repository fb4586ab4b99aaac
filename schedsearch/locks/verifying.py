"""Build and verify a locked schedule. Whatever ends its check raises CheckEnded."""

from __future__ import annotations

from schedsearch.core import ast as q
from schedsearch.core.errors import BaselineError, UserError
from schedsearch.core.records import Artifact, Failure, GeneratedC
from schedsearch.evaluate.build.builder import Builder
from schedsearch.evaluate.run.bench import Bench
from schedsearch.evaluate.run.runner import was_killed
from schedsearch.evaluate.run.timing import Cache
from schedsearch.locks.result import CheckEnded, Status
from schedsearch.search.setup.subject import Subject, bench_of
from schedsearch.search.verified import Verified, place_of, remember
from schedsearch.search.workers.building import BUILD_TIMEOUT_S, reacher_of, with_calls


def built(builder: Builder, code: GeneratedC) -> Artifact:
    found = builder.build(code, BUILD_TIMEOUT_S)
    if isinstance(found, Artifact):
        return found
    if was_killed(found):
        raise CheckEnded(Status.ERROR, f"the compiler was {found.message}")
    raise CheckEnded(Status.REGRESSION, f"its C does not compile: {found.message}")


def make_bench(subject: Subject, cache: Cache = Cache.WARM) -> Bench:
    try:
        return bench_of(subject, cache=cache)
    except BaselineError as error:
        raise CheckEnded(Status.WRONG, str(error)) from error
    except UserError as error:
        raise CheckEnded(Status.ERROR, str(error)) from error


def verify(
    bench: Bench, subject: Subject, kernel: q.Proc, artifact: Artifact
) -> tuple[Artifact, Verified]:
    """The artifact of the schedule `kernel`, with the calls that it takes to verify it; and that
    it is right, which is remembered."""
    found = with_calls(artifact, kernel, reacher_of(bench))
    if isinstance(found, Failure):
        raise CheckEnded(Status.ERROR, found.message)
    failure = bench.verify(found)
    if failure is not None and was_killed(failure):
        raise CheckEnded(Status.ERROR, f"the process that verifies it was {failure.message}")
    if failure is not None:
        raise CheckEnded(Status.WRONG, f"{failure.outcome}: {failure.message}")
    verified = Verified(len(bench.for_kernel(found).cases), bench.agreement.caveats)
    remember(place_of(subject, found), verified)
    return found, verified
