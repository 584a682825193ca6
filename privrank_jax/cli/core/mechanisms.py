"""One table of the mechanisms that commands use: how each is simulated and how it is drawn exactly.

A key is the name of the mechanism's first row in the audit registry (:mod:`privrank_jax.privacy_audit`). Functions are
named, not imported, so that options can be checked before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from privrank_jax._neighbors import COMPARISON_KINDS
from privrank_jax.cli.core.numerics import check_numerics, draws_exactly
from privrank_jax.cli.core.request import Release
from privrank_jax.release.library import EXTRA

if TYPE_CHECKING:
    from privrank_jax.cli.core.entropy import Entropy
    from privrank_jax.estimate import Estimate
    from privrank_jax.privacy.guarantee import Guarantee

_OF_RANKINGS = (("user", "replace"),)
_INDEPENDENT = ("laplace", "gaussian")  # drawn for each number by itself
_LAWS = {"k-norm": "K-norm", "laplace": "Laplace", "gaussian": "Gaussian"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mechanism:
    """One mechanism: its simulated and exact functions, and what it protects.

    Attributes:
        label: name in titles of results, after "by".
        simulated: ``"module:function"``, called with ``(key, data, privacy, ...)``.
        exact: its exact twin, called with ``(data, privacy, ...)``; "" if there is none.
        numerics: numerics of a release: ``"exact"``, or what is used instead.
        opendp: noises that the exact twin takes from OpenDP; it needs nothing but the operating system for others.
        kinds: kinds of promise (unit, adjacency) that it keeps.
        noises: noises that it can draw, the default first.
        trust: who draws the noise.
        instead: an instruction that leads to an exact mechanism, where this one is not.
    """

    label: str
    simulated: str
    exact: str = ""
    numerics: str = "exact"
    opendp: tuple[str, ...] = _INDEPENDENT
    kinds: tuple[tuple[str, str], ...] = _OF_RANKINGS
    noises: tuple[str, ...] = _INDEPENDENT[:1]
    trust: str = "central"
    instead: str = ""

    def noise_of(self, requested: str | None) -> str:
        """The noise: as requested, else the default."""
        return requested or self.noises[0]

    def drawn_exactly(self, request: Release, noise: str | None = None) -> bool:
        """Whether the exact twin draws this request.

        Args:
            request: a release or a rehearsal.
            noise: the noise; None for the default.

        Raises:
            Refusal: it is a release that is not exact, without ``--accept-idealized``.
        """
        if not self.exact:
            check_numerics(self.numerics, request, self.instead)
            return False
        if self.noise_of(noise) in self.opendp:
            return draws_exactly(request)
        return not request.simulate


MECHANISMS = {
    "noisy-counts": Mechanism(
        label="noisy win totals",
        simulated="pairwise:noisy_counts",
        exact="release.noisy_totals:exact_noisy_totals",
        kinds=COMPARISON_KINDS,
        noises=_INDEPENDENT,
    ),
    "perturbed-mle": Mechanism(
        label="private scores",
        simulated="pairwise:perturbed_mle",
        numerics="idealized",
        kinds=COMPARISON_KINDS,
        noises=_INDEPENDENT,
        instead="use --adjacency flip with --link logistic, which releases the scores exactly (who compared what is "
        "then public), or --method counts",
    ),
    "one-shot-top-k": Mechanism(
        label="one-shot noise",
        simulated="pairwise:one_shot_top_k",
        exact="release.noisy_totals:exact_top_k",
        kinds=COMPARISON_KINDS,
    ),
    "dp-borda": Mechanism(
        label="noisy Borda scores",
        simulated="aggregation:dp_borda",
        exact="release.exact_aggregation:exact_borda",
        noises=_INDEPENDENT,
    ),
    "dp-kwiksort": Mechanism(
        label="a sort of noisy majorities",
        simulated="aggregation:dp_kwiksort",
        exact="release.exact_aggregation:exact_kwiksort",
        noises=_INDEPENDENT,
    ),
    "noise-all": Mechanism(
        label="least disagreement with noisy majorities",
        simulated="aggregation:noise_all",
        exact="release.exact_aggregation:exact_noise_all",
        noises=_INDEPENDENT,
    ),
    "exponential-kemeny": Mechanism(
        label="the exponential mechanism",
        simulated="aggregation:exponential_kemeny",
        exact="release.exponential:exact_exponential",
        opendp=(),
    ),
    "one-pair-weights": Mechanism(
        label="one answer per user",
        simulated="aggregation:one_pair_weights",
        exact="release.one_pair:exact_one_pair_weights",
        trust="local",
    ),
    "ldp-borda": Mechanism(
        label="Borda scores from one report per user",
        simulated="aggregation:ldp_borda",
        numerics="simulation",
        trust="local",
        instead="use --method borda or --trust central",
    ),
    "ldp-kwiksort": Mechanism(
        label="a sort that asks groups of users",
        simulated="aggregation:ldp_kwiksort",
        numerics="simulation",
        trust="local",
        instead="use --method borda or --trust central",
    ),
    "local-weights": Mechanism(
        label="least disagreement with noisy majorities",
        simulated="aggregation:local_weights",
        numerics="simulation",
        trust="local",
        instead="use --method borda or --trust central",
    ),
    "randomized-response": Mechanism(
        label="randomized response",
        simulated="privacy:randomized_response",
        exact="release.randomized_response:exact_randomized_response",
        kinds=(("comparison", "flip"),),
        trust="local",
    ),
    "mallows-sample": Mechanism(
        label="the Mallows model",
        simulated="cli.privatize.ranking_files:simulated_mallows",
        exact="release.mallows:exact_mallows",
        opendp=(),
        kinds=(("rank", "replace"),),
        trust="local",
    ),
}


def sample(
    name: str, request: Release, entropy: Entropy, data: Any, *arguments: Any, **options: Any
) -> tuple[Any, bool]:
    """Run a mechanism on data; also returns whether it was drawn exactly.

    Args:
        name: name of the mechanism.
        request: says whether this is a rehearsal.
        entropy: keys.
        data: data of the users.
        arguments: further arguments, the promise first.
        options: options of both twins.
    """
    mechanism = MECHANISMS[name]
    if mechanism.drawn_exactly(request, options.get("noise")):
        return _function(mechanism.exact)(data, *arguments, **options), True
    return _function(mechanism.simulated)(entropy.key(), data, *arguments, **options), False


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A release by a mechanism of the table.

    Attributes:
        estimate: its value and diagnostics.
        guarantee: guarantee of the release.
        exact: whether it was drawn exactly.
        law: distribution of the noise, in words.
        warnings: warnings for the holder of the data.
    """

    estimate: Estimate
    guarantee: Guarantee
    exact: bool
    law: str
    warnings: tuple[str, ...]

    @property
    def scale(self) -> float:
        """Scale of the noise."""
        return float(self.estimate.diagnostics.noise_scale)


