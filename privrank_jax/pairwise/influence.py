r"""How fragile a ranking is: the few comparisons whose change turns the top over. **Not private.**

**Influence of one comparison.** Let θ minimize L = -Σ log F(θ_w - θ_l) + (γ/2)‖θ‖² over comparisons of winner w and
loser l, H the Hessian, x = θ_i - θ_j, z = e_i - e_j, s = F'/F at x, c = -(log F)'' at x. Without one win of i over j
the gradient of L at θ is s z, so that one Newton step with the Hessian that remains changes a difference of two
scores by

.. math:: θ_a - θ_b: \quad -\frac{s\, u^\top z}{1 - c\, z^\top H^{-1} z}, \qquad u = H^{-1}(e_a - e_b).

This is the implicit derivative with respect to the number of wins, divided by one minus the leverage of the
comparison. If the win is given to j instead, the gradient is [s(x) + s(-x)]z and the Hessian stays about the same.
All wins of i over j have the same influence, so a data set has at most m(m-1) different ones.

**Search.** For a above b, comparisons are changed in the order of their influence until the predicted difference is
below 0; the scores are fitted again, and if a is still above b, the influences are computed again at these scores,
and so on. In the end the shortest beginning of that sequence that turns a and b over is found by bisection. Every
answer is verified by a fit, so the number found is an upper bound of the least one; it is not proved to be the least.

**What privacy hides.** An ε-DP release (unit comparison) of data in which k comparisons are changed has probabilities
within e^{kε} of those before. So nobody can tell from it which of the two data sets was there with an advantage (true
positives less false positives) above tanh(kε/2). If that is small, no private release of this ε can be relied on to
get the top right, whatever the method.

Sources: Giordano and others (2021), An automatic finite-sample robustness metric (influence and its sum); Huang and
others, Dropping just a handful of preferences can change top large language model rankings (ICLR 2026), for rankings.
"""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._arguments import is_whole
from privrank_jax._types import Number
from privrank_jax._validate import check_choice, check_epsilon, check_nonnegative
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.graph import check_one_problem
from privrank_jax.pairwise.maximum_likelihood import mle

CHANGES = ("drop", "flip")
# Differences of scores of which rounding leaves no sign.
_TIED = 1e-9
# How often influences are computed again, at most.
_ROUNDS = 20

_Matrix = Float[np.ndarray, "items items"]


@dataclasses.dataclass(frozen=True)
class Influence:
    """Comparisons whose change turns two items over, verified by a fit.

    Attributes:
        count: number of comparisons that are changed; ``None`` if no set of them was found that turns items over.
        above: the item that was ahead of ``below``, and comes behind it.
        below: the other item.
        changed: ``(m, m)`` integers, how many wins of i over j are changed.
        share: ``count`` divided by the number of comparisons; NaN if there is no ``count``.
        scores: ``(m,)`` fitted to all comparisons.
        scores_after: ``(m,)`` fitted after the change.
        predicted: number of comparisons that the first round of influences asked for; ``None`` where these do not
            suffice.
    """

    count: int | None
    above: int
    below: int
    changed: Int[np.ndarray, "items items"]
    share: float
    scores: Float[np.ndarray, "items"]
    scores_after: Float[np.ndarray, "items"]
    predicted: int | None

    def advantage(self, epsilon: Number) -> float:
        """tanh(kε/2): how well any test can tell, from an ε-DP release, the data from the changed data.

        Args:
            epsilon: ε > 0, per comparison, for the adjacency ``flip`` if wins were flipped, ``add-remove`` if dropped.

        Returns:
            The largest true-positive rate less false-positive rate, in [0, 1]; 1 if there is no ``count``.

        Raises:
            ValueError: ε not positive.
        """
        check_epsilon(epsilon)
        return 1.0 if self.count is None else math.tanh(0.5 * self.count * float(epsilon))


