"""``privrank privatize``: comparisons to reports, rankings to synthetic ones, preferences to swapped ones."""

from __future__ import annotations

from privrank_jax.cli.options import command
from privrank_jax.cli.privatize.request import Request

HELP = (
    "Randomize each user's answers, as users can do at home: local differential privacy.\n\n"
    "Users who run it on their own answers, and send the file that it writes, need trust nobody. Run on answers that "
    "were collected already, it protects users from all who get that file alone; whoever holds FILE knows the "
    "answers.\n\n"
    "For comparisons, it writes a file with columns user, item_1, item_2, report and epsilon, and nothing else. "
    "The report says that item_1 is preferred (1) or item_2 (0), and is the opposite of the answer with probability "
    "1/(1 + e^epsilon). The items stand in the order of the item list, the rows are sorted, so only the "
    "report depends on the answer. privrank rank ranks such a file without spending more budget.\n\n"
    "For rankings (the files and data sets that privrank aggregate reads), it writes a synthetic ranking for each "
    "user, drawn from the Mallows model around the user's own: columns user and synthetic_epsilon, then ranks, "
    "a column per item. Epsilon protects the rank of one item; a whole ranking of m items gets epsilon m/2.\n\n"
    "For preferences as training data (.jsonl with prompt, chosen, rejected, perhaps id and user), it writes such a "
    "file again, with chosen and rejected swapped with probability 1/(1 + e^epsilon), and label_epsilon in each line. "
    "Prompts and texts are public; protected is which of the two answers was chosen.\n\n"
    "Examples:\n\n"
    "  privrank privatize votes.csv --epsilon 1 --out private.csv\n\n"
    "  privrank privatize votes.csv --epsilon-column budget --ties coin --out private.parquet\n\n"
    "  privrank rank private.csv\n\n"
    "  privrank privatize votes.soc --epsilon 4 --out synthetic.csv\n\n"
    "  privrank aggregate synthetic.csv --user none     (a PrefLib file names no users)\n\n"
    "  privrank privatize prefs.jsonl --epsilon 2 --unit user --max-per-user 5 --out private.jsonl"
)


@command
def privatize(request: Request) -> None:
    """Randomize each user's answers, as users can do at home: local differential privacy."""
    request.check()
    if request.holds_preferences:
        from privrank_jax.cli.privatize.preference_files import privatize_preferences

        privatize_preferences(request)
        return
    from privrank_jax.cli.privatize.comparison_files import privatize_comparisons
    from privrank_jax.cli.privatize.ranking_files import holds_rankings, privatize_rankings

    (privatize_rankings if holds_rankings(request) else privatize_comparisons)(request)
