"""What all mechanisms share, and those that no record describes: a function that simulates, and its other verbs."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from privrank_jax.privacy.privacy import Privacy

P = ParamSpec("P")
R = TypeVar("R")


class Mechanism:
    """An object that reads like a function: ``mechanism(key, data, privacy)`` simulates, ``.release`` draws exactly."""

    __name__: str

    def __reduce__(self) -> str:
        return self.__name__  # pickled and copied by its name, as a function is

    def audit(self, epsilon: float | None = None, *, less: float = 0.0) -> dict[str, Any]:
        """The largest privacy losses over all neighbors of small data, exactly.

        Args:
            epsilon: ε > 0, finite, in place of that of each row's promise.
            less: share of the noise that is left out, in [0, 1): a tight claim is broken by any.

        Returns:
            :class:`~privrank_jax.privacy_audit.WorstCase` by the name of each row about this mechanism.
        """
        # What judges a mechanism stands on a higher floor, which no mechanism imports: it is looked up by name.
        audits = importlib.import_module("privrank_jax.privacy_audit")
        return {row.name: audits.worst_case(row, epsilon, less=less) for row in audits.about(self)}

    def plan(self, items: int | None = None, **design: Any) -> Any:
        """Users, ε or the error before there are data, by simulation; arguments and results as of ``pr.plan``."""
        known = importlib.import_module("privrank_jax.jobs.methods").design_of(self)
        return importlib.import_module("privrank_jax.jobs.plan").plan(items, **known | design)

    def as_opendp(self, privacy: Privacy, **told: Any) -> Any:
        """A measurement of OpenDP, whose odometers and filters then count the releases of this mechanism.

        Args:
            privacy: the promise of each release, with finite ε.
            told: arguments of ``release`` by name, beside data and promise.

        Returns:
            ``opendp.mod.Measurement``: from data to an ``Estimate``, over the distance in units of the promise, by pure
            or approximate differential privacy. For δ > 0 its map knows one unit alone.

        Raises:
            ImportError: OpenDP is not installed.
            opendp.mod.OpenDPException: ``dp.enable_features("contrib", "honest-but-curious")`` was not called.
        """
        try:
            import opendp.prelude as dp
        except ImportError as error:
            raise ImportError("as_opendp needs OpenDP: pip install opendp") from error
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)

        def spent(distance: int) -> Any:
            if delta and distance > 1:
                raise ValueError("the loss for one unit is known, not that for several.")
            return (distance * epsilon, distance * delta) if delta else distance * epsilon

        divergence = dp.max_divergence()
        return dp.m.make_user_measurement(
            dp.user_domain("data", lambda data: True),
            dp.user_distance(f"units: {privacy.unit}, {privacy.adjacency}"),
            dp.approximate(divergence) if delta else divergence,
            lambda data: self.release(data, privacy, **told),  # type: ignore[attr-defined]
            spent,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Record(Mechanism):
    """A mechanism that one record describes.

    Attributes:
        name, doc: of the record in its module; the theorem, and what is published.
    """

    name: str
    doc: str

    def read_in(self, function: Any) -> None:
        """Say of itself what a function of the same module says: its name and module, and the theorem."""
        home = getattr(function, "func", function).__module__
        for key, value in (("__name__", self.name), ("__module__", home), ("__doc__", self.doc)):
            object.__setattr__(self, key, value)


class Program(Mechanism, Generic[P, R]):
    """A mechanism whose steps depend on what it drew, or which is no sum of users' numbers: see :func:`mechanism`.

    Attributes:
        release: ``(data, privacy, ...)``: the same, drawn exactly on the host; refuses ε = ∞, several ε, padded items.
        scale: ``(privacy, ...)``: the scale of its noise, or what else stands for it, from public facts.
    """

    def __init__(
        self,
        simulate: Callable[P, R],
        release: Callable[..., Any],
        scale: Callable[..., Any] | None,
    ) -> None:
        self._simulate, self.release = simulate, release
        self.scale: Any = scale
        functools.update_wrapper(self, simulate)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Simulate: pure, for ``jit``, ``vmap`` and ``grad``."""
        return self._simulate(*args, **kwargs)


def mechanism(
    *, release: Callable[..., Any], scale: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Program[P, R]]:
    """Make a mechanism of a function that simulates, whose docstring is the theorem.

    Args:
        release: takes the same arguments but the key.
        scale: takes the promise and public facts.

    Returns:
        What makes a :class:`Program` of the function below it.

    >>> @mechanism(release=lambda bits, epsilon: [not bit for bit in bits])
    ... def wrong(key, bits, epsilon):
    ...     return bits
    >>> wrong(None, [True], 1.0), wrong.release([True], 1.0)
    ([True], [False])
    """
    return lambda simulate: Program(simulate, release, scale)
