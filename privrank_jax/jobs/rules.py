"""Rules of a consensus: how the weights of all pairs, once they are released, become an order.

Nothing here imports JAX or NumPy until items are ranked, so that options are checked before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float, Int

    from privrank_jax.aggregation.kemeny_rule import ProvenRanking

KEMENY = "kemeny"


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule but Kemeny's, which looks for the order of least disagreement."""

    title: str  # what the title of a result says
    help: str  # what it does, in a few words
    words: str  # how it ranks, for the notes of a result
    score_name: str = ""  # what its scores are; "" where they only number the items


RULES = {
    "copeland": Rule(
        "Copeland's rule",
        "how many others each item beats",
        "an item has 1 for each other item that more users rank behind it than ahead of it, and 1/2 for each where "
        "both are as many",
        "items beaten",
    ),
    "ranked-pairs": Rule(
        "ranked pairs",
        "the clearest majorities first, unless earlier ones contradict",
        "majorities are taken one after another, the clearest first, unless those taken before say the opposite by a "
        "chain; pairs with equally clear majorities, and items without one, in the order of the list of items",
    ),
    "schulze": Rule(
        "Schulze's rule",
        "the stronger chain of majorities",
        "an item is ahead of another if its strongest chain of majorities to the other is stronger than any back, a "
        "chain being as strong as its narrowest majority",
    ),
    "minimax": Rule(
        "minimax",
        "the narrowest win or widest loss",
        "an item has its lead over the other one against which it does worst: the share of users who rank it ahead, "
        "less the share who rank it behind, or their numbers where that of all users is private",
        "least lead",
    ),
    "borda": Rule(
        "Borda scores",
        "the mean score; method borda has less noise",
        "an item has the number of others that a user, on average, ranks behind it; where the number of users is "
        "private, half of how many more others users rank behind it than ahead of it, added up",
        "score",
    ),
}
"""By the name that ``rule`` takes; ``"kemeny"`` is one more."""

HELP = "kemeny (least disagreement; the default), " + ", ".join(
    f"{name} ({rule.help})" for name, rule in RULES.items()
)

_LATE = "the best ranking found in a minute is not proven to be within `xi` {:g} of the best: take a larger xi."


def check_rule(rule: str | None, xi: float) -> None:
    """Refuse a rule that there is not, or that takes no ξ, and a ξ below 0: raises ``ValueError``."""
    if not 0 <= xi < math.inf:
        raise ValueError(f"`xi` must be finite and at least 0, got {xi:g}.")
    if rule in (None, KEMENY):
        return
    if rule not in RULES:
        raise ValueError(
            f"`rule` must be one of {', '.join((KEMENY, *RULES))}, got {rule!r}. Run-offs, as STV, need whole ballots, "
            "of which one may change all that follows: take ranked-pairs or schulze."
        )
    if xi:
        raise ValueError(f"`xi` is for the rule kemeny: leave it out of {rule}.")


def scores_by(rule: str, weights: Float[np.ndarray, "items items"]) -> Float[np.ndarray, "items"]:
    """The scores of a rule in :data:`RULES`, ``(m,)``, high = best, by the weights of all pairs, noisy or not."""
    import numpy as np

    from privrank_jax._quickly import quickly
    from privrank_jax.aggregation.majority_rules import RULES as FUNCTIONS

    # Ranked pairs take a step for each pair, which are too many for NumPy then.
    found = quickly(FUNCTIONS[rule], weights) if len(weights) <= 100 else FUNCTIONS[rule](weights)
    return np.asarray(found)


def tied_at_least_cost(
    weights: Float[np.ndarray, "items items"], order: Int[np.ndarray, "items"]
) -> Bool[np.ndarray, "gaps"]:
    """Whether items of a Kemeny order are tied with the next one: where one of them can pass the others at no cost.

    ``weights`` are those by which no order has a smaller cost; ``order``: the items, best first.

    >>> import numpy as np
    >>> tied_at_least_cost(np.array([[0, 6, 8], [6, 0, 8], [4, 4, 0]]), np.array([1, 0, 2])).tolist()
    [True, False]
    """
    import numpy as np

    from privrank_jax.jobs.result import EQUAL

    lead = np.triu((weights - weights.T)[np.ix_(order, order)], 1)
    # The cost of moving the item of the row behind that of the column, and of that ahead of this.
    behind, ahead = np.cumsum(lead, axis=1), np.cumsum(lead[::-1], axis=0)[::-1]
    free = np.triu(np.minimum(behind, ahead) <= EQUAL, 1)
    places = np.arange(len(order))
    reach = np.maximum.accumulate(np.where(free, places, 0).max(axis=1, initial=0))
    return reach[:-1] > places[:-1]


def ordered(
    rule: str | None,
    weights: Float[np.ndarray, "items items"],
    *,
    votes: Any = None,
    xi: float = 0.0,
    divisor: float = 1.0,
) -> tuple[dict[str, Any], ProvenRanking | None]:
    """Rank by a rule: fields of a :class:`~privrank_jax.jobs.result.Ranking`, with how it came about.

    Scores that only number the items are not shown. Ranked pairs break ties by the list of items: items are tied there
    if the reverse list has them in another order.

    Args:
        rule: None for Kemeny's, with which comes what is proven of the order.
        weights: of all pairs; Kemeny orders are tied by these.
        votes: weights of which the costs for Kemeny's are made; None: the same.
        xi, divisor: ξ of Kemeny's; of the scores.
    """
    import numpy as np

    from privrank_jax.aggregation import kemeny
    from privrank_jax.jobs.result import EQUAL, best_first

    if rule not in RULES:
        best = kemeny(weights if votes is None else votes, xi)
        order, late = np.argsort(best.ranks), (_LATE.format(xi),) * (best.ratio > 1 + xi)
        return {"order": order, "tied": tied_at_least_cost(weights, order), "warnings": late}, best
    about, scores = RULES[rule], scores_by(rule, weights) / divisor
    order = best_first(scores)
    tied = np.diff(scores[order]) >= -EQUAL
    if rule == "ranked-pairs":
        other = scores_by(rule, weights[::-1, ::-1])[::-1][order]
        # One order has the first items of the other at the first places only where no tie is broken.
        places = np.maximum.accumulate(np.argsort(np.argsort(-other, kind="stable")))
        tied = places[:-1] > np.arange(len(places) - 1)
    shown = {"scores": scores, "score_name": about.score_name} if about.score_name else {}
    return {
        "order": order,
        "tied": tied,
        "notes": (f"{about.title}: {about.words}",),
        **shown,
    }, None
