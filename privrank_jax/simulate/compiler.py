"""Programs compiled in another thread while others run, those with the most work first.

With two machines, one that compiles and one that runs, and jobs that take about as long to compile, the time that the
second waits for the first is least if the jobs that run longest come first (Johnson 1954): the last ones then are
compiled by the time that they are to run.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any


class Compiler:
    """A thread that takes the task with the most work of those that wait."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "privrank-compile")
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
        self._thread.submit(self._next)
        return found

    def close(self) -> None:
        """Drop the tasks that wait; the one under way goes on."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> None:
        with self._lock:
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
