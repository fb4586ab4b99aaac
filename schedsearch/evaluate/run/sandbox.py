"""The sandbox, which keeps a kernel from harming the machine (runtime/sandbox.c), as far as this
system has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sandbox:
    """The layers that this system provides, besides limits and killing, which all do.

    `filtered`: system calls are (seccomp); `landlock`: version of Landlock, 0 for none;
    `unprivileged`: root's capabilities could be given up.
    """

    filtered: bool
    landlock: int
    unprivileged: bool

    @property
    def layers(self) -> tuple[str, ...]:
        landlock = f"files and TCP (Landlock {self.landlock})" if self.landlock else ""
        filtered = "system calls (seccomp)" if self.filtered else ""
        unprivileged = "no capabilities" if self.unprivileged else ""
        return tuple(filter(None, (filtered, landlock, unprivileged)))

    @property
    def warning(self) -> str | None:
        """Harm that candidates could do here; None if none. The filter alone refuses all of it,
        Landlock is a second guard.
        """
        if self.filtered:
            return None
        files = "" if self.landlock else "write your files, "
        return (
            f"incomplete sandbox: this system has no seccomp filters, so a candidate could {files}"
            "open sockets and start processes; limits and time-outs hold. "
            "A container may need its default seccomp profile back"
        )


NO_SANDBOX = Sandbox(filtered=False, landlock=0, unprivileged=False)


def parse_sandbox(words: list[str]) -> Sandbox:
    """From the numbers that `enter_sandbox` reports. Raises ValueError if they are not three."""
    filtered, landlock, unprivileged = map(int, words)
    return Sandbox(bool(filtered), landlock, bool(unprivileged))