def influential_comparisons(
    wins: WinCounts,
    *,
    top: int = 1,
    pair: tuple[int, int] | None = None,
    change: str = "drop",
    link: str | Link = "logistic",
    gamma: Number = 0.0,
    candidates: int = 5,
) -> Influence:
    """A small set of comparisons whose change moves another item into the top, or turns a given pair over.

    Not private: the result depends on single comparisons, and nothing of it may be published where these are secret.
    Runs on the host.

    Args:
        wins: win counts of m items. Only whole wins are changed; a tie, which counts 1/2 for both items, stays.
        top: k >= 1: a change counts if an item outside the k best gets ahead of one of them.
        pair: two items; then only their order counts.
        change: ``"drop"`` leaves comparisons out; ``"flip"`` gives the win to the loser.
        link: as for :func:`~privrank_jax.pairwise.mle`.
        gamma: ridge γ >= 0 of the fits.
        candidates: number of pairs for which the search is carried out, those with the smallest predicted numbers.

    Returns:
        :class:`Influence` of the pair that needs the fewest changes.

    Raises:
        ValueError: ``top`` or ``pair`` that these items do not have, an unknown change, γ < 0; comparisons that do not
            connect the items, or without a finite maximum of the likelihood, where γ = 0.
        TypeError: ``wins`` is no :class:`~privrank_jax.comparisons.WinCounts`.

    >>> wins = WinCounts.from_matrix([[0, 6], [4, 0]])  # 6 : 4
    >>> found = influential_comparisons(wins)
    >>> found.count, found.changed.tolist(), influential_comparisons(wins, change="flip").count
    (3, [[0, 3], [0, 0]], 2)
    """
    check_choice("change", change, CHANGES)
    check_nonnegative("gamma", gamma)
    check_one_problem(wins)
    search = _Search(np.asarray(wins.matrix, float), wins, get_link(link), float(gamma), change)
    scores = search.start()
    order = [int(item) for item in np.argsort(-scores, kind="stable") if search.real[item]]
    found = [
        search.run(above, below)
        for above, below in search.most_promising(order, top, pair, candidates)
    ]
    return min(found, key=lambda one: (one.count is None, one.count))


