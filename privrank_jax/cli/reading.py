"""The argument FILE, read as the options say."""

from __future__ import annotations

from typing import Any

from privrank_jax.cli.console import say, warn
from privrank_jax.cli.request import Release
from privrank_jax.data.errors import quoted, short
from privrank_jax.data.reader import header_of, named_sets, read_told
from privrank_jax.jobs.checks import private_remark

_FEW, _PAIRS = 12, 3  # items, and pairs of users, that are named when a file was read


def read_data(request: Release, *kinds: str, **changed: Any) -> Any:
    """Read FILE, of one of these kinds, with roles that the command ``changed``; say on stderr what was recognized."""
    data = read_told(request.file, request.told | changed, kinds=kinds, **request.text)
    if request.source not in named_sets():  # which are no news
        say_reading(data)
    return data


def header_read(request: Release) -> list[str]:
    """Names of the columns of FILE; none of a named data set, or of a file of which reading says what is wrong."""
    return [] if request.source in named_sets() else header_of(request.file, request.text["sheet"])


def no_users(request: Any) -> dict[str, None]:
    """Users are not read where each comparison is protected by itself."""
    alone = request.user is None and request.private and request.unit == "comparison"
    return {"user": None} if alone and request.source not in named_sets() else {}


def say_reading(data: Any) -> None:
    """Say on stderr what was recognized in the form of a file, its items, and whose names may be two for one."""
    say(*(f"{data.name}: {one}." for one in getattr(data, "reading", ())))
    if names := getattr(data, "item_names", ()):
        few = ", ".join(map(short, names[:_FEW])) + ", …" * (len(names) > _FEW)
        say(f"{data.name}: items ({len(names)}): {few}")
    if alike := getattr(data, "users_alike", ()):
        pairs = "; ".join(f"{quoted(one)} and {quoted(two)}" for one, two in alike[:_PAIRS])
        told = (
            f"{data.name}: {pairs} differ by case or accents alone, and count as users of their own. If they are one, "
            "the guarantee covers each of their answers, but epsilon counts twice: spell a user one way throughout."
        )
        warn(*private_remark(told))
