"""Files of votes that tests write."""

from __future__ import annotations

from pathlib import Path


def written(tmp_path: Path, content: str | bytes, name: str = "votes.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
