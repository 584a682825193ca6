"""Noise of ``privrank rank``: exact where possible, and labeled for what it is."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Protocol

from privrank_jax import pairwise
from privrank_jax.cli.core.numerics import EXTRA, draws_exactly
from privrank_jax.cli.rank.command import Request
from privrank_jax.cli.rank.input import Input, promised
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.release import exact_noisy_totals


def noisy_totals(data: Input, request: Request) -> tuple[Estimate, bool, tuple[str, ...]]:
    """Noisy win totals, whether their noise is exact, and warnings."""
    exact = draws_exactly(request)
    privacy = promised(request, data.per_user)
    if exact:
        estimate = exact_noisy_totals(
            data.wins, privacy, noise=request.noise, sensitivity=data.sensitivity
        )
        guarantee = of_any_user(estimate.guarantee)
        return dataclasses.replace(estimate, guarantee=guarantee), True, ()
    estimate = pairwise.noisy_counts(
        data.entropy.key(),
        data.wins,
        privacy,
        noise=request.noise,
        sensitivity=data.sensitivity,
    )
    guarantee = labeled(estimate.guarantee, request)
    return dataclasses.replace(estimate, guarantee=guarantee), False, about_noise(request)


class NoiseOptions(Protocol):
    """What the options of a command say of the noise."""

    @property
    def noise(self) -> str:
        """``"laplace"`` or ``"gaussian"``."""
        ...

    @property
    def simulate(self) -> bool:
        """Whether this is a rehearsal."""
        ...


def about_noise(request: NoiseOptions) -> tuple[str, ...]:
    """The warning that goes with noise that is not exact."""
    if request.simulate:
        return ()
    return (
        "the noise comes from fast floating-point generators, keyed by the operating system: their low "
        f"bits can give answers away. For exact noise: {EXTRA}.",
    )


def of_any_user(guarantee: Guarantee | None) -> Guarantee:
    """The guarantee for users of any number of comparisons: those beyond the bound were left out before."""
    assert guarantee is not None
    return guarantee.for_any_user()


def labeled(guarantee: Guarantee | None, request: NoiseOptions) -> Guarantee:
    """The guarantee, marked as a rehearsal where it is one."""
    guarantee = of_any_user(guarantee)
    parts = [guarantee.note] if guarantee.note else []
    if request.simulate:
        parts.append("A rehearsal, not to be published: who knows the seed can take the noise off.")
    numerics = "simulation" if request.simulate else guarantee.numerics
    return dataclasses.replace(guarantee, numerics=numerics, note=" ".join(parts))


def noise_name(request: NoiseOptions, exact: bool) -> str:
    """The law of the noise in words."""
    name = "Gaussian" if request.noise == "gaussian" else "Laplace"
    return f"discrete {name}" if exact else name


def noise_reach(scale: float, noise: str, level: float, items: int) -> float:
    """Half-width that holds the noise of all items with probability ``level``; draws are independent.

    Discrete noise on the halves needs half a win more: with α = e^(-1/s) on twice the totals, P(|X| > t + 1) is
    2α^(⌊t⌋ + 2)/(1 + α) <= α^t (Laplace), and at most P(|N| > t) (Gaussian; Canonne, Kamath, Steinke, 2020).

    >>> round(noise_reach(1.0, "laplace", 0.95, 1), 3)  # log 20
    2.996
    """
    beyond = -math.expm1(math.log(level) / items)  # 1 - level^(1/items), for one item
    if noise == "laplace":
        return -scale * math.log(beyond)
    from statistics import NormalDist

    return -scale * NormalDist().inv_cdf(beyond / 2)


def public_facts(data: Input, request: Request, **facts: Any) -> dict[str, Any]:
    """Public facts only: nothing that was counted in the data."""
    common = {
        "method": request.method,
        "data": data.table.name,
        "items": data.table.num_items,
        "max_per_user": data.per_user if request.unit == "user" else None,
        "sensitivity": data.sensitivity,
        "level": request.level,
        "seed": data.entropy.seed,
        **facts,
        "notes": list(data.notes),
    }
    return {name: value for name, value in common.items() if value is not None}
