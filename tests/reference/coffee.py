"""The model from which the data set ``coffee`` was drawn; ``python -m tests.reference.coffee`` writes its files anew.

200 tasters do not exist. Taster u likes coffee i by s_ui = quality_i + 0.8 e_ui, with logistic e_ui. All are asked all
15 pairs in an order of their own, over three weeks: a second cup in a pair tastes 0.25 worse; two cups tie with
the odds of Davidson's model, ν = 0.25; 5 % of the answers are missing. Then all rank the six coffees, with new logistic
noise of scale 0.5. All draws are ``random.Random(SEED).random()``, which every version of Python draws alike.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from pathlib import Path

SEED = 2026
TASTERS = 200
DAYS = 21
MONDAY = datetime.date(2026, 3, 2)
QUALITY = {
    "Antigua": 0.2,
    "Harrar": 0.5,
    "Huila": 0.9,
    "Santos": -0.7,
    "Tarrazu": 0.1,
    "Yirga": 1.1,
}
TASTE, FIRST, TIE, MISSING, RANKING = 0.8, 0.25, 0.25, 0.05, 0.5

Row = tuple[str, ...]


def files() -> dict[str, str]:
    """Text of each file, by its name."""
    comparisons, rankings = tables()
    return {
        "comparisons.csv": _text(("user", "winner", "loser", "tie", "first", "day"), comparisons),
        "rankings.csv": _text(("user", *QUALITY), rankings),
    }


def tables() -> tuple[list[Row], list[Row]]:
    """Rows of the comparisons and of the rankings."""
    draws = random.Random(SEED)
    comparisons: list[Row] = []
    rankings: list[Row] = []
    for number in range(1, TASTERS + 1):
        user = f"t{number:03}"
        liking = {item: q + TASTE * _logistic(draws) for item, q in QUALITY.items()}
        pairs = list(itertools.combinations(QUALITY, 2))
        while pairs:
            first, second = pairs.pop(int(draws.random() * len(pairs)))
            if draws.random() < 0.5:
                first, second = second, first
            day = MONDAY + datetime.timedelta(int(draws.random() * DAYS))
            answer = _answer(liking[first] - liking[second] + FIRST, draws)
            if draws.random() >= MISSING:
                won, lost = (second, first) if answer == "second" else (first, second)
                tie = "yes" if answer == "tie" else "no"
                comparisons.append((user, won, lost, tie, first, day.isoformat()))
        heard = {item: score + RANKING * _logistic(draws) for item, score in liking.items()}
        order = sorted(heard, key=heard.__getitem__, reverse=True)
        rankings.append((user, *(str(order.index(item) + 1) for item in QUALITY)))
    return comparisons, rankings


def _logistic(draws: random.Random) -> float:
    share = draws.random()
    return math.log(share / (1 - share))


def _answer(difference: float, draws: random.Random) -> str:
    """Which of two cups is preferred, by Davidson's model of ties."""
    first, tie = math.exp(difference / 2), TIE
    second = 1 / first
    place = draws.random() * (first + tie + second)
    if place < first:
        return "first"
    return "tie" if place < first + tie else "second"


def _text(header: Row, rows: list[Row]) -> str:
    return "".join(",".join(row) + "\n" for row in (header, *rows))


if __name__ == "__main__":
    import privrank_jax

    folder = Path(privrank_jax.__file__).parent / "datasets" / "coffee"
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
