"""What is checked of tables that loaders return."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.data import readers

PARQUET_LOADERS = (
    readers.read_comparisons, readers.read_rankings, readers.read_reports, readers.read_synthetic_rankings,
    lambda path: readers.read_user_epsilon(path, "budget", "user"),
)  # fmt: skip

QUICK, THOROUGH = 20, 1_000  # files of each kind


def tiers(quick: int, thorough: int = THOROUGH) -> pytest.MarkDecorator:
    """How many ``examples`` a test has: in the quick tier, and in the thorough one."""
    many = pytest.param(thorough, marks=pytest.mark.slow)
    return pytest.mark.parametrize("examples", [quick, many])


def _plain(message: str, path: Path) -> None:
    """A refusal that names the file, or the list of items, and speaks of it, not of the inside of Python."""
    assert path.name in message or message.startswith("`items` ")
    assert not re.search(
        r"\[Errno|codec|invalid literal|cannot convert|could not convert|out of range|too large to convert|"
        r"null byte|np\.|array\(|NoneType|Exceeds the limit",
        message.replace(path.name, "").split("(")[0],
    ), message


def _names(names) -> None:
    assert len(set(names)) == len(names)
    assert all(name.strip() for name in names)
