"""Files for tests of readers."""

from __future__ import annotations

HEAD = "user,winner,loser,tie\n"
GOOD = HEAD + "ann,Oslo,Paris,0\nbob,Paris,Rome,1\nann,Oslo,Rome,\n"


def written(folder, content, name="votes.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
