"""Faults that tests of the quick tier must notice: one or two wrong lines in each file that privacy depends on.

``python -m tests.mutants`` applies each of them in a copy of the sources, runs the tests that it names, and prints
which were killed and which survived; words after it choose mutants whose line contains one of them.
:mod:`tests.test_mutants` checks that none is stale.
"""

from __future__ import annotations

import dataclasses

from tests.sources import PACKAGE


@dataclasses.dataclass(frozen=True)
class Mutant:
    """``old`` stands once in ``file``, a path within the package; with ``new`` in its place, ``tests`` must fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    @property
    def stale(self) -> bool:
        """Whether the file has changed so that the mutant can't be made."""
        path = PACKAGE / self.file
        return not path.exists() or path.read_text(encoding="utf-8").count(self.old) != 1


def mutants_of(file: str, tests: str, *changes: tuple[str, str]) -> tuple[Mutant, ...]:
    """Mutants of one file that the same tests must kill, from pairs of old and new text."""
    return tuple(Mutant(file, old, new, tuple(tests.split())) for old, new in changes)


MUTANTS = (
    *mutants_of(
        "privacy/calibration.py",
        "tests/privacy/test_calibration.py",
        ("    return sensitivity / epsilon\n", "    return sensitivity / (2 * epsilon)\n"),
        (
            "-jnp.expm1(jnp.minimum(epsilon + lower - upper, 0.0))",
            "-jnp.expm1(jnp.minimum(lower - upper, 0.0))",
        ),
    ),
    *mutants_of(
        "mechanism/objective.py",
        "tests/pairwise/test_perturbed_scales.py",
        ("np.asarray(floor) * (1 - 1e-6)", "np.asarray(floor) * 0.5"),
    ),
    *mutants_of(
        "pairwise/perturbed_fit.py",
        "tests/pairwise/test_perturbed_scales.py",
        ("lambda gamma: times * jnp.log1p", "lambda gamma: jnp.log1p"),
        ("most[attained.adjacency] * attained.comparisons_per_unit", "most[attained.adjacency]"),
    ),
    *mutants_of(
        "pairwise/published.py",
        "tests/pairwise/test_perturbed_scales.py",
        ("every = 8.0 *", "every = 4.0 *"),
    ),
    *mutants_of(
        "privacy/prefix_sums.py",
        "tests/privacy/test_prefix_sums.py",
        ("math.sqrt(longest)) / self.unit", "longest) / self.unit"),
        ("/ (rows.unit * growth[step])", "/ rows.unit"),
        ("math.isqrt(above - below)", "math.isqrt(above - below) + 1"),
    ),
    *mutants_of(
        "mechanism/local.py",
        "tests/mechanism/test_local.py",
        (
            "parts = jax.random.split(fused(key), blocks), ",
            "parts = jnp.broadcast_to(jax.random.split(fused(key), 1), (blocks,)), ",
        ),
    ),
    *mutants_of(
        "aggregation/vector_reports.py",
        "tests/mechanism/test_local.py",
        (
            "randomized_response(report_key, bits, epsilon / pairs)",
            "randomized_response(report_key, bits, epsilon)",
        ),
    ),
    *mutants_of(
        "aggregation/sub_rankings.py",
        "tests/aggregation/test_sub_rankings.py",
        ("size, epsilon.dtype) + 1) - epsilon", "size, epsilon.dtype)) - epsilon"),
    ),
    *mutants_of(
        "aggregation/query_reduction.py",
        "tests/aggregation/test_query_reduction.py",
        ("if number >= int(plan.budget):", "if number > int(plan.budget):"),
    ),
    *mutants_of(
        "aggregation/scores.py",
        "tests/aggregation/test_scores.py",
        ("[most] * min(num_items, 2 * given)", "[most] * given"),
        ("1.0 * most * given, every", "1.0 * most, every"),
    ),
    *mutants_of(
        "pairwise/continual.py",
        "tests/mechanism/test_streams.py",
        ("size / _TIMES * simulated(strategy, steps).length(noise)", "size / _TIMES"),
    ),
    *mutants_of(
        "pairwise/covariates.py",
        "tests/pairwise/test_covariates.py",
        ("each = jnp.zeros_like(each).at[self.users].add(each)", "pass"),
    ),
    *mutants_of(
        "pairwise/covariate_noise.py",
        "tests/release/test_covariate_sums.py",
        ('    if "covariates" not in attained.neighbors.shared:', "    if False:"),
    ),
    *mutants_of(
        "pairwise/covariate_noise.py",
        "tests/pairwise/test_covariate_shape.py",
        ("np.maximum.at(times,", "np.add.at(times,"),
    ),
    *mutants_of(
        "privacy/bodies.py",
        "tests/privacy/test_bodies.py",
        ('_VARIANCES = {"laplace": 2.0,', '_VARIANCES = {"laplace": 1.0,'),
    ),
    *mutants_of(
        "privacy/accounting.py",
        "tests/privacy/test_accounting.py",
        ("delta_at(budgets, Fraction(at))", "0.0"),
        ("public=tuple({fact for one in told for fact in one.public})", "public=()"),
    ),
    *mutants_of(
        "privacy/loss_distribution.py",
        "tests/privacy/test_accounting.py",
        (
            "math.hypot(*(one.shift for one in counted))",
            "max((one.shift for one in counted), default=0.0)",
        ),
        ("parts.append(one.self_compose(count))", "parts.append(one)"),
    ),
    *mutants_of(
        "privacy/loss_distribution.py",
        "tests/privacy/test_loss_distribution.py",
        ("math.tanh(float(epsilon) / 2)", "math.tanh(float(epsilon))"),
    ),
    *mutants_of(
        "mechanism/selection.py",
        "tests/mechanism/test_selection.py",
        ("return 1 if self.together else 2", "return 1"),
        ("return k * moves.most + (", "return 0 * k + ("),
        ("_minimum(2 * moves.most, moves.one_way)", "_minimum(moves.most, moves.one_way)"),
        ("_set(k, moves) / moves.reach - 1", "_set(k, moves) / moves.reach"),
    ),
    *mutants_of(
        "privacy/local.py",
        "tests/privacy/test_local.py",
        ("jax.nn.sigmoid(-epsilon) * (1 + margin)", "jax.nn.sigmoid(-2 * epsilon) * (1 + margin)"),
        ("epsilon * jnp.where(gave, reports, 1).astype(epsilon.dtype)", "epsilon"),
    ),
    *mutants_of(
        "_neighbors.py",
        "tests/test_neighbors.py",
        ('{("user", "add-remove")},', '{("user", "add-remove"), ("comparison", "add-remove")},'),
    ),
    *mutants_of(
        "_promise.py",
        "tests/test_promise.py",
        ("if promised.contributions > most:", "if promised.contributions < most:"),
    ),
    *mutants_of(
        "release/contributions.py",
        "tests/release/test_contributions.py",
        ("< max_per_user", "<= max_per_user"),
    ),
    *mutants_of(
        "exact/discrete_noise.py",
        "tests/exact/test_discrete_noise.py",
        (
            "math.ceil(sensitivity) / Fraction(epsilon)",
            "math.floor(sensitivity) / Fraction(epsilon)",
        ),
    ),
    *mutants_of(
        "exact/selection.py",
        "tests/exact/test_selection.py",
        ("BITS + 1 - below.bit_length()", "BITS - 40 - below.bit_length()"),
    ),
    *mutants_of(
        "exact/selection.py",
        "tests/mechanism/test_selection.py",
        ("1 / (2 * scale * lead.denominator)", "1 / (scale * lead.denominator)"),
        ("Fraction(epsilon) / (2 * change)", "Fraction(epsilon) / change"),
    ),
    *mutants_of(
        "exact/entropy.py",
        "tests/exact/test_entropy.py",
        ("words[words <= last]", "words"),
    ),
    *mutants_of(
        "aggregation/borda.py",
        "tests/mechanism/test_contract.py",
        ("center=0.5 * (items - 1)", "center=0.5 * items"),
        ('times = 1 if attained.adjacency == "add-remove" else 2', "times = 1"),
    ),
    *mutants_of(
        "pairwise/noisy_totals.py",
        "tests/mechanism/test_contract.py",
        ("        2,\n        second=", "        1,\n        second="),
        ("2 * change_of_totals(kind", "change_of_totals(kind"),
    ),
    *mutants_of(
        "pairwise/noisy_totals.py",
        "tests/pairwise/test_noisy_ties.py",
        ("GAUSSIAN_TIE_WEIGHT = (11, 9)", "GAUSSIAN_TIE_WEIGHT = (12, 9)"),
    ),
    *mutants_of(
        "pairwise/covariate_noise.py",
        "tests/release/test_covariate_sums.py",
        ("each = (2 << bits) +", "each = (1 << bits) +"),
    ),
    *mutants_of(
        "mechanism/additive.py",
        "tests/mechanism/test_contract.py",
        ("values - int(facts.num_users) * round(parts * change.center)", "values"),
        ("factor // halves", "factor"),
    ),
    *mutants_of(
        "aggregation/exponential.py",
        "tests/exact/test_exponential.py",
        ("/ (2 * items * (items - 1))", "/ (items * (items - 1))"),
    ),
    *mutants_of(
        "release/leaderboard.py",
        "tests/release/test_leaderboard.py",
        ("self._rows.drawn(every, first, sources)", "self._rows.drawn(counts, 0, sources)"),
    ),
    *mutants_of(
        "exact/strategy_rows.py",
        "tests/exact/test_strategy_rows.py",
        ("sum(c * c for c in moved)", "sum(c * c for c in moved) // 2"),
    ),
    *mutants_of(
        "release/leaderboard.py",
        "tests/release/test_leaderboard.py",
        (
            "memory.check_witnesses(self.identifier, witnesses)\n                for",
            "pass\n                for",
        ),
    ),
    *mutants_of(
        "release/store.py",
        "tests/release/test_leaderboard.py",
        (
            "            known = self.check_witnesses(board, witnesses)\n",
            "            known = len(self.witnesses(board))\n",
        ),
    ),
    *mutants_of(
        "release/store.py",
        "tests/release/test_store.py",
        (
            "(mode := self.path.stat().st_mode & 0o077)",
            "(mode := self.path.stat().st_mode & 0o007)",
        ),
    ),
    *mutants_of(
        "exact/integer_laplace.py",
        "tests/exact/test_integer_laplace.py",
        ("found[:count] - found[count:]", "found[:count]"),
        ("ball(-k / scale).exp()", "ball(-k / (scale + 1)).exp()"),
    ),
    *mutants_of(
        "exact/local_reports.py",
        "tests/exact/test_two_sets.py",
        ("exp_above(-epsilon)", "exp_above(-2 * epsilon)"),
    ),
    *mutants_of(
        "exact/mallows.py",
        "tests/exact/test_mallows.py",
        ("drawn % (step + 1)", "drawn % step"),
    ),
    *mutants_of(
        "exact/local_reports.py",
        "tests/exact/test_told_orders.py",
        (
            "random_words(users) < told_below(size, epsilon)",
            "random_words(users) <= told_below(size, 2 * epsilon)",
        ),
    ),
    *mutants_of(
        "privacy/shuffling.py",
        "tests/privacy/test_shuffling.py",
        ("chances, first = _binomial(users - 1,", "chances, first = _binomial(2 * users,"),
    ),
    *mutants_of(
        "preferences/label_reports.py",
        "tests/release/test_preference_labels.py",
        (
            "split_epsilon(attained.epsilon, np.asarray(users))",
            "np.full(given.shape, attained.epsilon)",
        ),
    ),
    *mutants_of(
        "preferences/label_training.py",
        "tests/preferences/test_label_training.py",
        ("gaussian_scale(2 * releases**0.5", "gaussian_scale(releases**0.5"),
    ),
    *mutants_of(
        "preferences/label_training.py",
        "tests/preferences/test_exact_training.py",
        ("scales.append(float(deviation) * unit)", "scales.append(float(deviation))"),
    ),
    *mutants_of(
        "exact/randomized_response.py",
        "tests/exact/test_randomized_response.py",
        ("words = int(2**64 / (1 + exp_above", "words = 1 + int(2**64 / (1 + exp_above"),
    ),
    *mutants_of(
        "exact/rounded_gaussian.py",
        "tests/exact/test_rounded_gaussian.py",
        ("chance = 0.5 * (whole - size**2)", "chance = whole - size**2"),
    ),
    *mutants_of(
        "exact/spanning_trees.py",
        "tests/exact/test_spanning_trees.py",
        (
            "ways[secrets.randbelow(len(ways))]",
            "ways[max(secrets.randbelow(len(ways)), secrets.randbelow(len(ways)))]",
        ),
    ),
    *mutants_of(
        "exact/k_norm.py",
        "tests/exact/test_k_norm.py",
        ("rate = Fraction(epsilon) / change", "rate = 2 * Fraction(epsilon) / change"),
    ),
    *mutants_of(
        "exact/radius.py",
        "tests/exact/test_radius.py",
        (
            "self._count(radius), self._count(other)",
            "self._count(radius + 1), self._count(other + 1)",
        ),
    ),
    *mutants_of(
        "aggregation/split_weights.py",
        "tests/aggregation/test_exact_weights.py",
        (
            "return first, max(largest_below(Fraction(epsilon) - Fraction(first)), 0.0)",
            "return first, epsilon",
        ),
    ),
    *mutants_of(
        "release/ledger.py",
        "tests/release/test_ledger.py",
        ("            self.check(privacy, changes, rho)\n", ""),
        ("and failure <= most[1]", ""),
        ("if why := promised.lacks(self.account.budget):", 'if why := "":'),
    ),
    *mutants_of(
        "release/store.py",
        "tests/release/test_ledger_processes.py",
        ('run("BEGIN IMMEDIATE")', 'run("BEGIN")'),
    ),
    *mutants_of(
        "release/ledger.py",
        "tests/release/test_store.py tests/release/test_ledger.py",
        ("hmac.new(bytes.fromhex(key), sha256", 'hmac.new(b"", sha256'),
    ),
    *mutants_of(
        "release/ledger_filter.py",
        "tests/release/test_ledger_filter.py",
        ("_log_constant(excess) - float(self.slack.ln())", "_log_constant(excess)"),
    ),
    *mutants_of(
        "release/ledger.py",
        "tests/release/test_ledger_filter.py",
        (
            "failure <= self._most[1] and divergence <= rule.most",
            "divergence <= rule.most",
        ),
    ),
)
