"""Refusals of options that several commands share, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._promise import SHAPED_NOISES
from privrank_jax.cli.console import Refusal, check_choice, check_seed, warn
from privrank_jax.cli.core.request import Budget, Release
from privrank_jax.cli.options import Options, option
from privrank_jax.jobs.mechanisms import Mechanism

# Beyond this ε, an observer may become almost certain of a user's answer (odds change by up to e^ε).
_HARDLY_PRIVATE = 10.0


def check_rehearsal(request: Release) -> None:
    """Refuse a seed that is invalid or would make a release predictable."""
    if request.seed is None:
        return
    if not request.simulate:
        raise Refusal(
            "--seed makes the noise predictable: anyone who knows or guesses the seed can remove the noise. "
            "Omit --seed for a release, or add --simulate for a rehearsal."
        )
    check_seed(request.seed)


def check_budget(
    budget: Budget, noises: Sequence[str] = SHAPED_NOISES, mechanism: Mechanism | None = None
) -> None:
    """Refuse a budget that is missing, out of range or does not fit the noise or the mechanism.

    Args:
        budget: ε, δ and the noise.
        noises: kinds of noise to choose from.
        mechanism: where it is known already; δ is for Gaussian noise unless the mechanism spends it without.
    """
    if budget.epsilon is None:
        raise Refusal(
            "--epsilon is missing: how much privacy to spend is your choice. 1 is common, smaller "
            "protects more; --method none ranks without privacy."
        )
    if budget.noise is not None:
        check_choice("--noise", budget.noise, noises)
    check_positive(budget.epsilon, ", or --method none if no privacy is wanted")
    always = mechanism is not None and mechanism.always_delta
    if always and not 0 < budget.delta < 1:
        raise Refusal(
            "--trust shuffled needs a --delta above 0 and below 1; a common choice is 1/n**2 for n users. With "
            "pure epsilon, shuffling adds no privacy: use --trust local."
        )
    if not 0 <= budget.delta < 1:
        raise Refusal(
            f"--delta must be at least 0 and below 1, got {budget.delta:g}. Omit it for pure epsilon; "
            "otherwise a common choice is 1/n**2 for n users."
        )
    if budget.delta > 0 and budget.noise != "gaussian" and not always:
        raise Refusal(
            "--delta is for Gaussian noise: add --noise gaussian; or leave --delta out, for all other noise keeps pure "
            "epsilon."
        )
    if budget.delta == 0 and budget.noise == "gaussian":
        raise Refusal(
            "--noise gaussian needs a --delta above 0; a common choice is 1/n**2 for n users. Or leave "
            "--noise out: all other noise keeps pure epsilon."
        )
    check_size(budget.epsilon)


def check_positive(epsilon: float, otherwise: str = "") -> None:
    """Refuse an epsilon that is not a positive number; ``otherwise`` says what else can be done."""
    if not 0 < epsilon < math.inf:  # NaN too
        raise Refusal(
            f"--epsilon must be a positive number, got {epsilon:g}. Use a value such as 1{otherwise}."
        )


def check_size(epsilon: float) -> None:
    """Refuse an epsilon that leaves only noise, or almost none; warn of one that gives almost no protection."""
    if epsilon < SMALLEST_EPSILON:
        raise Refusal(
            f"--epsilon {epsilon:g} is so small that the result would be noise alone, whatever the data: "
            "publish nothing, or choose a value such as 1."
        )
    if epsilon > LARGEST_EPSILON:
        raise Refusal(
            f"--epsilon {epsilon:g} is so large that almost no noise is left and no user is protected: choose a value "
            "such as 1."
        )
    if epsilon > _HARDLY_PRIVATE:
        warn(
            f"epsilon = {epsilon:g} gives almost no protection: what is published may become "
            f"e^{epsilon:g} times likelier by one user's answers. Values up to about 3 are usual."
        )


def about_delta(delta: float, count: int, of: str) -> tuple[str, ...]:
    """Why a delta of 1 over the number of units or more protects none of them, for the holder of the data.

    Args:
        delta: of the promise.
        count: how many users, or comparisons, there are.
        of: ``"user"`` or ``"comparison"``.
    """
    if delta < 1 / count:
        return ()
    return (
        f"delta = {delta:g} is at least 1 over the number of {of}s, {count:,}: a release that shows everyone all "
        f"about one {of} chosen at random would keep such a promise. Take a delta far below {1 / count:.2g}; "
        f"1/n**2 is common, here {count**-2:.2g}.",
    )


def check_items(name: str, count: int, most: int, top_k: int | None = None) -> None:
    """Refuse data with too few items for a ranking, or too many for a table of all pairs."""
    if top_k is not None and top_k > count:
        raise Refusal(f"--top-k {top_k} is more than there are items: {name} has {count}.")
    if count > most:
        raise Refusal(
            f"{name} has {count:,} items; this command keeps a table of all pairs and takes at most {most:,}."
        )
    if count < 2:
        raise Refusal(f"a ranking needs at least two items, {name} has {count}.")


def check_already_randomized(
    request: Options, served: Sequence[str], budget: Sequence[str], what: str, raw: str
) -> None:
    """Refuse options that protect answers where users randomized them before they were collected.

    Args:
        request: the request with its options.
        served: names of the options that still apply.
        budget: names of the options that choose how much privacy.
        what: what the file holds, such as ``"votes.csv holds randomized reports"``.
        raw: what it does not hold, such as ``"answers"``.
    """
    for name in budget:
        if name in request.given:
            raise Refusal(
                f"{option(name)} does not apply: {what}, each randomized with the epsilon of its row. Ranking "
                "them is post-processing, adds no noise and spends nothing more. "
                f"Leave out {option(name)}; for another epsilon, privatize the {raw} again (both files together then "
                "spend the sum)."
            )
    others = [
        option(name) for name in request.names() if name in request.given and name not in served
    ]
    if others:
        verb, them = ("do", "them") if len(others) > 1 else ("does", "it")
        raise Refusal(
            f"{', '.join(others)} {verb} not apply: {what}, so the {raw} are already randomized. Leave {them} out."
        )
