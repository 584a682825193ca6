"""Examples of every package under a runtime checker of types and shapes: ``python -m tests.runtime_types``.

Every function of the package is wrapped as it is imported (jaxtyping's import hook, beartype), so an example fails
where an argument or a result is not what the signature says, or prints something else than what stands below it.
:mod:`tests.test_types` runs this in its own process; pytest does not run the same examples again beside it.
"""

from __future__ import annotations

import doctest
import gc
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from beartype import BeartypeConf, beartype
from jaxtyping import Array, Float, TypeCheckError, install_import_hook, jaxtyped

from tests.shared_contexts import share_contexts

CHECKED = "tests.runtime_types.checked"
# Modules with examples that take little to compile, several of each package.
EXAMPLES = (
    "comparisons", "links", "metrics", "rankings",
    "privacy.local", "privacy.geometry", "privacy.noise_law",
    "privacy.loss_distribution", "privacy.guarantee",
    "pairwise.maximum_likelihood", "pairwise.debiased_fit", "pairwise.uncertainty",
    "pairwise.perturbed_fit", "pairwise.noisy_totals", "pairwise.continual", "privacy.prefix_sums",
    "pairwise.theory", "pairwise.transitivity", "pairwise.choices",
    "pairwise.fits", "pairwise.covariate_noise",
    "privacy.bodies", "exact.k_norm",
    "pairwise.covariates",
    "aggregation.weights", "aggregation.borda", "aggregation.sorting", "aggregation.noisy_weights",
    "aggregation.majority_rules",
    "aggregation.dp_sorting", "aggregation.exponential", "aggregation.sub_rankings", "aggregation.bounds",
    "aggregation.shuffled_pairs", "privacy.shuffling", "aggregation.footrule",
    "exact.radius", "release.leaderboard", "exact.integer_noise",
    "aggregation.auto",
    "aggregation.kemeny_rule",
    "aggregation.ldp_sorting",
    "aggregation.vector_reports", "aggregation.query_budgets",
    "simulate.worlds.hard_rankings",
    "mallows.distribution", "mallows.sampling", "mallows.laplace", "mallows.kernel", "mallows.attack",
    "preferences.label_losses", "preferences.objectives", "preferences.accuracy",
    "preferences.label_training",
    "preferences.label_reports", "release.preference_labels",
    "personalized.surrogate", "simulate.worlds.comparisons", "simulate.worlds.reports",
    "simulate.worlds.rankings",
)  # fmt: skip


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with its arguments and result checked, unless it makes a dataclass.

    JAX makes pytrees again from whatever a transformation puts in the place of their arrays: batches, placeholders.
    """
    if function.__name__ == "__init__":
        return function
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)


def imported() -> list[ModuleType]:
    """The modules with examples, wrapped, and all that they import."""
    with install_import_hook("privrank_jax", CHECKED):
        return [importlib.import_module(f"privrank_jax.{name}") for name in EXAMPLES]


def checked_here(test: doctest.DocTest) -> bool:
    """Whether a docstring's examples run here: those of an error may meet the checker's error before the library's."""
    return all(example.exc_msg is None for example in test.examples)


def run_examples(module: ModuleType) -> list[str]:
    """What is wrong with the types or the outputs of the examples of this module."""
    wrong: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in filter(checked_here, doctest.DocTestFinder().find(module)):
        runner.run(test, out=wrong.append)
    return wrong


def transformed() -> None:
    """``jit``, ``vmap`` and ``grad`` show a function the axes of one problem."""
    from privrank_jax import comparisons, mallows, metrics, privacy, rankings

    key = jax.random.key(0)
    scores = jnp.array([[0.3, 0.1, 0.2], [1.0, 2.0, 3.0]])
    ranks = jax.jit(jax.vmap(rankings.ranks_from_scores))(scores)
    jax.vmap(metrics.kendall_distance, in_axes=(0, None))(ranks, ranks[0])
    jax.grad(lambda theta: metrics.relative_error(theta, scores[1]))(scores[0])
    keys = jax.random.split(key, 2)
    jax.vmap(mallows.sample, in_axes=(0, 0, None))(keys, ranks, 1.0)
    jax.jit(privacy.randomized_response)(key, ranks > 0, 2.0)

    @jax.jit
    def batch(matrices: jax.Array) -> comparisons.WinCounts:
        return jax.vmap(comparisons.WinCounts)(matrices)

    batch(jnp.ones((4, 3, 3)) - jnp.eye(3)).totals  # noqa: B018


def refuses_wrong_shapes() -> None:
    """The checker is at work: it reports arguments and results of other shapes than the signature says."""
    from privrank_jax import metrics

    @jaxtyped(typechecker=checked)
    def squared(scores: Float[Array, "items"]) -> Float[Array, "items items"]:  # noqa: F821, UP037
        return scores * scores

    for call in (
        lambda: metrics.kendall_distance([[0, 1]], [[1, 0]]),
        lambda: metrics.kendall_distance(jnp.arange(3), jnp.arange(4)),
        lambda: squared(jnp.ones(3)),
    ):
        try:
            call()
        except TypeCheckError:
            continue
        raise AssertionError("a wrong shape passed")


def main() -> bool:
    """Run everything, in double and in single precision; what is wrong is printed."""
    share_contexts()
    gc.disable()  # what is imported and traced stays, and searches for garbage would go through all of it
    modules = imported()
    refuses_wrong_shapes()
    wrong = []
    jax.config.update("jax_enable_x64", True)
    for module in modules:
        wrong += run_examples(module)
    for double in (True, False):
        jax.config.update("jax_enable_x64", double)
        transformed()
    print("".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.modules["tests.runtime_types"] = sys.modules["__main__"]
    importlib.import_module("tests").runtime_types = sys.modules["__main__"]
    sys.exit(main())
