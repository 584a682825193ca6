"""Small files of votes, of which some have a column of counts."""

from __future__ import annotations

import csv
import io

WINNERS = "user,winner,loser,tie,n\nu,a,b,0,3\nv,b,a,1,2\nu,c,a,,0\nw,c,b,,1\nu,b,a,,2\n"
CHOICES = "user,chosen,shown,n\nu,a,a|b,2\nv,c,a|b|c,3\nw,d,d|a,0\n"
SCORED = {"left_score": "home", "right_score": "away"}


def longer(text: str, count: str = "n") -> str:
    """Each row as often as it counts."""
    header, *rows = csv.reader(io.StringIO(text))
    at = header.index(count)
    written_out = [row for row in rows for _ in range(int(row[at]))]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        row[:at] + row[at + 1 :] for row in [header, *written_out]
    )
    return out.getvalue()
