"""One table of the mechanisms that jobs use, and their rule: every release is exact.

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
    from privrank_jax.privacy.guarantee import Guarantee

REHEARSAL = (
    "a rehearsal, not to be published or shared: anyone who knows the seed can remove the noise."
)

LAWS = {name: name.capitalize() for name in SHAPED_NOISES} | {"exponential": "exponential"}
"""Kinds of noise, and how results name them."""
ON_INTEGERS = {name: f"discrete {law}" for name, law in LAWS.items()}
ON_INTEGERS["gaussian"] = "rounded Gaussian"
"""The same where exact noise is of integers."""


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """One mechanism: its simulated and exact functions, ``"module:function"``, and what it protects."""

    label: str  # name in titles of results, after "by"
    of: str = ""  # what it is for, where a method has several
    noises: tuple[str, ...] = NOISES[:1]  # that it can draw, the default first
    simulated: str = ""  # called with (key, data, privacy, ...)
    exact: str = ""  # called with (data, privacy, ...)
    _: dataclasses.KW_ONLY
    integers: bool = True  # whether the exact noise is of integers, not of real numbers
    trust: str = "central"  # who draws the noise

    def noise_of(self, requested: str | None) -> str:
        """The noise: as requested, else the default."""
        return requested or self.noises[0]


def _of(package: str, rows: dict[str, Mechanism]) -> dict[str, Mechanism]:
    """Mechanisms of a package, drawn by its records of that name, and exactly by their verb, unless others are said."""
    for name, one in rows.items():
        simulated = one.simulated or f"{package}:{name.replace('-', '_')}"
        exact = one.exact or f"{simulated}.release"
        rows[name] = dataclasses.replace(one, simulated=simulated, exact=exact)
    return rows


_WITH = "private scores with covariates"
_IN_USERS: dict[str, Any] = {"trust": "local"}
_REAL: dict[str, Any] = {"integers": False}
_PAIRWISE = {
    "noisy-counts": Mechanism(
        "noisy win totals", "comparisons, public who met whom", (*NOISES, "k-norm")
    ),
    "noisy-choices": Mechanism("noisy counts of choices", "choices, public sets", NOISES),
    "covariate-sums": Mechanism(_WITH, "covariates, public", NOISES, "pairwise:noisy_sums"),
    "covariate-ties": Mechanism(
        _WITH, "covariates, public, and ties", NOISES, "pairwise:noisy_sums_and_ties"
    ),
    "noisy-tie-counts": Mechanism(
        "noisy win totals and ties", "ties, public who met whom", NOISES, "pairwise:noisy_ties"
    ),
    "perturbed-mle": Mechanism("private scores", "comparisons, or another link", NOISES, **_REAL),
    "perturbed-covariates": Mechanism(_WITH, "covariates, private, with or without ties", **_REAL),
    "perturbed-davidson": Mechanism("private scores with ties", "ties", **_REAL),
    "perturbed-choices": Mechanism("private scores of choices", "choices", **_REAL),
    "noisy-design": Mechanism(
        "noisy information about items", simulated="pairwise.private_design:noisy_design"
    ),
    "one-shot-top-k": Mechanism("one-shot noise"),
    "canonical-top-k": Mechanism("one draw among all sets", noises=("exponential",), **_REAL),
}
_AGGREGATION = {
    "dp-borda": Mechanism("noisy Borda scores", "", SHAPED_NOISES),
    "dp-scores": Mechanism("noisy totals of points", "", SHAPED_NOISES),
    "dp-kwiksort": Mechanism("noisy KwikSort", "", NOISES),
    "noise-all": Mechanism("Kemeny ranking of noisy weights", "", SHAPED_NOISES),
    "private-weights": Mechanism("Kemeny ranking of private weights", "", ("k-norm", "gaussian")),
    "dp-footrule": Mechanism("least footrule on noisy counts of positions", "", SHAPED_NOISES),
    "exponential-kemeny": Mechanism("the exponential mechanism"),
    "sub-ranking-weights": Mechanism("one answer per user", **_IN_USERS),
    "shuffled-pair-weights": Mechanism("one shuffled answer per user", trust="shuffled"),
    "ldp-borda-subsets": Mechanism("Borda scores from two sets of items per user", **_IN_USERS),
}
_ELSEWHERE = {
    "randomized-response": Mechanism(
        "randomized response",
        simulated="privacy:randomized_response",
        exact="exact.randomized_response:flipped_bits",
        **_IN_USERS,
    ),
    "preference-labels": Mechanism(
        "randomized response", simulated="preferences:randomized_labels", **_IN_USERS
    ),
    "mallows-sample": Mechanism(
        "the Mallows model",
        simulated="jobs.randomize:simulated_mallows",
        exact="mallows:sample.release",
        **_IN_USERS,
    ),
}
MECHANISMS = _of("pairwise", _PAIRWISE) | _of("aggregation", _AGGREGATION) | _of("", _ELSEWHERE)
"""All, by name."""


def _words_of(key: Key) -> Any:
    import jax
    import numpy as np

    return np.asarray(jax.random.key_data(key))


class Randomness:
    """Where the noise of one job comes from: the operating system, or the ``key`` of a rehearsal."""

    def __init__(self, key: Key | None = None) -> None:
        self._key, self._drawn = key, 0
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
        high, *_, low = _words_of(self._key).ravel().tolist()
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
        return secrets.token_hex() if self._key is None else _words_of(self.key()).tobytes().hex()

    def check(self, guarantee: Guarantee | None) -> None:
        """Refuse to publish what was not drawn exactly."""
        if guarantee is not None and guarantee.numerics != "exact" and not self.rehearsal:
            raise ValueError(f"the noise was not drawn exactly, but by {guarantee.numerics}.")


@dataclasses.dataclass(frozen=True)
class Drawn:
    """What a mechanism drew, and how."""

    value: Any  # what the function returned: of one that makes a guarantee, an Estimate
    numerics: str  # "exact", or what the noise is instead
    law: str  # distribution of the noise, in words, where the mechanism adds noise
    remarks: tuple[str, ...] = ()  # for the holder of the data

    @property
    def exact(self) -> bool:
        """Whether it was drawn exactly."""
        return self.numerics == "exact"

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release, for users with any number of comparisons, as those beyond L were dropped."""
        found = self.value.guarantee.for_any_user()
        return rehearsed(found) if REHEARSAL in self.remarks else found

    @property
    def warnings(self) -> tuple[str, ...]:
        """Remarks but that it is a rehearsal, which the guarantee says."""
        return tuple(one for one in self.remarks if one != REHEARSAL)

    @property
    def scale(self) -> float:
        """Scale of the noise."""
        return float(self.value.diagnostics.noise_scale)


