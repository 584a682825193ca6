"""One table of the mechanisms that jobs use, and their rule: a release is exact, or made with explicit consent.

A key is the name of the mechanism's first row in the audit registry (:mod:`privrank_jax.privacy_audit`). Functions are
named, not imported (a record's method after a dot), so that options can be checked before anything heavy is loaded.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from privrank_jax._promise import NOISES, SHAPED_NOISES

if TYPE_CHECKING:
    from privrank_jax._types import Key
    from privrank_jax.estimate import Estimate
    from privrank_jax.privacy.guarantee import Guarantee

REHEARSAL = (
    "a rehearsal, not to be published or shared: anyone who knows the seed can remove the noise."
)

LAWS = {
    "k-norm": "K-norm",
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "exponential": "exponential",
}
"""Kinds of noise, and how results name them."""

ON_INTEGERS = {
    "k-norm": "discrete K-norm",
    "laplace": "discrete Laplace",
    "gaussian": "rounded Gaussian",
}
"""Those whose exact noise is of integers."""

_INEXACT = (
    "the reports come from fast floating-point generators, keyed by the operating system, and only approximate their "
    "exact law."
)

_WHY = {
    "idealized": (
        "the proof behind this release holds for real numbers and an exact minimizer, and floating point has "
        "neither: what is published could reveal more than the guarantee admits "
        "(help(privrank_jax.mechanism.objective) explains how)"
    ),
    "unknown": "how the noise of this release was drawn is not known",
    "simulation": (
        "the noise of this release would come from fast floating-point generators, made for simulation: their low "
        "bits can reveal answers"
    ),
}


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """One mechanism: its simulated and exact functions, and what it protects.

    Attributes:
        label: name in titles of results, after "by".
        of: what it is for, where a method has several.
        simulated: ``"module:function"``, called with ``(key, data, privacy, ...)``.
        exact: what draws it exactly, called with ``(data, privacy, ...)``: by default its verb ``release``, where
            ``numerics`` says so; else "".
        numerics: numerics of a release: ``"exact"``, or what is used instead.
        noises: noises that it can draw, the default first; data that say what all users were asked have another one.
        integers: whether the exact noise is of integers, not of real numbers.
        trust: who draws the noise.
        instead: an instruction that leads to an exact mechanism, where this one is not.
    """

    label: str
    of: str = ""
    _: dataclasses.KW_ONLY
    simulated: str = ""
    exact: str = ""
    numerics: str = "exact"
    noises: tuple[str, ...] = NOISES[:1]
    integers: bool = True
    trust: str = "central"
    instead: str = ""

    def __post_init__(self) -> None:
        if self.simulated and self.numerics == "exact" and not self.exact:
            object.__setattr__(self, "exact", f"{self.simulated}.release")

    @property
    def always_delta(self) -> bool:
        """Whether it spends δ whatever the noise: shuffling adds no privacy without."""
        return self.trust == "shuffled"

    def noise_of(self, requested: str | None) -> str:
        """The noise: as requested, else the default."""
        return requested or self.noises[0]

    def drawn_exactly(self, source: Randomness) -> bool:
        """Whether the exact twin draws the noise; ``ValueError`` for a release that is not exact nor accepted."""
        if not self.exact:
            source.check(self.numerics, self.instead)
            return False
        return not source.rehearsal


_REPORTED: dict[str, Any] = {
    "numerics": "simulation",
    "trust": "local",
    "instead": "use method='borda' or trust='central'",
}


def _of(package: str, rows: dict[str, Mechanism]) -> dict[str, Mechanism]:
    """Mechanisms of a package, each drawn by its function of that name unless another one is said."""
    return {
        name: dataclasses.replace(
            one, simulated=one.simulated or f"{package}:{name.replace('-', '_')}"
        )
        for name, one in rows.items()
    }


_PAIRWISE = {
    "noisy-counts": Mechanism(
        "noisy win totals", "comparisons, public who met whom", noises=(*NOISES, "k-norm")
    ),
    "noisy-choices": Mechanism("noisy counts of choices", "choices, public sets", noises=NOISES),
    "covariate-sums": Mechanism(
        "private scores with covariates",
        "covariates, public",
        noises=NOISES,
        simulated="pairwise:noisy_sums",
    ),
    "covariate-ties": Mechanism(
        "private scores with covariates and ties",
        "covariates, public, and ties",
        noises=NOISES,
        simulated="pairwise:noisy_sums_and_ties",
    ),
    "noisy-tie-counts": Mechanism(
        "noisy win totals and ties",
        "ties, public who met whom",
        noises=NOISES,
        simulated="pairwise:noisy_ties",
    ),
    "perturbed-mle": Mechanism(
        "private scores", "comparisons, or another link", integers=False, noises=NOISES
    ),
    "perturbed-covariates": Mechanism(
        "private scores with covariates",
        "covariates, private, with or without ties",
        integers=False,
    ),
    "perturbed-davidson": Mechanism("private scores with ties", "ties", integers=False),
    "perturbed-choices": Mechanism("private scores of choices", "choices", integers=False),
    "noisy-design": Mechanism(
        "noisy information about items", simulated="pairwise.private_design:noisy_design"
    ),
    "one-shot-top-k": Mechanism("one-shot noise"),
    "canonical-top-k": Mechanism(
        "one draw among all sets", noises=("exponential",), integers=False
    ),
}
_AGGREGATION = {
    "dp-borda": Mechanism("noisy Borda scores", noises=SHAPED_NOISES),
    "dp-scores": Mechanism("noisy totals of points", noises=SHAPED_NOISES),
    "dp-kwiksort": Mechanism("noisy KwikSort", noises=NOISES),
    "noise-all": Mechanism("Kemeny ranking of noisy weights", noises=SHAPED_NOISES),
    "private-weights": Mechanism(
        "Kemeny ranking of private weights", noises=("k-norm", "gaussian")
    ),
    "dp-footrule": Mechanism("least footrule on noisy counts of positions", noises=SHAPED_NOISES),
    "exponential-kemeny": Mechanism("the exponential mechanism"),
    "sub-ranking-weights": Mechanism("one answer per user", trust="local"),
    "shuffled-pair-weights": Mechanism("one shuffled answer per user", trust="shuffled"),
    "ldp-borda-subsets": Mechanism("Borda scores from two sets of items per user", trust="local"),
    "ldp-borda": Mechanism("Borda scores from one report per user", **_REPORTED),
    "ldp-borda-privunit": Mechanism("Borda scores from one report per user", **_REPORTED),
    "ldp-kwiksort": Mechanism("local KwikSort", **_REPORTED),
}
_ELSEWHERE = {
    "randomized-response": Mechanism(
        "randomized response",
        simulated="privacy:randomized_response",
        exact="exact.randomized_response:flipped_bits",
        trust="local",
    ),
    "preference-labels": Mechanism(
        "randomized response", simulated="preferences:randomized_labels", trust="local"
    ),
    "mallows-sample": Mechanism(
        "the Mallows model",
        simulated="jobs.randomize:simulated_mallows",
        exact="mallows:sample.release",
        trust="local",
    ),
}
MECHANISMS = _of("pairwise", _PAIRWISE) | _of("aggregation", _AGGREGATION) | _of("", _ELSEWHERE)
"""All, by name."""


class Randomness:
    """Where the noise of one job comes from: the operating system, or a key in a rehearsal.

    Args:
        key: PRNG key of a rehearsal; None: a release.
        accept_idealized: whether a release that can't be drawn exactly is made, with a guarantee that says so.
    """

    def __init__(self, key: Key | None = None, *, accept_idealized: bool = False) -> None:
        self._key, self._accepted, self._drawn = key, accept_idealized, 0
        if key is not None:
            from privrank_jax._workarounds.threefry import use_up

            use_up(key)

    @property
    def rehearsal(self) -> bool:
        """Whether the noise is simulated and nothing may be published."""
        return self._key is not None

    @property
    def seed(self) -> int | None:
        """The seed of a rehearsal's key; None in a release."""
        if self._key is None:
            return None
        import jax
        import numpy as np

        high, *_, low = np.asarray(jax.random.key_data(self._key)).ravel().tolist()
        return high << 32 | low

    def key(self) -> Key:
        """Return a fresh key."""
        import jax
        import numpy as np

        if self._key is None:
            data = np.frombuffer(secrets.token_bytes(8), np.uint32)
            return jax.random.wrap_key_data(jax.numpy.asarray(data), impl="threefry2x32")
        self._drawn += 1
        return jax.random.fold_in(self._key, self._drawn)

    def salt(self) -> str:
        """Return a fresh salt for a keyed hash, as text."""
        import jax
        import numpy as np

        if self._key is None:
            return secrets.token_hex()
        return np.asarray(jax.random.key_data(self.key())).tobytes().hex()

    def check(self, numerics: str, instead: str = "") -> None:
        """Refuse a release whose numerics aren't exact, unless accepted, and say what to do ``instead``."""
        if numerics == "exact" or self.rehearsal or self._accepted:
            return
        instead = f"{instead}; " if instead else ""
        raise ValueError(
            f"{instead}as asked, the release is not exact: {_WHY[numerics]}. Or rehearse by `key`, or add "
            "`accept_idealized` to release it anyway, with a guarantee that says so."
        )


