"""A page opened in headless Chromium through its DevTools protocol: what it loads, what goes wrong, how wide it is.

``python -m tests.chromium PAGE.html FOLDER`` writes pictures of a page at the widths of a phone and of a desk.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PHONE, DESK = 360, 1280  # pixels
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
# Chromium reads commands from its file 3 and answers on its file 4.
_START = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_WIDTH = "document.fonts.ready.then(() => document.documentElement.scrollWidth)"
_PATIENCE = 60.0  # seconds


def program() -> str | None:
    """Path of Chromium, if it is installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@dataclass
class Seen:
    """What happened while a page was opened."""

    width: int
    """of the content, in pixels"""
    requests: list[str] = field(default_factory=list)
    """addresses of what was loaded, the page itself left out"""
    errors: list[str] = field(default_factory=list)
    """errors and warnings on the console, exceptions of scripts, and what could not be loaded"""


class Browser:
    """A running Chromium with one page."""

    def __init__(self, commands: int, answers: int):
        self._commands, self._answers = commands, answers
        self._unread = b""
        self._last = 0
        self._session: dict[str, str] = {}
        self._events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        found = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": found["sessionId"]}
        for part in ("Page", "Network", "Runtime", "Log"):
            self._ask(f"{part}.enable")

    def open(self, page: Path, width: int) -> Seen:
        """Open a file in a window of this width, in pixels, and wait until it is loaded."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self._ask("Emulation.setDeviceMetricsOverride", **size)
        self._events.clear()
        address = page.resolve().as_uri()
        self._ask("Page.navigate", url=address)
        while all(event["method"] != "Page.loadEventFired" for event in self._events):
            self._events.append(self._read())
        found = self._ask("Runtime.evaluate", expression=_WIDTH, awaitPromise=True)
        seen = Seen(found["result"]["value"])
        for event in self._events:
            _note(seen, event["method"], event["params"], address)
        return seen

    def picture(self) -> bytes:
        """The whole page that is open, as a PNG."""
        found = self._ask("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters, **self._session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self._events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = os.read(self._answers, 1 << 16)
            assert more, "Chromium ended"
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


def _note(seen: Seen, method: str, about: dict[str, Any], address: str) -> None:
    if method == "Network.requestWillBeSent" and about["request"]["url"] != address:
        seen.requests.append(about["request"]["url"])
    elif method == "Network.loadingFailed":
        seen.errors.append(about["errorText"])
    elif method == "Runtime.exceptionThrown":
        seen.errors.append(str(about["exceptionDetails"]))
    elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
        seen.errors.append(str(about["args"]))
    elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
        seen.errors.append(about["entry"]["text"])


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """Start Chromium for the block, with nothing remembered."""
    (theirs, commands), (answers, back) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        flags = (*_FLAGS, f"--user-data-dir={folder}")
        process = subprocess.Popen(
            [sys.executable, "-c", _START, str(theirs), str(back), path, *flags],
            pass_fds=(theirs, back),
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(back)
        try:
            yield Browser(commands, answers)
        finally:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
            os.close(commands)
            os.close(answers)


def main(page: str, folder: str) -> None:
    """Write pictures of a page at two widths."""
    path = program()
    if path is None:
        sys.exit(f"no Chromium: none of {', '.join(_NAMES)} is installed")
    with browser(path) as chromium:
        for width in (PHONE, DESK):
            print(chromium.open(Path(page), width))
            Path(folder, f"{Path(page).stem}-{width}.png").write_bytes(chromium.picture())


if __name__ == "__main__":
    main(*sys.argv[1:])
