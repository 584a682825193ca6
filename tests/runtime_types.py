"""Examples of every package under a runtime checker of types and shapes: ``python -m tests.runtime_types``.

Every function of the package is wrapped as it is imported (jaxtyping's import hook, beartype), so an example fails
where an argument or a result is not what the signature says, or prints something else than what stands below it.
:mod:`tests.test_types` runs this in its own process, in the thorough tier.
"""

from __future__ import annotations

import doctest
import importlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from beartype import BeartypeConf, beartype
from jaxtyping import TypeCheckError, install_import_hook

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
    """``function`` with its arguments and result checked, unless it makes a dataclass, or one of its own class.

    JAX makes pytrees again from whatever a transformation puts in the place of their arrays: batches, placeholders.
    """
    if function.__name__ == "__init__" or "Self" in str(function.__annotations__.get("return")):
        return function
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)


def checked_here(test: doctest.DocTest) -> bool:
    """Whether a docstring's examples run here: those of an error may meet the checker's error before the library's."""
    return all(example.exc_msg is None for example in test.examples)


def main() -> bool:
    """Run all examples in double precision; what is wrong is printed."""
    with install_import_hook("privrank_jax", CHECKED):
        modules = [importlib.import_module(f"privrank_jax.{name}") for name in EXAMPLES]
    wrong: list[str] = []
    try:
        metrics = importlib.import_module("privrank_jax.metrics")
        metrics.kendall_distance(jnp.arange(3), jnp.arange(4))
        wrong.append("the checker is not at work: a wrong shape passed")
    except TypeCheckError:
        pass
    jax.config.update("jax_enable_x64", True)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner, finder = doctest.DocTestRunner(optionflags=flags), doctest.DocTestFinder()
    for test in (one for module in modules for one in finder.find(module) if checked_here(one)):
        runner.run(test, out=wrong.append)
    print("".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.modules["tests.runtime_types"] = sys.modules["__main__"]
    importlib.import_module("tests").runtime_types = sys.modules["__main__"]
    sys.exit(main())
