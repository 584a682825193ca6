"""``privrank plan``: users, budget or error of a survey, or of a consensus, before there are data."""

from __future__ import annotations

from privrank_jax.cli.console import busy, warn
from privrank_jax.cli.core.checks import about_delta
from privrank_jax.cli.options import command
from privrank_jax.cli.plan.request import Design

HELP = (
    "Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect.\n\n"
    "Users randomize their own answers: each compares pairs of items and flips each answer with probability "
    "1/(1 + e^epsilon) before sending it, so that epsilon counts for one answer. Give two of --epsilon, --target and "
    "--users to get the third; all three tell how many more users the target takes. With --trust central a curator "
    "publishes scores, as privrank rank does, and epsilon counts for a user. With --rankings each user has a "
    "whole ranking, a curator collects them, epsilon counts for a user, and every method of privrank aggregate is "
    "listed with the error that is proven, whatever the users prefer, and the one to expect. Uses no data.\n\n"
    "Examples:\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --items 10 --epsilon 1 --epsilon-max 3 --share-observed 0.5 --users 500\n\n"
    "  privrank plan --items 10 --users 2000 --target 0.1 --json\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1 --shuffled --delta 1e-8     (one answer per user)\n\n"
    "  privrank plan --trust central --items 30 --epsilon 1 --max-per-user 10 --target 0.02 --error pairs\n\n"
    "  privrank plan --rankings --items 10 --users 1000 --epsilon 1 --plot plan.png\n\n"
    "  privrank plan --rankings --items 10 --epsilon 1 --target 0.5 --method weights --confidence 0.95"
)


@command
def plan(design: Design) -> None:
    """Plan a survey, or a consensus of rankings: how many users, which epsilon, or what error to expect."""
    design.check()
    with busy("loading"):
        import jax

        from privrank_jax.cli.plan import comparisons, curator, files, rankings_in_words

    with jax.enable_x64(design.rankings or design.of_curator):
        if design.rankings:
            consensus = rankings_in_words.report(design)
            users = consensus["users"]
            files.save_consensus(design, consensus)
        elif design.of_curator:
            release = curator.report(design)
            users = release["users"]
            files.save_release(design, release)
        else:
            survey = comparisons.report(design)
            users = survey["users"]
            files.save_survey(design, survey)
    warn(*about_delta(design.delta, users, "user"))
