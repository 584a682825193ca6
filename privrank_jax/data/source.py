"""Sources of the named data sets, and the checksum that each file must have.

The made-up data ``coffee`` are part of this package; no other data file is. Any other is read from the folder that the
caller gives, else from the folder ``PRIVRANK_DATA``, else, where its authors publish it in this very form, fetched
once and cached by `pooch` (extra ``data``).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from privrank_jax.data.errors import DataError

_CARS = (
    "https://raw.githubusercontent.com/Xokker/ceteris-paribus/"
    "fe8a3d37acc2de1a04682e1eb6960cc780eb5f58/src/main/resources"
)
_PREFLIB = (
    "https://raw.githubusercontent.com/fleverest/PrefLib-Data/"
    "e70f12c3f1ee0dfa6f7974618522df0aa4ce9d91/datasets"
)


class _File(NamedTuple):
    sha256: str
    url: str | None = None  # None: published only in another form (R data), so it cannot be fetched
    package: str = ""  # the R package that holds it, where there is no URL


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
        "a61dce2f111f1a6383d5ae2ff5dc5481636d9d2ce737b7a7d0e0ca94b979b2c1",
        package="prefmod",
    ),
    "immig/immig.csv": _File(
        "0ac9c848c237926dd1f50a520f188c1883112013e77fb68ba7d0880089028e42",
        package="prefmod",
    ),
    "apa/d_apa_1980.csv": _File(
        "2732dc402fcf7b02bdcf9ffa20da6a5e372f7703f8d61e335d5f7ac887415dc3",
        package="PLMIX",
    ),
    "apa/preflib/00028-00000001.soi": _File(
        "968a8d934b90480b565b79a7f2533f449f04eff0d6b999108b7b68bcec75a3e7",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000001.soi",
    ),
    "apa/preflib/00028-00000002.soi": _File(
        "6df10534c5432a9050101b18e6b6fe64e53d697bca033d34f1de018fa009b69c",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000002.soi",
    ),
    "apa/preflib/00028-00000003.soi": _File(
        "85d7ddc613326e4fc82e32c25c1f0aaf06ccfb4f9e5d0a10b5ae9879e2cb2f3d",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000003.soi",
    ),
    "apa/preflib/00028-00000004.soi": _File(
        "feefe893ed0e21421fccc4505899fa0da57a2458cc1875d206ba4845263357d9",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000004.soi",
    ),
    "apa/preflib/00028-00000005.soi": _File(
        "180540578b1a655f9b8314a78027fec91d5547d41c295bad319d41f96f7d798d",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000005.soi",
    ),
    "apa/preflib/00028-00000006.soi": _File(
        "9111ae296ed1ba7a6ce9dcf5e00082e071cc4ef966db638edef0c5d070d75344",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000006.soi",
    ),
    "apa/preflib/00028-00000007.soi": _File(
        "daf4e4a74d03785aee4a95bdb4fa74a3d9de907a94e453857e335544028bf8a8",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000007.soi",
    ),
    "apa/preflib/00028-00000008.soi": _File(
        "711d5d8601a54d32dfe2a8c5f5893afc67e543c679ca158978866789f559f3de",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000008.soi",
    ),
    "apa/preflib/00028-00000009.soi": _File(
        "0ec5cf0bcc4ee53637c48e87d169bca675850ec1dad27481bcd28ade4ecec1f6",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000009.soi",
    ),
    "apa/preflib/00028-00000010.soi": _File(
        "135824f877d7475684b141f290c1fcaf5b2129b4731d3645cdc7bb719a533d5d",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000010.soi",
    ),
    "apa/preflib/00028-00000011.soi": _File(
        "abc2b728395d7ac2e3fcd9d9775b1b28e4ddc35b70df6b9e871afb64dd3e5c13",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000011.soi",
    ),
    "apa/preflib/00028-00000012.soi": _File(
        "891bfa7ce7dd8ffb0a36f9755f63b90eb71319c0545c6e92283e9b9f8ff84457",
        f"{_PREFLIB}/00028%20-%20apa/00028-00000012.soi",
    ),
    "aspen/00016-00000001.toi": _File(
        "1cc59f19adf5b9a456bfd277eb5ce29e4a23a5f50df1a15e41ca5a93fa81faf6",
        f"{_PREFLIB}/00016%20-%20aspen/00016-00000001.toi",
    ),
    "aspen/00016-00000002.toi": _File(
        "99c259e173fd21be0b6e9ef92503e8a28b5825eee62a02183370890be97c82cd",
        f"{_PREFLIB}/00016%20-%20aspen/00016-00000002.toi",
    ),
    "german/d_german.csv": _File(
        "a89214f087df272581da512d994dbccfad9205fa28f73a04154f9d27d7f35ada",
        package="PLMIX",
    ),
    "nascar/drivers.csv": _File(
        "bb768a289b1aa622444edbf8eb534aca69d7a60f75e782e85588332289a2d637",
        package="PlackettLuce",
    ),
    "nascar/nascar.csv": _File(
        "4b783a893ac5716f54c8fda08dbdd3a1340e85b365535d7302e4209ff48f92a4",
        package="PlackettLuce",
    ),
    "potato/potato_true_ranking.csv": _File(
        "9af9361975b129a7ccc8aed46b6b10e6b0154458c95728390f5efb607a42f9f0",
        package="BayesMallows",
    ),
    "potato/potato_visual.csv": _File(
        "f5945ca58a13858eb8ab49c05c25a1f5fbf8de9dba7c45e0ee12238569c3738b",
        package="BayesMallows",
    ),
    "potato/potato_weighing.csv": _File(
        "d9b298e6c85bb22de1db30246a8041badd171a33863b5cbb656714a4dc49a732",
        package="BayesMallows",
    ),
    "salad/salad.csv": _File(
        "3b0bcb2c0adb4043660d0d76d48eb13c34a858655f35195670d84d2cb44787f4",
        package="prefmod",
    ),
    "sushi/sushi_rankings.csv": _File(
        "fe1bd84f22480c409779b1c5d95986ccdf57b8a923bc1518e91d1ea6490f6d69",
        package="BayesMallows",
    ),
}

_PACKAGED = {
    "coffee/comparisons.csv": "e63d47b5b8167b9420f351063397ce281c086fca07f86bdc05407bf9888571e4",
    "coffee/rankings.csv": "591e22cb983ed9a102baf2e6329b561c57a78316bb36d8d8db4ffb7b56653de2",
}


def packaged(file: str) -> Path:
    """Path of a data file that is part of this package, its checksum verified.

    Args:
        file: ``"coffee/comparisons.csv"`` or ``"coffee/rankings.csv"``.

    Raises:
        DataError: the file was changed.
    """
    path = Path(__file__).parent / file
    _check(path, path.read_bytes(), _PACKAGED[file])
    return path


def read(file: str, folder: str | os.PathLike[str] | None = None) -> str:
    """Text of a public data file, its checksum verified.

    Args:
        file: a key of ``FILES``, such as ``"cars/prefs1.csv"``.
        folder: where to look for ``file``; default the environment variable ``PRIVRANK_DATA``, and
            without that the file is fetched from its authors.

    Raises:
        DataError: the file is absent, cannot be fetched, or is not the one that the checksum names.
    """
    expected, url, package = FILES[file]
    folder = folder or os.environ.get("PRIVRANK_DATA")
    if folder:
        path = Path(folder) / file
        hint = "set PRIVRANK_DATA to the folder that holds it"
        if url:
            hint += ", or unset it to fetch the public file"
    elif url is None:
        raise DataError(
            f"{file}: this file has no public copy in this form to fetch. Take it from the R package {package}, put "
            f"it into a folder as {file} (sha256 {expected}) and set PRIVRANK_DATA to that folder"
        )
    else:
        path = _fetch(file, url, expected)
        hint = _by_hand(file, url)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror or error}): {hint}") from error
    _check(path, content, expected)
    return content.decode("utf-8")


def not_fetched(name: str) -> dict[str, str]:
    """The files of a named set that have no public copy to fetch, each with the R package that holds it.

    Args:
        name: the folder of the set, such as ``"sushi"``.
    """
    files = {file: known for file, known in FILES.items() if file.partition("/")[0] == name}
    return {file: known.package for file, known in files.items() if known.url is None}


def _check(path: Path, content: bytes, expected: str) -> None:
    """Refuse a file that is not the published one; record the checksum of one that is."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{path} is not the published file: sha256 expected {expected}, found {found}. Restore "
            "the original, byte for byte (line endings count)"
        )
    for checksums in _RECORDS:
        checksums.add(found)


@contextlib.contextmanager
def recorded() -> Iterator[set[str]]:
    """The SHA-256 of each file that is read inside."""
    checksums: set[str] = set()
    _RECORDS.append(checksums)
    try:
        yield checksums
    finally:
        _RECORDS.pop()


_RECORDS: list[set[str]] = []


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
