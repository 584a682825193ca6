"""A small file of votes."""

from __future__ import annotations

from pathlib import Path

GOOD = "user,winner,loser,tie\nann,Oslo,Paris,0\nbob,Paris,Rome,1\nann,Oslo,Rome,\n"
HEAD = "user,winner,loser,tie\n"


def written(tmp_path: Path, content: str | bytes, name: str = "votes.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
