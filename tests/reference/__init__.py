"""Naive NumPy twins: slow, obviously right, one per vectorized function that is held against them.

Plain loops over plain numbers, no JAX. Each section names the module that it mirrors.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

# --- rankings, metrics ---------------------------------------------------------------------------


def ranks_from_scores(scores, mask=None):
    """Ranks, 0 = highest score; ties by index, masked items last."""
    items = list(range(len(scores)))
    keep = [True] * len(items) if mask is None else list(mask)
    kept = sorted((i for i in items if keep[i]), key=lambda i: (-float(scores[i]), i))
    order = kept + [i for i in items if not keep[i]]
    ranks = np.zeros(len(items), int)
    for position, item in enumerate(order):
        ranks[item] = position
    return ranks


def kendall_distance(a, b, mask=None):
    """Number of pairs of kept items that the two rankings order differently."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    count = 0
    for i in kept:
        for j in kept:
            if i < j and (a[i] - a[j]) * (b[i] - b[j]) < 0:
                count += 1
    return count


def spearman_footrule(a, b, mask=None):
    """Sum of the absolute differences in rank of kept items."""
    return sum(abs(int(a[i]) - int(b[i])) for i in range(len(a)) if mask is None or mask[i])


def top_k_error(a, b, k, mask=None):
    """1 − |overlap| / k of the sets of kept items ranked 0..k-1."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    top_a = {i for i in kept if a[i] < k}
    top_b = {i for i in kept if b[i] < k}
    return 1 - len(top_a & top_b) / min(k, len(kept))


# --- links ---------------------------------------------------------------------------------------


def link(name, x):
    """``(cdf, log_cdf, score, curvature)`` of one link at one float, in double precision."""
    x = float(x)
    if name == "logistic":
        small = math.exp(-abs(x)) / (1 + math.exp(-abs(x)))
        cdf, other = (1 - small, small) if x > 0 else (small, 1 - small)
        log_cdf = math.log1p(-other) if x > 0 else x - math.log1p(math.exp(x))
        return cdf, log_cdf, other, cdf * other
    if name == "laplace":
        half = math.exp(-abs(x)) / 2
        if x < 0:
            return half, x - math.log(2), 1.0, 0.0
        score = half / (1 - half)
        return 1 - half, math.log1p(-half), score, score + score**2
    score = math.sqrt(2 / math.pi) / scipy.special.erfcx(-x / math.sqrt(2))
    excess = score + x
    if x < -3:  # the same number by Gauss's continued fraction, without the cancellation
        tail = 0.0
        for j in range(2000, 1, -1):
            tail = j / (-x + tail)
        excess = 1 / (-x + tail)
    if x > 40:  # erfcx overflows; the density has underflowed
        return 1.0, 0.0, 0.0, 0.0
    return scipy.special.ndtr(x), scipy.special.log_ndtr(x), score, score * excess


# --- simulate ------------------------------------------------------------------------------------


def tournament_from_uniforms(uniforms, scores, probability, cdf):
    """Win matrix from one uniform per pair, in the order (0,1), (0,2), (1,2), (0,3), ..."""
    size = len(scores)
    wins = np.zeros((size, size))
    position = 0
    for j in range(size):
        for i in range(j):
            chance = probability * cdf(scores[i] - scores[j])
            if uniforms[position] < chance:
                wins[i, j] = 1
            elif uniforms[position] < probability:
                wins[j, i] = 1
            position += 1
    return wins


def count_comparisons(winners, losers, mask, num_items):
    """Win matrix of the rows whose mask is True."""
    wins = np.zeros((num_items, num_items))
    for winner, loser, kept in zip(winners, losers, mask, strict=True):
        if kept:
            wins[winner, loser] += 1
    return wins


def mean_and_error(values):
    """Mean, standard error and number of values that are not finite; over the finite ones."""
    finite = [float(value) for value in values if math.isfinite(value)]
    mean = math.fsum(finite) / len(finite)
    variance = math.fsum((value - mean) ** 2 for value in finite) / (len(finite) - 1)
    return mean, math.sqrt(variance / len(finite)), len(values) - len(finite)


# --- privacy, perturbed MLE, questionnaires ------------------------------------------------------


def gaussian_delta(scale, sensitivity, epsilon):
    """δ at ε of the Gaussian mechanism (Balle and Wang 2018, Theorem 8)."""
    ratio = sensitivity / scale
    first = scipy.special.ndtr(ratio / 2 - epsilon / ratio)
    return first - math.exp(epsilon + scipy.special.log_ndtr(-ratio / 2 - epsilon / ratio))


def gaussian_scale(sensitivity, epsilon, delta):
    """Root in log σ of the above, by Brent's method."""
    root = scipy.optimize.brentq(
        lambda log_scale: (
            math.log(max(gaussian_delta(math.exp(log_scale), 1.0, epsilon), 1e-300))
            - math.log(delta)
        ),
        -8.0,
        12.0,
        xtol=1e-14,
    )
    return sensitivity * math.exp(root)


