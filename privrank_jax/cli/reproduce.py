"""``privrank reproduce``: rerun a published study and compare it with the paper."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from privrank_jax import _interrupt
from privrank_jax.cli import hardware
from privrank_jax.cli.console import (
    REFUSED,
    Refusal,
    Side,
    busy,
    check_folder,
    check_seed,
    print_json,
    print_paragraphs,
    print_table,
    printable,
    say,
)
from privrank_jax.cli.options import Folder, Json, Seed, command

if TYPE_CHECKING:
    from privrank_jax.cli.studies import Finished
    from privrank_jax.experiments import Experiment, ExperimentResult

_MOST_REPLICATES = 10**9
_GOES_ON = "the same command resumes from what is kept"

HELP = (
    "Run a published study again: a table, a picture, and a verdict on each claim of the paper.\n\n"
    "Writes STUDY.csv (tidy: a row per cell and metric, with standard errors), STUDY-claims.csv, "
    "STUDY-config.json and, where the extras are installed, STUDY.png and STUDY.parquet.\n\n"
    "Example:\n\n"
    "  privrank reproduce --list\n\n"
    "  privrank reproduce cai-fig1 --replicates 100 --out results\n\n"
    "Other parameters than the published ones, which --list shows of a study that is named:\n\n"
    "  privrank reproduce cai-fig6 --list\n\n"
    "  privrank reproduce cai-fig6 --set users=250,500 --set per_user=10\n\n"
    "Several studies run in processes of their own, --jobs at a time; one that fails does not stop the others:\n\n"
    "  privrank reproduce --all --out results\n\n"
    "After an interruption, the same command resumes from STUDY.unfinished. It uses all devices of the machine, "
    "with --coordinator those of several machines:\n\n"
    "  srun -n 4 privrank reproduce cai-fig1 --coordinator auto"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Seed, Folder, hardware.Processes, Json):
    """The options of one run."""

    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY]...", help="Names of the studies; see --list."),
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Run all studies.")] = False
    jobs: Annotated[
        int,
        typer.Option(
            metavar="N", help="Of several studies, how many at once; each may take 2 GiB of memory."
        ),
    ] = 2
    replicates: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Replicates of each cell; below 30 all verdicts are undecided.  [default: that of the study]",
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER=VALUE",
            help="Replace a parameter of the study, e.g. users=250,500; may be repeated. Its files have names of their "
            "own, and nothing is compared with printed values.",
        ),
    ] = None
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, whatever an interrupted run has left.")
    ] = False
    listing: Annotated[
        bool,
        typer.Option(
            "--list", help="List the studies, or the parameters of those named, and stop."
        ),
    ] = False

    @property
    def named(self) -> list[str]:
        """Names of the studies as given, each once."""
        return list(dict.fromkeys(self.studies or ()))

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        if self.every and self.studies:
            raise Refusal("--all runs all studies: name none.")
        if not self.every and not self.studies:
            raise Refusal("name a study; `privrank reproduce --list` shows all.")
        if self.jobs < 1:
            raise Refusal(f"--jobs must be at least 1, got {self.jobs}.")
        if (self.every or len(self.named) > 1) and self.coordinator is not None:
            raise Refusal("--coordinator shares one study between processes: name one.")
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
        if request.named:
            _print_parameters(request.named, request.json)
        else:
            _print_list(request.json)
        return
    request.check()
    if request.every or len(request.named) > 1:
        _reproduce_several(request)
    else:
        _reproduce_one(request, request.named[0])


def _reproduce_several(request: Request) -> None:
    """Run studies in processes of their own; print a table of them, and exit with an error if any failed."""
    with busy("loading"):
        from privrank_jax import experiments
        from privrank_jax.cli.studies import run_all

        names = experiments.names() if request.every else request.named
        for name in names:
            _asked(request, name)
    check_folder(request.out)
    _interrupt.say(_GOES_ON)
    options = ["--out", str(request.out), "--seed", str(request.seed)]
    if request.replicates is not None:
        options += ["--replicates", str(request.replicates)]
    for setting in request.set or ():
        options += ["--set", setting]
    if request.fresh:
        options.append("--fresh")
    say(f"{len(names)} studies, {min(request.jobs, len(names))} at a time")
    ended = {}
    started = time.perf_counter()
    for study in run_all(names, options, request.jobs, say):
        ended[study.name] = study
        took = time.perf_counter() - started
        word = "failed" if study.code else "done"
        say(f"{study.name} {word}, {len(ended)} of {len(names)} after {took:.0f} s")
    seconds = time.perf_counter() - started
    found = [ended[name] for name in names]
    failed = [study for study in found if study.code]
    if request.json:
        print_json(
            {
                "studies": [study.document for study in found if study.document is not None],
                "failed": {study.name: study.reason for study in failed},
                "total_seconds": seconds,
                "seed": request.seed,
            }
        )
    else:
        _print_several(found, seconds)
    if failed:
        raise typer.Exit(REFUSED)


def _print_several(found: Sequence[Finished], seconds: float) -> None:
    """Print a line of each study, then the reasons why others failed."""
    from privrank_jax.experiments.claims import WORDS

    columns = ["study", *WORDS.values(), "seconds", "compile", "run"]
    rows = []
    for study in found:
        if study.document is None:
            continue
        words = [verdict["verdict"] for verdict in study.document["verdicts"]]
        facts = study.document["diagnostics"]
        times = [f"{facts[f'{part}_seconds']:.1f}" for part in ("total", "compile", "run")]
        counts = [str(words.count(word)) for word in WORDS.values()]
        rows.append([study.name, *counts, *times])
    sides: list[Side] = ["right"] * len(columns)
    sides[0] = "left"
    print_table(
        f"{len(rows)} of {len(found)} studies in {seconds:.0f} s: claims by verdict, and seconds",
        list(zip(columns, sides, strict=True)),
        rows,
    )
    print_paragraphs(*(f"{one.name} failed: {one.reason}" for one in found if one.document is None))
    notes = {one.name: one.document.get("note") for one in found if one.document is not None}
    print_paragraphs(*(f"{name}: {note}" for name, note in notes.items() if note))


def _asked(request: Request, name: str) -> Experiment:
    """The study of that name with the parameters that were asked for."""
    from privrank_jax import experiments

    study = experiments.get(name)
    return study.configured(**study.read(request.set or ()))


def _reproduce_one(request: Request, name: str) -> None:
    with busy("loading"):
        import jax

        from privrank_jax import experiments

        hardware.keep_programs()
        if request.coordinator is None:
            hardware.use_cores()
        first = hardware.join(request)
        found = _asked(request, name)
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
            notice=say if first else None,
        )
    except KeyboardInterrupt:
        say(f"interrupted; {_GOES_ON}")
        raise
    if not first:
        return
    _interrupt.say(f"the results are in {printable(str(request.out))}")
    if request.json:
        print_json({**result.as_dict(), "seed": request.seed})
    else:
        _print_result(result)


def _print_parameters(names: Sequence[str], json: bool) -> None:
    from privrank_jax import experiments
    from privrank_jax.experiments.parameters import written

    found = [experiments.get(name) for name in names]
    if json:
        print_json(
            {
                "studies": [
                    {
                        "name": study.name,
                        "parameters": [
                            {
                                "name": one.name,
                                "published": written(one.published),
                                "meaning": one.meaning,
                            }
                            for one in study.parameters.values()
                        ],
                    }
                    for study in found
                ]
            }
        )
        return
    columns: list[tuple[str, Side]] = [
        (head, "left") for head in ("parameter", "published", "meaning")
    ]
    for study in found:
        print_table(
            f"{study.name}: {study.title}",
            columns,
            [(o.name, written(o.published), o.meaning) for o in study.parameters.values()],
        )
    print_paragraphs("Change one by --set PARAMETER=VALUE, with commas between several values.")


def _print_list(json: bool) -> None:
    from privrank_jax import experiments
    from privrank_jax.data.named import not_fetched

    found = [experiments.get(name) for name in experiments.names()]
    yours = {name: not_fetched(name) for one in found for name in one.data}
    if json:
        facts = ("name", "title", "paper", "replicates", "data", "data_optional")
        studies = [
            {fact: getattr(one, fact) for fact in facts}
            | {"files_to_provide": [file for name in one.data for file in yours[name]]}
            for one in found
        ]
        print_json({"studies": studies})
        return
    columns: dict[str, Side] = {
        "name": "left",
        "what it studies": "left",
        "replicates": "right",
        "data": "left",
        "where": "left",
    }
    print_table(
        "Studies",
        list(columns.items()),
        [
            (one.name, one.title, f"{one.replicates:,}", _data_words(one, yours), one.paper)
            for one in found
        ],
    )
    files: dict[str, str] = {}
    for one in yours.values():
        files |= one
    named = ", ".join(f"{file} ({package})" for file, package in files.items())
    print_paragraphs(
        "Studies without data are simulated. Data in parentheses are left out where they are missing. Those with * "
        "cannot be fetched: take them from the R package named here, put them into a folder as these files, and set "
        f"PRIVRANK_DATA to it: {named}."
    )


def _data_words(study: Experiment, yours: Mapping[str, Mapping[str, str]]) -> str:
    """Names of the data sets of a study, starred where the user has to provide files."""
    words = ", ".join(f"{name}*" if yours[name] else name for name in study.data)
    return f"({words})" if words and study.data_optional else words


def _print_result(result: ExperimentResult) -> None:
    study = result.experiment
    header, body = result.outline()
    print_table(
        f"{study.full_name}: {'as published, ' * bool(study.changes)}{study.title} "
        f"({result.replicates:,} replicates)",
        [(name, "left") for name in header],
        body,
    )
    header, body = result.beside_printed()
    if body:
        print_table(
            f"Beside the printed values ({study.paper}): mean ± standard error (SE)",
            [(name, "right" if "SE" in name else "left") for name in header],
            body,
        )
    if study.note:
        print_paragraphs(study.note, "")
    if result.verdicts:
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
        f"{facts['total_seconds']:.0f} s in all; compiled {facts['compilations']} program(s) in "
        f"{facts['compile_seconds']:.1f} s, ran {facts['run_seconds']:.1f} s.",
    )
