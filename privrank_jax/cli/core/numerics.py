"""Numerics of a release, and the rule of all commands: exact, or with the releaser's explicit consent."""

from __future__ import annotations

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.request import Release
from privrank_jax.release.library import EXTRA, exact_samplers_available, unsound_opendp

_WHY = {
    "idealized": (
        "the proof behind this release holds for real numbers and an exact minimizer, and floating point has "
        "neither: what is published could reveal more than the guarantee admits "
        "(help(privrank_jax.privacy.calibration) explains how)"
    ),
    "unknown": "how the noise of this release was drawn is not known",
    "simulation": (
        "the noise of this release would come from fast floating-point generators, made for simulation: their low "
        "bits can give answers away"
    ),
}


def draws_exactly(request: Release) -> bool:
    """Whether OpenDP draws the noise: always, except in a rehearsal, or if OpenDP is missing and that was accepted.

    Raises:
        Refusal: OpenDP is missing, or unsound; the latter is refused whatever was accepted.
    """
    if request.simulate:
        return False
    if reason := unsound_opendp():
        raise Refusal(f"{reason}. Or rehearse by --simulate.")
    exact = exact_samplers_available()
    if not exact:
        check_numerics("simulation", request)
    return exact


def check_numerics(numerics: str, request: Release, instead: str = "") -> None:
    """Refuse a release that isn't exact, unless ``--accept-idealized`` was given.

    Args:
        numerics: numerics of its guarantee.
        request: request of the command; a rehearsal is not a release.
        instead: an instruction that leads to an exact release.

    Raises:
        Refusal: the message says what is not exact, and what to do.
    """
    if numerics == "exact" or request.simulate or request.accept_idealized:
        return
    if not exact_samplers_available():
        instead = f"install exact samplers by {EXTRA}" + (f" and {instead}" if instead else "")
    ways = [
        "rehearse by --simulate",
        "add --accept-idealized to release it all the same, with a guarantee that says so",
    ]
    asked = f"as asked, the release is not exact: {_WHY[numerics]}"
    if not instead:
        raise Refusal(f"{asked}. Choose: {', or '.join(ways)}.")
    raise Refusal(f"{instead}; {asked}. Or {', or '.join(ways)}.")