def perturbed_objective(theta, wins, tilt, gamma, name):
    """Value and gradient of the perturbed negative log-likelihood, one comparison pair at a time."""
    items = len(theta)
    value = 0.5 * gamma * sum(t * t for t in theta) + sum(w * t for w, t in zip(tilt, theta))
    gradient = [gamma * theta[i] + tilt[i] for i in range(items)]
    for i in range(items):
        for j in range(items):
            if wins[i][j] > 0:
                _, log_cdf, score, _ = link(name, theta[i] - theta[j])
                value -= wins[i][j] * log_cdf
                gradient[i] -= wins[i][j] * score
                gradient[j] += wins[i][j] * score
    return value, np.array(gradient)


def perturbed_mle(wins, tilt, gamma, name="logistic"):
    """The minimizer, not centered, by SciPy's BFGS and a root search from where it stops."""
    wins = np.asarray(wins, float)
    found = scipy.optimize.minimize(
        perturbed_objective, np.zeros(len(wins)), (wins, tilt, gamma, name), jac=True, tol=1e-10
    )
    root = scipy.optimize.root(
        lambda theta: perturbed_objective(theta, wins, tilt, gamma, name)[1], found.x, tol=1e-13
    )
    return root.x if root.success else found.x


def perturbed_mle_log_density(theta, wins, scale, gamma, name="logistic", noise="laplace"):
    """log p_w(w) + log det H at one θ, by loops."""
    items = len(theta)
    w = [-gamma * theta[i] for i in range(items)]
    hessian = gamma * np.eye(items)
    for i in range(items):
        for j in range(items):
            if i != j:
                _, _, score, curvature = link(name, theta[i] - theta[j])
                w[i] += wins[i][j] * score
                w[j] -= wins[i][j] * score
                hessian[i, i] += wins[i][j] * curvature
                hessian[j, j] += wins[i][j] * curvature
                hessian[i, j] -= wins[i][j] * curvature
                hessian[j, i] -= wins[i][j] * curvature
    distribution = scipy.stats.laplace if noise == "laplace" else scipy.stats.norm
    log_noise = sum(distribution.logpdf(x, scale=scale) for x in w)
    return log_noise + math.log(np.linalg.det(hessian))


def max_cut(pairs, num_items):
    """Largest number of pairs with one item on each side, over all 2^m sides."""
    best = 0
    for sides in itertools.product((0, 1), repeat=num_items):
        best = max(best, sum(sides[i] != sides[j] for i, j in pairs))
    return best


def questionnaire_totals(pairs, num_items):
    """Win totals of every way to answer: i wins, j wins, tie, no answer; with the set answered."""
    answers = []
    for pattern in itertools.product("ijt-", repeat=len(pairs)):
        totals = [0.0] * num_items
        for answer, (i, j) in zip(pattern, pairs):
            if answer in "it":
                totals[i] += 1.0 if answer == "i" else 0.5
            if answer in "jt":
                totals[j] += 1.0 if answer == "j" else 0.5
        answers.append((tuple(answer != "-" for answer in pattern), tuple(totals)))
    return answers