def draw(name: str, source: Randomness, data: Any, *arguments: Any, **options: Any) -> Drawn:
    """Run a mechanism on data: its exact twin for a release, where there is one, and the simulated one for a rehearsal.

    Further arguments, the promise first, and options go to either twin.
    """
    mechanism = MECHANISMS[name]
    kind = mechanism.noise_of(options.get("noise"))
    if source.rehearsal:
        value = function_of(mechanism.simulated)(source.key(), data, *arguments, **options)
        return Drawn(value, "simulation", LAWS[kind], (REHEARSAL,))
    value = function_of(mechanism.exact)(data, *arguments, **options)
    return Drawn(value, "exact", (ON_INTEGERS if mechanism.integers else LAWS)[kind])


def rehearsed(guarantee: Guarantee) -> Guarantee:
    """The guarantee of a rehearsal, which says that it is one."""
    note = " ".join(filter(None, (guarantee.note, REHEARSAL.capitalize())))
    return dataclasses.replace(guarantee, numerics="simulation", note=note)


def function_of(path: str) -> Callable[..., Any]:
    """Look up a function, named as ``simulated`` and ``exact`` do, at each call, so that an audit can intercept it."""
    module, _, name = path.partition(":")
    return operator.attrgetter(name)(importlib.import_module(f"privrank_jax.{module}"))
