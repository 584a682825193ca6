"""Refusals of options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax.cli.console import Refusal, check_seed, warn
from privrank_jax.cli.options import Options, option
from privrank_jax.cli.request import Release


def check_release(request: Release) -> None:
    """Refuse a series without its ledger, and a seed that is invalid or would make a release predictable."""
    if request.series is not None and request.ledger is None:
        raise Refusal("--series names the series of a ledger: give --ledger FILE too.")
    if request.seed is None:
        return
    if not request.simulate:
        raise Refusal(
            "--seed makes the noise predictable: anyone who knows or guesses the seed can remove the noise. "
            "Omit --seed for a release, or add --simulate for a rehearsal."
        )
    check_seed(request.seed)


def warn_unused(request: Release, *names: str) -> None:
    """Say which of these options of privacy are not used where there is none."""
    if not request.private and request.given.intersection(names):
        *most, last = map(option, names)
        warn(f"--method none adds no noise: {', '.join(most)} and {last} are not used.")


def check_already_randomized(
    request: Options, served: Sequence[str], budget: Sequence[str], what: str, raw: str
) -> None:
    """Refuse options that protect answers where users randomized them before they were collected.

    Args:
        request: the request with its options.
        served: names of the options that still apply, but for those in ``budget``, which choose how much privacy.
        budget: their names.
        what: what the file holds, such as ``"votes.csv holds randomized reports"``.
        raw: what it does not hold, such as ``"answers"``.
    """
    wrong = [
        option(name)
        for name in request.names()
        if name in request.given and (name in budget or name not in served)
    ]
    if wrong:
        verb, them = ("do", "them") if len(wrong) > 1 else ("does", "it")
        raise Refusal(
            f"{', '.join(wrong)} {verb} not apply: {what}, each randomized with the epsilon of its row. Ranking them "
            f"is post-processing, adds no noise and spends nothing more. Leave {them} out; for another epsilon, "
            f"privatize the {raw} again (both files together then spend the sum)."
        )