def questionnaire_sensitivity(pairs, num_items, adjacency, order):
    """Largest distance (ℓ₁ or ℓ₂) between the totals of two neighboring answer patterns."""
    answers = questionnaire_totals(pairs, num_items)
    if adjacency == "add-remove":
        return max(float(np.linalg.norm(totals, order)) for _, totals in answers)
    groups = {}
    for answered, totals in answers:
        groups.setdefault(answered if adjacency == "flip" else None, set()).add(totals)
    worst = 0.0
    for group in groups.values():
        points = np.array(sorted(group))
        for point in points:
            worst = max(worst, float(np.linalg.norm(points - point, order, axis=1).max()))
    return worst


# --- pairwise: top-k selection, rank centrality, score attack ------------------------------------


def peeling_probability(scores, order, scale):
    """P(list) if round after round item i is picked with odds exp(score_i / scale) among those left."""
    left, probability = list(range(len(scores))), 1.0
    for item in order:
        top = max(scores[i] for i in left)
        odds = {i: math.exp((scores[i] - top) / scale) for i in left}
        probability *= odds[item] / sum(odds.values())
        left.remove(item)
    return probability


def permute_and_flip_probability(scores, order, scale):
    """P(list) if every round looks at the items left in random order and flips a coin for each."""
    left, probability = list(range(len(scores))), 1.0
    for item in order:
        top = max(scores[i] for i in left)
        picked, orders = 0.0, list(itertools.permutations(left))
        for permutation in orders:
            reached = 1.0
            for i in permutation:
                accept = math.exp((scores[i] - top) / scale)
                if i == item:
                    picked += reached * accept
                reached *= 1 - accept
        probability *= picked / len(orders)
        left.remove(item)
    return probability


def one_shot_probability(scores, order, scale):
    """P(list of one or two items) of the largest scores + Laplace noise, by quadrature between the kinks."""
    *first, last = order
    rest = [i for i in range(len(scores)) if i not in order]
    kinks = sorted({float(s) for s in scores})
    ends = [kinks[0] - 40 * scale, *kinks, kinks[-1] + 40 * scale]
    nodes, weights = np.polynomial.legendre.leggauss(20)
    points, areas = [], []
    for low, high in itertools.pairwise(ends):
        pieces = max(1, math.ceil((high - low) / scale))
        width = (high - low) / pieces
        for piece in range(pieces):
            points.extend(low + width * (piece + (nodes + 1) / 2))
            areas.extend(width / 2 * weights)
    points = np.array(points)

    def above(item, sign=1):  # P(noisy score of the item > point), or < point for sign -1
        z = sign * (points - scores[item]) / scale
        return np.where(z > 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z)))

    value = np.exp(-np.abs(points - scores[last]) / scale) / (2 * scale)
    for i in first:
        value = value * above(i)
    for j in rest:
        value = value * above(j, -1)
    return float(np.array(areas) @ value)


def rank_centrality(matrix, smoothing=0.0, steps=20000):
    """Average of the last two of many steps of the walk i -> j with probability W_ji / (M_ij d_max)."""
    size = len(matrix)
    met = [[matrix[i][j] + matrix[j][i] > 0 for j in range(size)] for i in range(size)]
    opponents = max(sum(row) for row in met)
    walk = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if met[i][j]:
                games = matrix[i][j] + matrix[j][i] + 2 * smoothing
                walk[i, j] = (matrix[j][i] + smoothing) / games / opponents
        walk[i, i] = 1 - walk[i].sum()
    weights = np.full(size, 1 / size)
    for _ in range(steps):
        weights = weights @ walk
    return weights


def score_attack(estimate, scores, matrix, name, printed_sign=False):
    """Sum over the comparisons of k of (M_k - θ_k) (y - F) F' / (F (1 - F)), k's own wins as y = 1."""
    size = len(scores)
    totals = np.zeros(size)
    for k in range(size):
        for j in range(size):
            if j == k:
                continue
            cdf, _, score, _ = link(name, scores[k] - scores[j])
            slope = score * cdf / (cdf * (1 - cdf))
            residual = matrix[k][j] * (1 - cdf) - matrix[j][k] * cdf
            sign = -1 if printed_sign and j < k else 1
            totals[k] += sign * (estimate[k] - scores[k]) * residual * slope
    return totals


