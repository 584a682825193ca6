"""Games of the public data sets, in the folder of data."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest


def data(*parts):
    """Rows of a file in the folder of data, as dicts; the test is skipped where there is none."""
    folder = os.environ.get("PRIVRANK_DATA")
    path = Path(folder or "", *parts)
    if not folder or not path.exists():
        pytest.skip("needs the folder of data")
    with path.open() as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Games:
    """Games with the home team first.

    Attributes:
        names: of the teams.
        pairs: ``(N, 2)``, home team (or opponent on neutral ground) and visitor.
        won: ``(N,)``, 1 where the first team won, 1/2 for a draw.
        home: ``(N,)``, 1 where the first team was at home.
    """

    names: list[str]
    pairs: np.ndarray
    won: np.ndarray
    home: np.ndarray


def public_games(name):
    """``icehockey`` or ``football``."""
    rows = data(name, f"{name}.csv")
    hockey = name == "icehockey"
    first, second = ("opponent", "visitor") if hockey else ("home", "away")
    names = sorted({row[first] for row in rows} | {row[second] for row in rows})
    pairs = np.array([[names.index(row[first]), names.index(row[second])] for row in rows])
    result = np.array([float(row["result"]) for row in rows])
    if hockey:
        home = np.array([row["home.ice"] == "True" for row in rows], float)
        return Games(names, pairs, 1 - result, home)
    return Games(names, pairs, (1 + result) / 2, np.ones(len(rows)))
