"""A schedule beside what its user would call instead (`peers/`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schedsearch.core.errors import UserError
from schedsearch.core.records import Failure, GeneratedC, PeerComparison
from schedsearch.peers.against import Kernel, compare
from schedsearch.search.caches import in_use
from schedsearch.search.setup.subject import Subject, cache_dir
from schedsearch.search.workers.building import BUILD_TIMEOUT_S
from schedsearch.search.workers.core_sharing import measuring_slot


def compare_with_peers(
    subject: Subject,
    code: GeneratedC,
    requests: Sequence[str],
    tell: Callable[[str], None],
    written: str = "",
) -> list[PeerComparison]:
    """The C of a schedule of `subject` against all peers asked for, in the same rounds. `tell`
    hears what is going on. `written` is C of the user's own, with the arguments of Exo's, which
    compilers compete with. Raises UserError if the C does not compile."""
    with in_use():
        artifact = subject.builder.build(code, BUILD_TIMEOUT_S)
        if isinstance(artifact, Failure):
            raise UserError(f"{subject.name} does not compile again: {artifact.message}")
        kernel = Kernel(
            subject.ast,
            subject.binding,
            subject.code,
            subject.target,
            artifact,
            code.proc,
            cache_dir() / "artifacts",
            written,
        )
        with measuring_slot(tell):
            tell(f"comparing {subject.name} with {', '.join(requests)}")
            return compare(kernel, requests)
