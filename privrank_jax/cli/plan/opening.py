"""What a plan says first: who sees which answers, and what its ε counts for."""

from __future__ import annotations

from privrank_jax.cli.plan.request import Design


def who_sees_comparisons(design: Design, epsilon: str, of_user: float) -> str:
    """Say of a survey who sees the answers, and what ε counts for.

    Args:
        design: the design.
        epsilon: the budget of an answer, or of a user if answers are shuffled, as printed.
        of_user: the largest ε of a user, over all answers.
    """
    if design.trusted == "shuffled":
        seen = (
            "In this plan each user randomizes one answer before sending it, and a shuffler hides who sent which "
            f"(--trust shuffled). epsilon = {epsilon} counts for a user against whoever sees the shuffled answers."
        )
    else:
        counts = f"epsilon = {epsilon} counts for one answer"
        counts += (
            f", and a user with about {design.answers_per_user:.4g} answers has epsilon = {of_user:.3g} in all."
            if design.several_answers
            else ", which is all that a user answers."
        )
        seen = (
            "In this plan users randomize their own answers before sending them (--trust local), so that nobody else "
            f"sees an answer as it was meant. {counts}"
        )
    return f"{seen} Plan with --trust central if a curator collects the answers and adds noise to what is published."


def who_sees_rankings(design: Design) -> str:
    """Say of a consensus who sees the rankings, and what ε counts for."""
    seen = {
        "central": "a curator sees all rankings and publishes only a noisy consensus",
        "local": "users randomize their own rankings before sending them, so that nobody else sees one as it was meant",
        "shuffled": "users randomize their own rankings before sending them, and a shuffler hides who sent which",
    }[design.trusted]
    return f"In this plan {seen} (--trust {design.trusted}). epsilon counts for a user, with the whole ranking."
