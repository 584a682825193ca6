"""``privrank reproduce``: rerun a published study and compare it with the paper."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from privrank_jax import _interrupt
from privrank_jax.cli import hardware
from privrank_jax.cli.console import (
    Refusal,
    check_folder,
    check_seed,
    print_json,
    print_paragraphs,
    print_table,
    printable,
)
from privrank_jax.cli.options import Folder, Json, Seed, command

if TYPE_CHECKING:
    from privrank_jax.experiments import ExperimentResult

_MOST_REPLICATES = 10**9
_GOES_ON = "the same command resumes from what is kept"

HELP = (
    "Run a published study again: a table, a picture, and a verdict on each claim of the paper.\n\n"
    "Writes STUDY.csv (tidy: a row per cell and metric, with standard errors), STUDY-claims.csv, "
    "STUDY-config.json and, where the extras are installed, STUDY.png and STUDY.parquet.\n\n"
    "Example:\n\n"
    "  privrank reproduce --list\n\n"
    "  privrank reproduce cai-fig1 --replicates 100 --out results\n\n"
    "After an interruption, the same command resumes from STUDY.unfinished. It uses all devices of the machine, "
    "with --coordinator those of several machines:\n\n"
    "  srun -n 4 privrank reproduce cai-fig1 --coordinator auto"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Seed, Folder, hardware.Processes, Json):
    """The options of one run."""

    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Name of the study; see --list.")
    ] = None
    replicates: Annotated[
        int | None,
        typer.Option(metavar="N", help="Replicates of each cell.  [default: that of the study]"),
    ] = None
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, whatever an interrupted run has left.")
    ] = False
    listing: Annotated[bool, typer.Option("--list", help="List the studies, and stop.")] = False

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        if self.study is None:
            raise Refusal("name a study; `privrank reproduce --list` shows all.")
        if self.replicates is not None and self.replicates < 2:
            raise Refusal(
                f"--replicates {self.replicates} gives no standard errors; take 2 or more."
            )
        if self.replicates is not None and self.replicates > _MOST_REPLICATES:
            raise Refusal(f"--replicates must be at most {_MOST_REPLICATES:,}.")
        check_seed(self.seed)
        self.check_processes()


@command
def reproduce(request: Request) -> None:
    """Run a published study again: a table, a picture, and a verdict on each claim of the paper."""
    if request.listing:
        _print_list(request.json)
        return
    request.check()
    assert request.study is not None
    import jax

    from privrank_jax import experiments

    hardware.keep_programs()
    if request.coordinator is None:
        hardware.use_cores()
    first = hardware.join(request)
    found = experiments.get(request.study)
    check_folder(request.out)
    _interrupt.say(_GOES_ON)
    try:
        result = experiments.run(
            jax.random.key(request.seed),
            found,
            replicates=request.replicates,
            folder=request.out,
            progress=not request.json,
            fresh=request.fresh,
            notice=_notice if first else None,
        )
    except KeyboardInterrupt:
        _notice(f"interrupted; {_GOES_ON}")
        raise
    if not first:
        return
    _interrupt.say(f"the results are in {printable(str(request.out))}")
    if request.json:
        print_json({**result.as_dict(), "seed": request.seed})
    else:
        _print_result(result)


def _notice(text: str) -> None:
    typer.echo(f"privrank: {text}", err=True)


def _print_list(json: bool) -> None:
    from privrank_jax import experiments

    found = [experiments.get(name) for name in experiments.names()]
    if json:
        facts = ("name", "title", "paper", "replicates")
        print_json({"studies": [{fact: getattr(one, fact) for fact in facts} for one in found]})
        return
    print_table(
        "Studies",
        (("name", "left"), ("what it studies", "left"), ("replicates", "right"), ("where", "left")),
        [(one.name, one.title, f"{one.replicates:,}", one.paper) for one in found],
    )


def _print_result(result: ExperimentResult) -> None:
    study = result.experiment
    header, body = result.outline()
    print_table(
        f"{study.name}: {study.title} ({result.replicates:,} replicates)",
        [(name, "left") for name in header],
        body,
    )
    print_table(
        f"Claims ({study.paper})",
        (("verdict", "left"), ("claim", "left"), ("evidence", "left")),
        [(verdict.word, claim.text, verdict.evidence) for claim, verdict in result.verdicts],
    )
    if study.differences:
        print_paragraphs("How this differs from the printed study:")
        print_paragraphs(*(f"- {text}" for text in study.differences), "")
    facts = result.diagnostics
    print_paragraphs(
        "Written: " + ", ".join(str(path) for path in result.paths.values()),
        f"{facts['total_seconds']:.0f} s in all; compiled {facts['compilations']} program(s) of "
        f"{facts['instructions']:,} instructions in {facts['compile_seconds']:.1f} s, ran "
        f"{facts['run_seconds']:.1f} s.",
    )
