"""``privrank reproduce``: rerun a published study and compare it with the paper."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from privrank_jax import _interrupt
from privrank_jax.cli import console, hardware
from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table, say
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

    # fmt: off
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY]...", help="Names of the studies; see --list.")
    ] = None
    every: Annotated[bool, typer.Option("--all", help="Run all studies.")] = False
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Of several studies, how many at once; each may take 2 GiB of memory.")
    ] = 2
    replicates: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Replicates of each cell; below 30 all verdicts are undecided.  [default: that of the study]"),
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER=VALUE",
            help="Replace a parameter of the study, e.g. users=250,500; may be repeated. Its files have names of their "
            "own, and nothing is compared with printed values."),
    ] = None
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, whatever an interrupted run has left.")
    ] = False
    listing: Annotated[
        bool, typer.Option("--list", help="List the studies, or the parameters of those named, and stop.")
    ] = False
    # fmt: on

    @property
    def named(self) -> list[str]:
        """Names of the studies as given, each once."""
        return list(dict.fromkeys(self.studies or ()))

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        most, several = _MOST_REPLICATES, self.every or len(self.named) > 1
        for wrong, words in (
            (self.every and self.studies, "--all runs all studies: name none."),
            (not self.every and not self.studies, "name a study; `privrank reproduce --list` shows all."),
            (self.jobs < 1, f"--jobs must be at least 1, got {self.jobs}."),
            (several and self.coordinator, "--coordinator shares one study between processes: name one."),
            (self.replicates is not None and not 2 <= self.replicates <= most,
             f"--replicates must be from 2, for standard errors, to {most:,}."),
        ):  # fmt: skip
            if wrong:
                raise Refusal(words)
        console.check_seed(self.seed)
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
    with console.busy("loading"):
        from privrank_jax import experiments
        from privrank_jax.cli.studies import run_all

        names = experiments.names() if request.every else request.named
        for name in names:
            _asked(request, name)
    console.check_folder(request.out)
    _interrupt.say(_GOES_ON)
    replicates = [] if request.replicates is None else [request.replicates]
    given = {"--out": [request.out], "--seed": [request.seed], "--replicates": replicates}
    given |= {"--set": request.set or []}
    options = [
        str(word) for name, values in given.items() for one in values for word in (name, one)
    ]
    options += ["--fresh"] * request.fresh
    say(f"{len(names)} studies, {min(request.jobs, len(names))} at a time")
    ended, started = {}, time.perf_counter()
    for study in run_all(names, options, request.jobs, say):
        ended[study.name] = study
        told = f"{study.name} {'failed' if study.code else 'done'}, {len(ended)} of {len(names)}"
        say(f"{told} after {time.perf_counter() - started:.0f} s")
    found, seconds = [ended[name] for name in names], time.perf_counter() - started
    failed = {study.name: study.reason for study in found if study.code}
    if request.json:
        documents = [study.document for study in found if study.document is not None]
        times = {"total_seconds": seconds, "seed": request.seed}
        print_json({"studies": documents, "failed": failed, **times})
    else:
        _print_several(found, seconds)
    if failed:
        raise typer.Exit(console.REFUSED)


def _print_several(found: Sequence[Finished], seconds: float) -> None:
    """Print a line of each study, then the reasons why others failed."""
    from privrank_jax.experiments.claims import WORDS

    done = {one.name: one.document for one in found if one.document is not None}
    rows = []
    for name, document in done.items():
        words = [verdict["verdict"] for verdict in document["verdicts"]]
        facts = document["diagnostics"]
        times = [f"{facts[f'{part}_seconds']:.1f}" for part in ("total", "compile", "run")]
        rows.append([name, *(str(words.count(word)) for word in WORDS.values()), *times])
    print_table(
        f"{len(done)} of {len(found)} studies in {seconds:.0f} s: claims by verdict, and seconds",
        ("study", *WORDS.values(), "seconds", "compile", "run"),
        rows,
    )
    print_paragraphs(*(f"{one.name} failed: {one.reason}" for one in found if one.document is None))
    notes = {name: document.get("note") for name, document in done.items()}
    print_paragraphs(*(f"{name}: {note}" for name, note in notes.items() if note))


def _asked(request: Request, name: str) -> Experiment:
    """The study of that name with the parameters that were asked for."""
    from privrank_jax import experiments

    study = experiments.get(name)
    return study.configured(**study.read(request.set or ()))


def _reproduce_one(request: Request, name: str) -> None:
    with console.busy("loading"):
        import jax

        from privrank_jax import experiments

        hardware.keep_programs()
        if request.coordinator is None:
            hardware.use_cores()
        first = hardware.join(request)
        found = _asked(request, name)
    console.check_folder(request.out)
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
    _interrupt.say(f"the results are in {console.printable(str(request.out))}")
    if request.json:
        print_json({**result.as_dict(), "seed": request.seed})
    else:
        _print_result(result)


def _print_parameters(names: Sequence[str], json: bool) -> None:
    from privrank_jax import experiments
    from privrank_jax.experiments.study import written

    heads = ("name", "published", "meaning")
    found = [
        (study, [(n, written(one.published), one.meaning) for n, one in study.parameters.items()])
        for study in map(experiments.get, names)
    ]
    if json:
        told = [
            {"name": study.name, "parameters": [dict(zip(heads, row)) for row in rows]}
            for study, rows in found
        ]
        print_json({"studies": told})
        return
    for study, rows in found:
        print_table(f"{study.name}: {study.title}", [(head, "left") for head in heads], rows)
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
    rows = []
    for one in found:
        words = ", ".join(f"{name}*" if yours[name] else name for name in one.data)
        words = f"({words})" if words and one.data_optional else words
        rows.append((one.name, one.title, f"{one.replicates:,}", words, one.paper))
    print_table("Studies", ("name", "what it studies", "replicates", "data", "where"), rows)
    files = {file: package for one in yours.values() for file, package in one.items()}
    print_paragraphs(
        "Studies without data are simulated. Data in parentheses are left out where they are missing. Those with * "
        "cannot be fetched: take them from the R package named here, put them into a folder as these files, and set "
        f"PRIVRANK_DATA to it: {', '.join(f'{file} ({package})' for file, package in files.items())}."
    )


def _print_result(result: ExperimentResult) -> None:
    study, facts = result.experiment, result.diagnostics
    header, body = result.outline()
    title = f"{study.full_name}: {'as published, ' * bool(study.changes)}{study.title}"
    print_table(
        f"{title} ({result.replicates:,} replicates)", [(name, "left") for name in header], body
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
        rows = [(verdict.word, claim.text, verdict.evidence) for claim, verdict in result.verdicts]
        print_table(f"Claims ({study.paper})", ("verdict", "claim", "evidence"), rows)
    if study.differences:
        print_paragraphs("How this differs from the printed study:")
        print_paragraphs(*(f"- {text}" for text in study.differences), "")
    print_paragraphs(
        "Written: " + ", ".join(str(path) for path in result.paths.values()),
        f"{facts['total_seconds']:.0f} s in all; compiled {facts['compilations']} program(s) in "
        f"{facts['compile_seconds']:.1f} s, ran {facts['run_seconds']:.1f} s.",
    )
