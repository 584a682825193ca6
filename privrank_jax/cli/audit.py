"""``privrank audit``: test whether a mechanism keeps its claimed epsilon, by draws on neighboring data."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from privrank_jax._limits import LARGEST_EPSILON
from privrank_jax.cli import console, hardware
from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table
from privrank_jax.cli.options import Json, Seed, argument, command, said
from privrank_jax.cli.request import check_paths

if TYPE_CHECKING:
    from privrank_jax.privacy_audit import Audited, AuditResult

VIOLATED = 1
_MOST_DRAWS = 10**9  # all draws are held in memory at once


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Seed, Json):
    """The options of one run.

    Attributes:
        epsilon: to run the mechanism at. Default: the claimed one, usually 1.
        draws: draws from each data set; half select the event, half test it.
        confidence: confidence of the lower bound, corrected for all intervals.
        plot: draw the events, and the lower bound beside the claim (.png, .svg, .pdf).
    """

    name: str | None = argument("[NAME]", "Name of a mechanism; see --list.", None)
    epsilon: float | None = None
    draws: int = 1_000_000
    confidence: float = 0.999
    plot: Path | None = None
    listing: bool = said("List the mechanisms, and stop.", False, name="--list")

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        if self.name is None:
            raise Refusal("name a mechanism; `privrank audit --list` shows all.")
        if self.draws > _MOST_DRAWS or (self.epsilon or 0) > LARGEST_EPSILON:
            most = f"{_MOST_DRAWS:,} and --epsilon at most {LARGEST_EPSILON:g}"
            raise Refusal(f"--draws, which are held in memory, must be at most {most}.")
        console.check_seed(self.seed)
        check_paths({} if self.plot is None else {"--plot": self.plot})


@command
def audit(request: Request) -> None:
    """Audit a private mechanism of this library, or an unsound published one.

    It draws the mechanism on two neighboring data sets, and bounds from below the epsilon that it really has. Exit
    code: 0 if the draws are consistent with the claim, 1 if they violate it, 2 if nothing was audited. Consistent is
    not a proof; the proofs are in the code. Uses none of your data. Examples:
        privrank audit --list
        privrank audit noisy-counts-users-published --epsilon 1 --plot audit.png
    """
    if request.listing:
        return _print_list(request.json)
    request.check()
    with console.busy("loading"):
        import jax

        from privrank_jax import plotting, privacy_audit

        hardware.keep_programs()
    row = privacy_audit.get(str(request.name))
    if request.plot is not None:
        plotting.check_picture(request.plot)  # fails before the work if matplotlib is missing
    key = jax.random.key(request.seed)
    options = {"draws": request.draws, "confidence": request.confidence}
    with console.busy("compiling and drawing"):
        found = privacy_audit.audit(key, row, request.epsilon, **options)
    if request.plot is not None:
        plotting.save(plotting.event_probabilities(found), request.plot)
    if request.json:
        released = {"released_by": _released_by(row), "seed": request.seed}
        released["picture"] = None if request.plot is None else str(request.plot)
        print_json(found.as_dict() | released)
    else:
        _print_result(found)
        print_paragraphs(*([f"Written: {request.plot}"] if request.plot else []))
    if found.verdict == "violated":
        raise typer.Exit(VIOLATED)


def _print_list(json: bool) -> None:
    from privrank_jax import privacy_audit

    names = ("name", "title", "function", "trust", "calibration", "sound")
    facts, cells = [], []
    for row in map(privacy_audit.get, privacy_audit.names()):
        kind = {"unit": row.promise.unit, "adjacency": row.promise.adjacency}
        facts.append({name: getattr(row, name) for name in names} | kind)
        protects = f"{row.promise.unit}, {row.promise.adjacency}, {row.trust}"
        cells.append((row.name, row.title, protects, row.calibration if row.sound else "unsound"))
    if json:
        print_json({"mechanisms": facts})
    else:
        print_table("Audited mechanisms", ("name", "what it is", "protects", "claim"), cells)


def _released_by(row: Audited) -> str | None:
    """The method or sampler by which commands draw exactly what a row is about."""
    from privrank_jax.jobs.mechanisms import MECHANISMS
    from privrank_jax.privacy_audit import get

    exact = {get(name).function: one.exact for name, one in MECHANISMS.items()}
    return exact[row.function].partition(":")[2] if row.function in exact else None


def _print_result(found: AuditResult) -> None:
    row, promise, worst = found.mechanism, found.promise, found.worst
    likelier, other = found.frequencies
    rows = {
        "claimed epsilon": f"{promise.epsilon:.4g}",
        "delta": f"{promise.delta:g}",
        "exact epsilon, these neighbors": "-" if found.exact is None else f"{found.exact:.4g}",
        f"lower bound at confidence {found.confidence:g}": f"{found.lower:.4g}",
        "estimate from the same event": f"{found.estimate:.4g}",
        "its frequency, likelier neighbor": f"{likelier:.4g}",
        "its frequency, other neighbor": f"{other:.4g}",
        "draws under each": f"{found.draws:,}",
        "verdict": found.verdict,
    }
    if worst:
        rows[f"exact epsilon, all {worst.pairs:,} small neighbors"] = f"{worst.loss:.4g}"
    print_table(f"{row.name}: {row.title}", ("audit", ""), rows.items())
    exact = _released_by(row)
    verdict = "Consistent: these neighbors, events and draws show no more than claimed."
    if found.verdict == "violated":
        verdict = f"Violated: the true epsilon is above {found.lower:.4g}, more than claimed."
    elif not row.sound:
        verdict = "This claim is wrong, but these draws do not show it: use more --draws."
    print_paragraphs(
        f"Event tested: {found.event}.",
        f"Protects: {promise.unit}, adjacency {promise.adjacency}, trust {row.trust}."
        f"{f' Real releases draw it by {exact}.' if exact else ''} See: {row.note}.",
        verdict,
    )