# --- comparisons, likelihood, intervals ----------------------------------------------------------


def win_counts(winners, losers, num_items, weights=None, tied=None):
    """Win matrix, row by row; a tie is half a win for both."""
    wins = np.zeros((num_items, num_items))
    for row in range(len(winners)):
        weight = 1.0 if weights is None else float(weights[row])
        i, j = winners[row], losers[row]
        if tied is not None and tied[row]:
            wins[i, j] += weight / 2
            wins[j, i] += weight / 2
        else:
            wins[i, j] += weight
    return wins


def fit(name, matrix, ridge=0.0, steps=200):
    """Newton with halved steps on -Σ W_ij log F(θ_i - θ_j) + ridge/2 ‖θ‖², Σθ = 0."""
    size = len(matrix)

    def derivatives(theta):
        value, gradient = ridge / 2 * float(theta @ theta), ridge * theta
        hessian = ridge * np.eye(size) + 1.0  # the ones hold Σθ
        for i in range(size):
            for j in range(size):
                if matrix[i][j]:
                    _, log_cdf, score, curvature = link(name, theta[i] - theta[j])
                    step = np.eye(size)[i] - np.eye(size)[j]
                    value -= matrix[i][j] * log_cdf
                    gradient = gradient - matrix[i][j] * score * step
                    hessian = hessian + matrix[i][j] * curvature * np.outer(step, step)
        return value, gradient, hessian

    theta = np.zeros(size)
    for _ in range(steps):
        value, gradient, hessian = derivatives(theta)
        if np.abs(gradient - gradient.mean()).max() < 1e-11:
            break
        move = np.linalg.solve(hessian, -gradient)
        length = 1.0
        while derivatives(theta + length * move)[0] > value and length > 1e-8:
            length /= 2
        theta = theta + length * move
    return theta - theta.mean()


def fisher_information(name, theta, comparisons):
    """Σ over pairs of M_ij F'²/(F(1 - F)) (e_i - e_j)(e_i - e_j)ᵀ."""
    size = len(theta)
    total = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            cdf, _, score, _ = link(name, theta[i] - theta[j])
            density = score * cdf
            step = np.eye(size)[i] - np.eye(size)[j]
            weight = comparisons[i][j] * density**2 / (cdf * (1 - cdf))
            total += weight * np.outer(step, step)
    return total


def sandwich(information, gamma, variance):
    """H⁻¹ (I + variance) H⁻¹ on the vectors of sum 0, H = I + gamma."""
    size = len(information)
    project = np.eye(size) - 1 / size
    inverse = np.linalg.pinv(information + gamma * project, rcond=1e-12)
    return inverse @ (information + variance * project) @ inverse


def gaussian_laplace_tail(x, share):
    """P(|√(1-s) Z + √s L| > x), L Laplace of variance 1, by quadrature over the Gaussian part."""
    scale, width = math.sqrt(share / 2), math.sqrt(1 - share)

    def upper(z):  # P(√s L > z)
        return 0.5 * math.exp(-z / scale) if z > 0 else 1 - 0.5 * math.exp(z / scale)

    def integrand(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * upper(x - width * z)

    kink, tight = min(x / width, 12.0), {"epsabs": 1e-13, "epsrel": 1e-10, "limit": 500}
    below, above = (
        scipy.integrate.quad(integrand, *ends, **tight)[0] for ends in ((-12, kink), (kink, 12))
    )
    return 2 * (below + above)


def rank_interval(center, reach):
    """Best and worst rank of each item when only differences beyond ``reach`` are sure."""
    size = len(center)
    low = [
        sum(center[j] - center[i] > reach[i][j] for j in range(size) if j != i) for i in range(size)
    ]
    high = [
        size - 1 - sum(center[i] - center[j] > reach[i][j] for j in range(size) if j != i)
        for i in range(size)
    ]
    return low, high