@dataclasses.dataclass
class _Search:
    """Fits of one data set, and the influences at them."""

    matrix: _Matrix
    wins: WinCounts
    link: Link
    gamma: float
    change: str
    scores: np.ndarray = dataclasses.field(init=False)

    @property
    def real(self) -> np.ndarray:
        return np.asarray(self.wins.item_mask)

    def start(self) -> np.ndarray:
        """The scores of all comparisons; what makes them meaningless is refused."""
        scores, sound = self.fit(self.matrix)
        if not sound:
            raise ValueError(
                "these comparisons do not determine finite scores: some items are not connected, or never lost to the "
                "others. Use gamma > 0, or leave such items out."
            )
        self.scores = scores
        return scores

    def fit(self, matrix: _Matrix) -> tuple[np.ndarray, bool]:
        """Scores, and whether comparisons or the ridge determine them."""
        counts = dataclasses.replace(self.wins, matrix=jnp.asarray(matrix, self.wins.matrix.dtype))
        estimate = mle(counts, self.link, self.gamma)
        facts = estimate.diagnostics
        sound = self.gamma > 0 or (int(facts.components) == 1 and not bool(facts.separated))
        return np.asarray(estimate.value, float), sound

    def after(self, changed: np.ndarray) -> _Matrix:
        """Win counts with these wins dropped, or given to the losers."""
        rest = self.matrix - changed
        return rest + changed.T if self.change == "flip" else rest

    def influences(self, scores: np.ndarray, matrix: _Matrix) -> tuple[np.ndarray, np.ndarray]:
        """H⁻¹ without the mean of all scores, and the factor of uᵀz of each ordered pair."""
        gap = scores[:, None] - scores
        slope = np.asarray(self.link.score(gap), float)
        curvature = np.asarray(self.link.curvature(gap), float)
        bend = matrix * curvature
        weight = bend + bend.T
        size = len(scores)
        # Padding has no comparisons; a unit on its diagonal keeps the matrix invertible.
        hessian = np.diag(weight.sum(1) + self.gamma + ~self.real) - weight
        hessian += np.outer(self.real, self.real) / size
        inverse = np.linalg.inv(hessian)
        if self.change == "flip":
            return inverse, slope + slope.T
        reach = np.diag(inverse)
        leverage = (reach[:, None] + reach - 2 * inverse) * curvature
        return inverse, slope / np.maximum(1 - leverage, 0.05)

    def effects(
        self, inverse: np.ndarray, factor: np.ndarray, above: int, below: int
    ) -> np.ndarray:
        """``(m, m)`` change of θ_above - θ_below by one changed win of i over j."""
        pull = inverse[above] - inverse[below]
        return -factor * (pull[:, None] - pull)

    def next_changes(
        self,
        scores: np.ndarray,
        influences: tuple[np.ndarray, np.ndarray],
        changed: np.ndarray,
        above: int,
        below: int,
    ) -> tuple[np.ndarray, bool]:
        """Cells of wins in the order to change them, one entry per win, and whether they are predicted to suffice."""
        effect = self.effects(*influences, above, below).ravel()
        left = np.floor(self.matrix - changed + 1e-9).astype(int).ravel()
        useful = np.flatnonzero((effect < 0) & (left > 0))
        useful = useful[np.argsort(effect[useful], kind="stable")]
        before = np.concatenate([[0.0], np.cumsum(-effect[useful] * left[useful])])
        gap = scores[above] - scores[below] + _TIED
        full = (
            int(np.searchsorted(before, gap, side="right")) - 1
        )  # cells that are changed as a whole
        taken = left[useful[:full]].tolist()
        enough = full < len(useful)
        if enough:
            cell = useful[full]
            taken.append(min(int((gap - before[full]) // -effect[cell]) + 1, int(left[cell])))
        return np.repeat(useful[: len(taken)], np.array(taken, int)), enough

    def most_promising(
        self, order: list[int], top: int, pair: tuple[int, int] | None, candidates: int
    ) -> list[tuple[int, int]]:
        """Pairs whose order is to be turned over, those of the smallest predicted numbers first."""
        if pair is not None:
            if len(set(pair)) != 2 or not set(pair) <= set(order):
                raise ValueError(
                    f"pair must be two different items among {sorted(order)}, got {pair}."
                )
            return [
                (first, second)
                for first in pair
                for second in pair
                if order.index(first) < order.index(second)
            ]
        if not is_whole(top) or not 1 <= top < len(order):
            raise ValueError(f"top must be a whole number from 1 to {len(order) - 1}, got {top}.")
        if candidates < 1:
            raise ValueError(f"candidates must be at least 1, got {candidates}.")
        nothing = np.zeros(self.matrix.shape, int)
        influences = self.influences(self.scores, self.matrix)
        predicted = []
        for above in order[:top]:
            for below in order[top:]:
                cells, enough = self.next_changes(self.scores, influences, nothing, above, below)
                predicted.append((not enough, len(cells), above, below))
        return [(above, below) for *_, above, below in sorted(predicted)[:candidates]]

    def run(self, above: int, below: int) -> Influence:
        """Change wins until ``above`` comes behind ``below``, then as few of them as do it."""
        sequence: list[int] = []
        predicted = None
        for turn in range(_ROUNDS):
            changed = self.count(sequence)
            rest = self.after(changed)
            scores, _ = self.fit(rest)
            if scores[above] - scores[below] < -_TIED:
                return self.shortest(sequence, above, below, predicted)
            influences = self.influences(scores, rest)
            cells, enough = self.next_changes(scores, influences, changed, above, below)
            if turn == 0:
                predicted = len(cells) if enough else None
            if not len(cells):
                break
            sequence += cells.tolist()
        return self.failed(above, below, predicted)

    def failed(self, above: int, below: int, predicted: int | None) -> Influence:
        nothing = np.zeros(self.matrix.shape, int)
        return Influence(None, above, below, nothing, math.nan, self.scores, self.scores, predicted)

    def count(self, sequence: list[int]) -> np.ndarray:
        """``(m, m)``, how often each cell occurs."""
        return np.bincount(sequence, minlength=self.matrix.size).reshape(self.matrix.shape)

    def shortest(
        self, sequence: list[int], above: int, below: int, predicted: int | None
    ) -> Influence:
        """The shortest beginning that turns the pair over, if longer ones do so too, and leaves finite scores."""
        low, high = 0, len(sequence)  # the first does not, the second does
        scores, sound = self.fit(self.after(self.count(sequence)))
        while high - low > 1:
            middle = (low + high) // 2
            tried = self.fit(self.after(self.count(sequence[:middle])))
            if tried[0][above] - tried[0][below] < -_TIED:
                high, (scores, sound) = middle, tried
            else:
                low = middle
        if not sound:
            return self.failed(above, below, predicted)
        changed, share = self.count(sequence[:high]), high / float(self.matrix.sum())
        return Influence(high, above, below, changed, share, self.scores, scores, predicted)
