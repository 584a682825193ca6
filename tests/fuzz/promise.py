"""The promise of the command line on whatever it is given, checked on one run in this process."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import warnings
from pathlib import Path
from typing import Any

import jax

from privrank_jax.release.ledger import Ledger, LedgerError, Spend
from tests.invoked import invoke

VIOLATED = 1  # of `privrank audit`
# What Python, NumPy, SQLite and JAX say to programmers.
_INSIDE = re.compile(
    r"Traceback|\[Errno|codec can't|invalid literal|cannot convert|could not convert|Python int too large|null byte|"
    r"np\.|Array\(|NoneType|object has no|RESOURCE_EXHAUSTED|Exceeds the limit|math domain|list index|not JSON|"
    r"p must be in the range|overflow|unhashable|jax|XLA|flint\.",
    re.I,
)
_SOLID_NAMES = re.compile(r"privrank[-_]jax")
_READ = re.compile(r"privrank: \S+: \S")
_ITEMS = re.compile(r"privrank: \S+: items \(\d+\): ")


@dataclasses.dataclass(frozen=True)
class Run:
    """What a command did."""

    arguments: list[str]
    code: int
    out: str
    err: str
    changed: dict[str, bytes | None]  # files made or altered, and None for those deleted
    spent: list[Spend]


def run(folder: Path, arguments: list[str], ledger: Path | None = None) -> Run:
    """Run ``privrank`` in ``folder``; an exception that escapes it, or a warning of Python's, is raised."""
    before, spent = _files(folder), _spends(ledger)
    with contextlib.chdir(folder), jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        result = invoke(arguments)
    after = _files(folder)
    changed = {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}  # fmt: skip
    now = _spends(ledger)
    assert now[: len(spent)] == spent, "a spend was altered"
    return Run(
        arguments, result.exit_code, result.stdout, result.stderr, changed, now[len(spent) :]
    )


def check(found: Run, out: str | None = None) -> Any:
    """Hold one run to the promise; ``out`` is the one file that it may write.

    Returns:
        The JSON document where one was printed, else None.
    """
    context = f"{found.arguments!r} -> {found.code}\n{found.out[-2000:]}\n{found.err[-2000:]}"
    assert found.code in (0, VIOLATED, 2), context
    assert found.code != VIOLATED or found.arguments[:1] == ["audit"], context
    if found.code == 2:
        assert found.out == "", f"output in spite of a refusal: {context}"
        assert not found.changed, f"{list(found.changed)} changed in spite of a refusal: {context}"
        assert not found.spent, f"spent in spite of a refusal: {context}"
        _explained(found.err, context)
        return None
    assert set(found.changed) <= {out}, f"{list(found.changed)} changed: {context}"
    assert all(one.state == "printed" for one in found.spent), context
    for line in found.err.splitlines():
        assert line.startswith(("Warning: ", "privrank: ")), context
    assert found.out, context
    if "--json" not in found.arguments:
        assert all(c.isprintable() for c in found.out.replace("\n", "")), context
        return None
    document = json.loads(found.out, parse_constant=_no_constant)
    json.dumps(document, allow_nan=False)  # 1e999 would be read as infinite
    return document


def _explained(message: str, context: str) -> None:
    """Warnings, what each file was read as, then one paragraph, or a usage error of the parser of options."""
    lines = [line for line in message.splitlines() if not line.startswith("Warning: ")]
    assert lines, f"no message: {context}"
    if lines[0].startswith("Usage:"):
        assert any("Error" in line for line in lines), context
        return
    *read, last = lines
    assert all(_READ.match(line) for line in read), f"{len(lines)} paragraphs: {context}"
    assert not _ITEMS.match(last), f"no message: {context}"
    assert last.startswith("privrank: "), context
    words = last.removeprefix("privrank: ")
    assert len(words.split()) >= 4, f"hardly an explanation: {context}"
    assert words.isprintable(), f"control characters: {context}"
    inside = _INSIDE.search(_SOLID_NAMES.sub("", words))
    assert inside is None, f"{inside}: {context}"


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not valid JSON")


def _files(folder: Path) -> dict[str, bytes]:
    """Content of all that lies below; ledgers are compared by what they say."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"no file"
        for path in sorted(folder.rglob("*"))
        if path.suffix != ".ledger"
    }


def _spends(ledger: Path | None) -> list[Spend]:
    if ledger is None:
        return []
    try:
        with Ledger(ledger) as opened:
            return opened.spends()
    except LedgerError:
        return []
