"""Locks around kernels with static memory, in C: one call at a time passes.

A process may be forked while another of its threads is in such a call. The child has no such
thread, so nothing would unlock its copy of the mutex. Hence `fork` waits for calls to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

INCLUDE = "#include <pthread.h>"


def declared(mutexes: Sequence[str]) -> Iterator[str]:
    """Lines that define mutexes. Calls hold one of them, never two."""
    for mutex in mutexes:
        yield f"static pthread_mutex_t {mutex} = PTHREAD_MUTEX_INITIALIZER;"
    for what, order in [("lock", mutexes), ("unlock", mutexes[::-1])]:
        yield f"static void schedsearch_{what}(void)"
        yield "{"
        yield from (f"    pthread_mutex_{what}(&{mutex});" for mutex in order)
        yield "}"
    yield "__attribute__((constructor)) static void schedsearch_mind_forks(void)"
    yield "{"
    yield "    pthread_atfork(schedsearch_lock, schedsearch_unlock, schedsearch_unlock);"
    yield "}"


def around(mutex: str, call: str) -> Iterator[str]:
    """Lines that make a call while no other one is made."""
    yield f"pthread_mutex_lock(&{mutex});"
    yield call
    yield f"pthread_mutex_unlock(&{mutex});"
