"""Rows of the public data sets, in the folder of data."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest


def data(*parts):
    """Rows of a file in the folder of data, as dicts; the test is skipped where there is none."""
    folder = os.environ.get("PRIVRANK_DATA")
    path = Path(folder or "", *parts)
    if not folder or not path.exists():
        pytest.skip("needs the folder of data")
    with path.open() as file:
        return list(csv.DictReader(file))