@dataclasses.dataclass(frozen=True)
class Sampled:
    """What a mechanism drew, and how.

    Attributes:
        value: what the function returned.
        numerics: ``"exact"``, or what the noise is instead.
        noise: distribution of the noise, in words, where the mechanism adds noise.
        remarks: remarks for the holder of the data.
    """

    value: Any
    numerics: str
    noise: str
    remarks: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether it was drawn exactly."""
        return self.numerics == "exact"


def sample(name: str, source: Randomness, data: Any, *arguments: Any, **options: Any) -> Sampled:
    """Run a mechanism on data: its exact twin for a release, where there is one, and the simulated one for a rehearsal.

    Further arguments, the promise first, and options go to either twin.
    """
    mechanism = MECHANISMS[name]
    kind = mechanism.noise_of(options.get("noise"))
    if mechanism.drawn_exactly(source):
        value = function_of(mechanism.exact)(data, *arguments, **options)
        return Sampled(value, "exact", (ON_INTEGERS if mechanism.integers else LAWS)[kind], ())
    value = function_of(mechanism.simulated)(source.key(), data, *arguments, **options)
    if source.rehearsal:
        return Sampled(value, "simulation", LAWS[kind], (REHEARSAL,))
    return Sampled(value, mechanism.numerics, LAWS[kind], (_INEXACT,))


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


def draw(name: str, source: Randomness, data: Any, *arguments: Any, **options: Any) -> Drawn:
    """Release by the mechanism of that name; arguments as for :func:`sample`.

    The guarantee is for users with any number of comparisons, as those beyond L were dropped. That of a rehearsal says
    that it is one.
    """
    sampled = sample(name, source, data, *arguments, **options)
    guarantee, warnings = sampled.value.guarantee.for_any_user(), sampled.remarks
    if source.rehearsal:
        guarantee, warnings = rehearsed(guarantee), ()
    return Drawn(sampled.value, guarantee, sampled.exact, sampled.noise, warnings)


def rehearsed(guarantee: Guarantee) -> Guarantee:
    """The guarantee of a rehearsal, which says that it is one."""
    note = " ".join(filter(None, (guarantee.note, REHEARSAL.capitalize())))
    return dataclasses.replace(guarantee, numerics="simulation", note=note)


def function_of(path: str) -> Callable[..., Any]:
    """Look up a function, named as ``simulated`` and ``exact`` do, at each call, so that an audit can intercept it."""
    module, _, name = path.partition(":")
    return operator.attrgetter(name)(importlib.import_module(f"privrank_jax.{module}"))
