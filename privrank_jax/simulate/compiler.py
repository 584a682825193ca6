"""Programs compiled in other threads while others run, those with the most work first.

With two machines, one that compiles and one that runs, and jobs that take about as long to compile, the time that the
second waits for the first is least if the jobs that run longest come first (Johnson 1954): the last ones then are
compiled by the time that they are to run.

A third of the processor time that XLA takes for a program is that of one thread, while the other core waits (5 of 16 s
for the larger programs of ``alabi-central``). So two programs are compiled at once where there are two cores. While
others are still traced, there is one less: nothing runs before the last of them is, and tracing keeps one core busy.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from privrank_jax._backend import processors


def threads() -> int:
    """How many programs to compile at once on this machine: two, or one where there is one core."""
    return min(2, processors())


class Compiler:
    """Threads that each take the task with the most work of those that wait; one of several rests until all are given.

    Args:
        threads: how many.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = ThreadPoolExecutor(threads, "privrank-compile")
        self._resting = threads > 1
        self._free = threading.Semaphore(threads - self._resting)
        self._lock, self._number = threading.Lock(), itertools.count()
        self._tasks: list[tuple[float, int, Callable[[], Any], Future[Any]]] = []

    def submit(self, work: float, task: Callable[[], Any]) -> Future[Any]:
        """Add a task; its result, or what it raises.

        Args:
            work: of the program once it is compiled, in any unit; of equal ones, the first comes first.
            task: compiles the program.
        """
        found: Future[Any] = Future()
        with self._lock:
            heapq.heappush(self._tasks, (-work, next(self._number), task, found))
        self._threads.submit(self._next)
        return found

    def all_given(self) -> None:
        """Let all threads work, as no more tasks are prepared beside them."""
        if self._resting:
            self._resting = False
            self._free.release()

    def close(self) -> None:
        """Drop the tasks that wait; those under way go on."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._tasks.clear()
        self.all_given()

    def _next(self) -> None:
        with self._free:
            self._take()

    def _take(self) -> None:
        with self._lock:
            if not self._tasks:  # closed
                return
            *_, task, found = heapq.heappop(self._tasks)
        try:
            found.set_result(task())
        except BaseException as error:  # raised where the result is wanted
            found.set_exception(error)


def first_done(tasks: list[tuple[float, Future[Any] | None]]) -> int:
    """The place of a task that is done, or was never submitted; waits for one if there is none.

    Args:
        tasks: work and result of each, at least one; of several that are done, the one with the most work counts, and
            before all the first that was not submitted.
    """
    for place, (_, found) in enumerate(tasks):
        if found is None:
            return place
    wait([found for _, found in tasks if found is not None], return_when=FIRST_COMPLETED)
    done = [place for place, (_, found) in enumerate(tasks) if found is not None and found.done()]
    return max(done, key=lambda place: tasks[place][0])