def draw(
    name: str, request: Release, entropy: Entropy, data: Any, *arguments: Any, **options: Any
) -> Drawn:
    """Release by the mechanism of that name; arguments as for :func:`sample`."""
    estimate, exact = sample(name, request, entropy, data, *arguments, **options)
    law = _LAWS[MECHANISMS[name].noise_of(options.get("noise"))]
    return Drawn(
        estimate,
        _labeled(estimate.guarantee, request, exact),
        exact,
        f"discrete {law}" if exact else law,
        () if exact or request.simulate else _about_noise(name),
    )


def _function(path: str) -> Callable[..., Any]:
    """Look up a function at each call, so that an audit can intercept it."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"privrank_jax.{module}"), name)


def _labeled(guarantee: Guarantee | None, request: Release, exact: bool) -> Guarantee:
    """The guarantee for users with any number of comparisons, as those beyond L were dropped; noted in a rehearsal."""
    assert guarantee is not None
    guarantee = guarantee.for_any_user()
    if exact or not request.simulate:
        return guarantee
    parts = [guarantee.note] if guarantee.note else []
    parts.append(
        "A rehearsal, not to be published: anyone who knows the seed can remove the noise."
    )
    return dataclasses.replace(guarantee, numerics="simulation", note=" ".join(parts))


def _about_noise(name: str) -> tuple[str, ...]:
    """The warning for a release that is not exact."""
    mechanism = MECHANISMS[name]
    if mechanism.numerics == "idealized":
        return (
            "this guarantee is proven for real numbers and an exact minimizer only; "
            "help(privrank_jax.privacy.calibration) explains what that may cost.",
        )
    if mechanism.trust == "local":
        return (
            "the reports come from fast floating-point generators, keyed by the operating system, and only "
            "approximate their exact law.",
        )
    return (
        "the noise comes from fast floating-point generators, keyed by the operating system: their low "
        f"bits can give answers away. For exact noise: {EXTRA}.",
    )
