"""Ctrl-C for the command ``privrank``: one line, exit code 130, at once, and nothing spent without a word.

Python turns Ctrl-C into an exception in the main thread, wherever that is. Inside XLA that does harm: an exception
that passes through a trace or a compilation leaves objects behind whose destructors crash when the interpreter ends
(segmentation fault), one inside a callback is dropped (the command goes on), and none arrives before a compilation
has ended. So the command doesn't use exceptions. The system's handler writes a byte to a socket, a thread of its own
reads it and ends the process, wherever the main thread is.

**Sections.** From the spending of a budget until its result was shown, an interrupt waits, ``GRACE`` seconds at most or
until the next Ctrl-C; if it can't wait any longer, the line says what became of the budget.

Only the entry point calls :func:`install`. Elsewhere, in notebooks and tests, Ctrl-C is Python's, and what is noted
here has no effect.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import shutil
import signal
import socket
import threading
from collections.abc import Iterator

GRACE = 1.0  # seconds that a section may take to its end
EXIT_CODE = 130
_SHOW_CURSOR = b"\x1b[?25h"


def install() -> None:
    """Let Ctrl-C end this process; to be called in the main thread, before anything heavy is imported.

    Nothing changes where Ctrl-C is ignored already, as for a job in the background.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    threading.Thread(target=_watch, args=(ear, mouth), name="privrank-ctrl-c", daemon=True).start()
    signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)  # the thread does the work
    # Registered first, so called last: from then on, the process ends anyway.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class _Command:
    """What an interrupt must know of the running command."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.words = ""  # to be said after "interrupted"
        self.held = False  # a section runs
        self.pending = False  # an interrupt waits for its end
        self.leftovers: list[str] = []


_COMMAND = _Command()


def say(words: str) -> None:
    """Have an interrupt say ``words`` from now on."""
    with _COMMAND.lock:
        _COMMAND.words = words


def hold(words: str) -> None:
    """Begin a section, or go on with it: an interrupt waits, and says ``words`` where it waits no longer."""
    with _COMMAND.lock:
        _COMMAND.held, _COMMAND.words = True, words


def release(words: str | None = None) -> None:
    """End a section: an interrupt that waits ends the process now; it, and any later one, says ``words`` if given."""
    with _COMMAND.lock:
        _COMMAND.held = False
        if words is not None:
            _COMMAND.words = words
        if _COMMAND.pending:
            _leave()


@contextlib.contextmanager
def whole(cut: str, done: str) -> Iterator[None]:
    """A section of its own, unless one runs already.

    Args:
        cut: what an interrupt says that can't wait for the end.
        done: what it says after the end.
    """
    with _COMMAND.lock:
        within, before = _COMMAND.held, _COMMAND.words
        if not within:
            hold(cut)
    finished = False
    try:
        yield
        finished = True
    finally:
        if not within:
            release(done if finished else before)


def remove_on_interrupt(path: str | os.PathLike[str]) -> None:
    """Have an interrupt remove a temporary file or folder, if it is there."""
    with _COMMAND.lock:
        if os.fspath(path) not in _COMMAND.leftovers:
            _COMMAND.leftovers.append(os.fspath(path))


def _watch(ear: socket.socket, mouth: socket.socket) -> None:
    """Wait for Ctrl-C, then for the end of a section, then end the process."""
    del mouth  # only kept open
    while ear.recv(1)[0] != signal.SIGINT:
        pass
    with _COMMAND.lock:
        _COMMAND.pending = held = _COMMAND.held
    if held:
        select.select([ear], [], [], GRACE)
    _leave()


def _leave() -> None:
    """Say so and go. Keeps the lock, so that it is said once."""
    _COMMAND.lock.acquire(timeout=GRACE)
    for path in _COMMAND.leftovers:
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    if os.environ.get("TERM", "dumb") != "dumb":
        _write(1, _SHOW_CURSOR, to_terminal=True)  # progress bars hide it
    _write(2, b"\n", to_terminal=True)  # ends the line on which it has shown ^C
    words = f"privrank: interrupted{_COMMAND.words and '; '}{_COMMAND.words}\n"
    _write(2, words.encode("utf-8", "backslashreplace"))
    os._exit(EXIT_CODE)


def _write(handle: int, content: bytes, *, to_terminal: bool = False) -> None:
    """Write a line that fits into a pipe, unless nobody empties that."""
    with contextlib.suppress(OSError):
        if to_terminal and not os.isatty(handle):
            return
        if os.name == "nt" or select.select([], [handle], [], GRACE)[1]:  # there, for sockets only
            os.write(handle, content)
