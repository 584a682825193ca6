"""``privrank demo``: four voters ranked privately, then a study of what privacy costs."""

from __future__ import annotations

import dataclasses
import math
import time
from pathlib import Path

from privrank_jax.cli import hardware
from privrank_jax.cli.console import check_folder, check_seed, print_json, print_paragraphs, saved
from privrank_jax.cli.options import Json, Seed, command


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Seed, Json):
    """The options of one run.

    Attributes:
        out: folder where the pictures go; made if absent.
        attack: read one person's answers off exact rankings, and guess them from private ones.
    """

    out: Path = Path("privrank-results")
    attack: bool = False


@command
def demo(request: Request) -> None:
    """See private ranking at work on data that come with the program.

    First the four voters of Alabi et al., Table 1, ranked with and without privacy; then 1,000 simulated surveys for
    each of several privacy budgets, run as one batched program, with a table and a picture. Takes less than a minute.
    With --attack it shows what exact rankings reveal of one person, and how little private ones do. Examples:
        privrank demo --out pictures
        privrank demo --attack
    """
    check_seed(request.seed)
    check_folder(request.out)
    import jax

    hardware.keep_programs()
    key = jax.random.key(request.seed)
    if request.attack:
        from privrank_jax.cli import attack

        return attack.run(key, request.seed, request.out, as_json=request.json)
    from privrank_jax.cli import survey

    started = time.perf_counter()
    vote_key, study_key = jax.random.split(key)
    votes = survey.rank_voters(vote_key)
    if not request.json:
        survey.print_votes(votes)
    result = survey.run_study(study_key)
    pictures, remark = saved(request.out, lambda: {survey.PICTURE: survey.figure_of(result)})
    if request.json:
        unbounded = {"epsilon": None}
        study = [row if math.isfinite(row["epsilon"]) else row | unbounded for row in result.rows]
        picture = next(iter(pictures), None)
        return print_json({"voters": votes, "study": study, "picture": picture})
    survey.print_study(result)
    print_paragraphs(
        f"Picture: {pictures[0]}" if pictures else f"No picture: {remark}",
        f"{time.perf_counter() - started:.0f} s in all. Next: privrank rank --help",
    )
