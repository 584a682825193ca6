"""Ctrl-C for the command ``privrank``: it ends at once with exit code 130 and one line, which reports what was spent.

Python's exception would do harm inside XLA: one in a trace or a compilation leaves objects behind whose destructors
crash when the interpreter ends, one in a callback is dropped, and none arrives before a compilation has ended. So the
system's handler writes a byte to a socket, and a thread reads it and ends the process.

**Sections.** Between spending a budget and showing its result, an interrupt waits, for at most ``GRACE`` seconds or
until the next Ctrl-C; if it stops waiting before the result is shown, the line says what happened to the budget.

Only the entry point calls :func:`install`. Elsewhere Python handles Ctrl-C, and nothing here has an effect.
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
from collections.abc import Callable, Iterator
from typing import ClassVar

GRACE = 1.0  # seconds that a section may take to finish
EXIT_CODE = 130
_SHOW_CURSOR = b"\x1b[?25h"


def install() -> None:
    """Let Ctrl-C end this process, unless it is ignored already; call it in the main thread, before heavy imports."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    threading.Thread(target=_watch, args=(ear, mouth), name="privrank-ctrl-c", daemon=True).start()
    signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, lambda *_: None)  # the thread does the work
    # Registered first, so called last: from then on the process ends anyway.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class _Command:
    """Facts on the running command that an interrupt must know."""

    lock = threading.RLock()
    words = ""  # printed after "interrupted"
    held = False  # a section runs
    pending = False  # an interrupt waits for its end
    leftovers: ClassVar[list[str]] = []
    endings: ClassVar[list[Callable[[], None]]] = []


_COMMAND = _Command()


def say(words: str) -> None:
    """Let an interrupt print ``words`` from now on."""
    with _COMMAND.lock:
        _COMMAND.words = words


def hold(words: str) -> None:
    """Begin or continue a section: an interrupt waits, and prints ``words`` if it stops waiting before the end."""
    with _COMMAND.lock:
        _COMMAND.held, _COMMAND.words = True, words


def release(words: str | None = None) -> None:
    """End a section: a waiting interrupt ends the process now; it, and any later one, prints ``words`` if given."""
    with _COMMAND.lock:
        _COMMAND.held = False
        if words is not None:
            _COMMAND.words = words
        if _COMMAND.pending:
            _leave()


@contextlib.contextmanager
def whole(cut: str, done: str) -> Iterator[None]:
    """Run a section, unless one runs: an interrupt that can't wait prints ``cut``, one after the end ``done``."""
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
    """Let an interrupt remove a temporary file or folder, if it exists."""
    with _COMMAND.lock:
        if os.fspath(path) not in _COMMAND.leftovers:
            _COMMAND.leftovers.append(os.fspath(path))


@contextlib.contextmanager
def ending(end: Callable[[], None]) -> Iterator[None]:
    """Let an interrupt call ``end``, which must not wait, while the body runs: for processes started here."""
    with _COMMAND.lock:
        _COMMAND.endings.append(end)
    try:
        yield
    except BaseException:
        end()
        raise
    finally:
        with _COMMAND.lock:
            _COMMAND.endings.remove(end)


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
    """Print the line and end the process. Keeps the lock, so that the line is printed once."""
    _COMMAND.lock.acquire(timeout=GRACE)
    for end in _COMMAND.endings:
        with contextlib.suppress(OSError):
            end()
    for path in _COMMAND.leftovers:
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    if os.environ.get("TERM", "dumb") != "dumb":
        _write(1, _SHOW_CURSOR, to_terminal=True)  # progress bars hide it
    _write(2, b"\n", to_terminal=True)  # ends the line on which the terminal has shown ^C
    words = f"privrank: interrupted{_COMMAND.words and '; '}{_COMMAND.words}\n"
    _write(2, words.encode("utf-8", "backslashreplace"))
    os._exit(EXIT_CODE)


def _write(handle: int, content: bytes, *, to_terminal: bool = False) -> None:
    """Write a line to a pipe; give up if the pipe is full."""
    with contextlib.suppress(OSError):
        if to_terminal and not os.isatty(handle):
            return
        if os.name == "nt" or select.select([], [handle], [], GRACE)[1]:  # there, for sockets only
            os.write(handle, content)
