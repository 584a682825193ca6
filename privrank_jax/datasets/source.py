"""Where the files of the named data sets come from, and the checksum that each must have.

No data file is part of this package. A file is read from the folder that the caller gives, else
from the folder ``PRIVRANK_DATA``, else, where its authors publish it in this very form, fetched
once and cached by `pooch` (extra ``data``).
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from privrank_jax.datasets.table import DataError

_CARS = (
    "https://raw.githubusercontent.com/Xokker/ceteris-paribus/"
    "fe8a3d37acc2de1a04682e1eb6960cc780eb5f58/src/main/resources"
)


class _File(NamedTuple):
    sha256: str
    url: str | None  # None: published only in another form (R data), so it cannot be fetched


FILES = {
    "cars/items1.csv": _File(
        "36d82ef97ca8c52bf51c5fe8b3b5c0f3848ebc39f9bc162d0768c3a426db2a66",
        f"{_CARS}/exp1-prefs/items1.csv",
    ),
    "cars/items2.csv": _File(
        "94e980de9855493e1980cd4356fd77070d7fb3555e98cb26ef7d97a4fb39b87e",
        f"{_CARS}/exp2-prefs/items2.csv",
    ),
    "cars/prefs1.csv": _File(
        "084c79bed795f25456fd41d34f7ea0b74ad2e3c848460a655b50b863cead3fd1",
        f"{_CARS}/exp1-prefs/prefs1.csv",
    ),
    "cars/prefs2.csv": _File(
        "602ebb67591b1d53ab6f37e8bced39a71e5beb89a8d9259138ac13bb58573094",
        f"{_CARS}/exp2-prefs/prefs2.csv",
    ),
    "cemspc/cemspc.csv": _File(
        "a61dce2f111f1a6383d5ae2ff5dc5481636d9d2ce737b7a7d0e0ca94b979b2c1", None
    ),
    "immig/immig.csv": _File(
        "0ac9c848c237926dd1f50a520f188c1883112013e77fb68ba7d0880089028e42", None
    ),
}


def read(file: str, folder: str | os.PathLike[str] | None = None) -> str:
    """Text of a public data file, its checksum verified.

    Args:
        file: a key of ``FILES``, such as ``"cars/prefs1.csv"``.
        folder: where to look for ``file``; default the environment variable ``PRIVRANK_DATA``, and
            without that the file is fetched from its authors.

    Raises:
        DataError: the file is absent, cannot be fetched, or is not the one that the checksum names.
    """
    expected, url = FILES[file]
    folder = folder or os.environ.get("PRIVRANK_DATA")
    if folder:
        path = Path(folder) / file
        hint = "set PRIVRANK_DATA to the folder that holds it"
        if url:
            hint += ", or unset it to fetch the public file"
    elif url is None:
        raise DataError(
            f"{file}: this file has no public copy in this form to fetch. Put it into a folder as "
            f"{file} (sha256 {expected}) and set PRIVRANK_DATA to that folder"
        )
    else:
        path = _fetch(file, url, expected)
        hint = _by_hand(file, url)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror or error}): {hint}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{path} is not the published file: sha256 expected {expected}, found {found}. Restore "
            "the original, byte for byte (line endings count)"
        )
    return content.decode("utf-8")


def _by_hand(file: str, url: str) -> str:
    return f"download {url} into a folder as {file} and set PRIVRANK_DATA to that folder"


def _fetch(file: str, url: str, sha256: str) -> Path:
    by_hand = _by_hand(file, url)
    try:
        import pooch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DataError(
            f'{file}: fetching it needs pooch: pip install "privrank-jax[data]", or {by_hand}'
        ) from error
    try:
        path = pooch.retrieve(
            url,
            known_hash=f"sha256:{sha256}",
            fname=file.replace("/", "-"),
            path=pooch.os_cache("privrank_jax"),
        )
    except (OSError, ValueError) as error:  # no network; another file at that address
        raise DataError(f"{file}: fetching it failed ({error}). You can {by_hand}") from error
    return Path(path)
