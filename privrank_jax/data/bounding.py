r"""At most L rows of each user, chosen by a keyed hash of the user, never by the answers.

Every user's rows are put in order by their content (which items met, then who won) and numbered 0, 1, ...; row k of
user u draws the lot SHA-256(salt : k : u), and the L rows with the smallest lots stay. All rows of a user with at most
L rows stay, so only the other users' rows are sorted and draw lots.

**Sensitivity.** *For every salt*, known or not, the rows kept of one user are a function of that user's rows alone: no
lot and no number depends on another user. So a data set and its neighbor, which differ in the rows of one user, keep
the same rows of all other users, and at most L of that user in either. A statistic that adds up over rows hence moves
as if one user had given L rows and replaced them, or come or gone with them; the noise calibrated for L rows makes the
release private for every fixed salt, and so for a salt drawn at random, without looking at the data. None of this
depends on the quality of the hash or on the secrecy of the salt.

**Flips.** Where who compared what is public (adjacency ``flip``), the number of *kept* comparisons of each pair must be
public too. It is: a user's rows are ordered by pair before outcome, so that other outcomes leave row k the same pair,
and the lots do not depend on the row. For a given salt the pairs kept are a function of the pairs given.

**Fairness** is the purpose of the salt. As long as the lots are unpredictable, every L rows of a user are equally
likely to stay, whatever their outcomes: the numbering is a function of the content, the choice of numbers is not. Two
equal rows are interchangeable, so duplicates need no identity. A release takes the salt from the operating system's
entropy, a rehearsal from its seed.

The choice depends on the content of the table and the salt alone: not on the order of the rows, the engine, or how it
splits the work. Engines must agree in how they write a user's id as text, as they do for text and whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax._validate import check_positive
from privrank_jax.data.engine import Relation

_DIGITS = 16  # hexadecimal digits of the hash that are kept; equal lots are ordered by number


def bounded_rows(
    rows: Relation, max_per_user: int, salt: str, *, user: str = "user", content: Sequence[str]
) -> Relation:
    """Keep at most ``max_per_user`` rows of each user, as an Ibis expression; the twin of ``release.exact_bound``.

    Args:
        rows: Ibis table, one row per contribution.
        max_per_user: L >= 1.
        salt: any text that does not depend on the data.
        user: column of the user's id.
        content: columns with the full content of a row, the public ones (which items met) before the others.

    Returns:
        The same table with fewer rows; a row without a user is not among them.

    Raises:
        ValueError: L is not positive.
    """
    check_positive("max_per_user", max_per_user)
    sizes = rows.group_by(user).aggregate(_rows=rows.count())
    above = sizes.filter(sizes["_rows"] > int(max_per_user)).select(user)
    within = rows.filter(rows[user].notnull()).anti_join(above, user)
    return within.union(_drawn(rows.semi_join(above, user), max_per_user, salt, user, content))


def _drawn(
    rows: Relation, max_per_user: int, salt: str, user: str, content: Sequence[str]
) -> Relation:
    """The rows with the smallest lots of each user, which takes two sorts; other rows need none."""
    import ibis

    number = ibis.row_number().over(group_by=user, order_by=list(content))
    numbered = rows.mutate(_number=number)
    said = ibis.literal(f"{salt}:") + numbered._number.cast("string") + ":"
    lot = (said + numbered[user].cast("string")).hexdigest("sha256").substr(0, _DIGITS)
    drawn = numbered.mutate(_lot=lot)
    place = ibis.row_number().over(group_by=user, order_by=["_lot", "_number"])
    kept = drawn.mutate(_place=place)
    return kept.filter(kept._place < int(max_per_user)).drop("_number", "_lot", "_place")
