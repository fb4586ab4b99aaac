"""What the suite knows of a kernel, as data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedsearch.peers.arrays import Argument, Fill
from schedsearch.peers.described import arguments
from schedsearch.search.setup.subject import Subject, load_subject

KERNELS = Path(__file__).parent / "kernels"
EXAMPLES = Path(__file__).parents[2] / "examples"

PYTHON_PEERS = ("numpy", "numba", "torch")


@dataclass(frozen=True)
class Original:
    """What a procedure was translated from, which C compilers get in its place: `text` is C that
    defines `name`, which is called as Exo's C is; `include` is where its headers are."""

    name: str
    text: str
    include: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Case:
    """A kernel of the suite: a naive procedure, its sizes, and what competes.

    `group` is what `--only` may also name: `suite`, `blas`, ...
    `form` is the name of the functions in `peers` that compute the same, empty if there
    are none; `without` names the libraries that have no natural form of it, `also` others
    that have one.
    `specialize`: the sizes are constants of what is tuned; else schedules stay valid for
    every size. C compilers always compete, with the `original`, or else with the unscheduled
    procedure's own C.
    """

    name: str
    file: Path
    proc: str
    form: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    fills: tuple[tuple[str, Fill], ...] = ()
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    specialize: bool = False
    group: str = "suite"
    original: Original | None = None

    def fill(self, argument: str) -> Fill:
        return dict(self.fills).get(argument, Fill())

    def arguments(self, subject: Subject) -> tuple[Argument, ...]:
        """What every contender is called with."""
        return arguments(subject.ast, subject.binding, dict(self.fills))

    def load(self, threads: int = 1) -> Subject:
        """The procedure, bound. Raises UserError if it cannot be loaded."""
        sizes = dict(self.sizes)
        return load_subject(self.file, self.proc, sizes, None, threads, specialized=self.specialize)

    @property
    def python_peers(self) -> tuple[str, ...]:
        return (*(peer for peer in PYTHON_PEERS if peer not in self.without), *self.also)
