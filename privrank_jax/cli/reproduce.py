"""``privrank reproduce``: rerun a published study and compare it with the paper."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from privrank_jax import _interrupt
from privrank_jax.cli import console, hardware
from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table, say
from privrank_jax.cli.options import Json, Seed, argument, command, said

if TYPE_CHECKING:
    from privrank_jax.experiments import Experiment, ExperimentResult

_MOST_REPLICATES = 10**9
_HEAD = "privrank: "  # of every line that a command writes to stderr
_MEMORY = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")  # the second is the old one
_FOR_ALL = 0.9  # share of an accelerator's memory for all studies together
_GOES_ON = "the same command resumes from what is kept"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Seed, Json):
    """The options of one run.

    Attributes:
        jobs: of several studies, how many at once; each may take 2 GiB of memory.
        replicates: replicates of each cell; below 30 all verdicts are undecided. Default: that of the study.
        set: replace a parameter of the study, as 'users=250,500'; may be repeated. Its files have names of their own,
            and nothing is compared with printed values.
        fresh: start over, whatever an interrupted run has left.
        out: folder where the files go; made if absent.
        coordinator: share the work with the other processes that run this command: HOST:PORT where the first of them
            listens; auto: ask Slurm, Open MPI or Kubernetes.
        processes: how many processes share the work.
        process_id: which of them this is; 0 listens, prints and writes.
    """

    studies: list[str] | None = argument("[STUDY]...", "Names of the studies; see --list.", None)
    every: bool = said("Run all studies.", False, name="--all")
    jobs: int = 2
    replicates: int | None = None
    set: list[str] | None = None
    fresh: bool = False
    out: Path = Path("privrank-results")
    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None
    listing: bool = said(
        "List the studies, or the parameters of those named, and stop.", False, name="--list"
    )

    @property
    def named(self) -> list[str]:
        """Names of the studies as given, each once."""
        return list(dict.fromkeys(self.studies or ()))

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        count = len(self.named)
        if self.every == bool(count):
            raise Refusal("name a study, or all by --all; `privrank reproduce --list` shows them.")
        if self.coordinator and (self.every or count > 1):
            raise Refusal("--coordinator shares one study between processes: name one.")
        if self.jobs < 1 or not 2 <= (self.replicates or 2) <= _MOST_REPLICATES:
            raise Refusal(
                "--jobs must be at least 1, and --replicates at least 2, for standard errors."
            )
        console.check_seed(self.seed)
        hardware.check_group(self.coordinator, self.processes, self.process_id)


@command
def reproduce(request: Request) -> None:
    """Run a published study again: a table, a picture, and a verdict on each claim of the paper.

    Writes STUDY.csv (tidy: a row per cell and metric, with standard errors), STUDY-claims.csv, STUDY-config.json and,
    where the extras are installed, STUDY.png and STUDY.parquet. Several studies run in processes of their own; one that
    fails does not stop the others. After an interruption, the same command resumes from STUDY.unfinished. It uses all
    devices of the machine, with --coordinator those of several machines. Examples:
        privrank reproduce --list
        privrank reproduce cai-fig1 --replicates 100 --out results
        privrank reproduce cai-fig6 --list     (its parameters)
        privrank reproduce cai-fig6 --set users=250,500 --set per_user=10
        privrank reproduce --all --out results
        srun -n 4 privrank reproduce cai-fig1 --coordinator auto
    """
    if request.listing and request.named:
        _print_parameters(request.named, request.json)
    elif request.listing:
        _print_list(request.json)
    else:
        request.check()
        with console.busy("loading"):
            from privrank_jax import experiments
        names = experiments.names() if request.every else request.named
        if len(names) > 1:
            _reproduce_several(request, names)
        else:
            _reproduce_one(request, names[0])


def _reproduce_several(request: Request, names: Sequence[str]) -> None:
    """Run studies in processes of their own; print a table of them, and exit with an error if any failed."""
    for name in names:
        _asked(request, name)
    console.check_folder(request.out)
    _interrupt.say(_GOES_ON)
    told = {"--out": request.out, "--seed": request.seed, "--replicates": request.replicates}
    pairs = [*told.items(), *(("--set", one) for one in request.set or ())]
    options = [str(word) for pair in pairs if pair[1] is not None for word in pair]
    options += ["--fresh"] * request.fresh
    say(f"{len(names)} studies, {min(request.jobs, len(names))} at a time")
    ended, started = {}, time.perf_counter()
    for study in run_all(names, options, request.jobs, say):
        ended[study.name] = study
        word, seconds = "failed" if study.code else "done", time.perf_counter() - started
        say(f"{study.name} {word}, {len(ended)} of {len(names)} after {seconds:.0f} s")
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

    rows, remarks = [], []
    for name, document, _, reason in found:
        if document is None:
            remarks.append(f"{name} failed: {reason}")
            continue
        words = [verdict["verdict"] for verdict in document["verdicts"]]
        counts = [str(words.count(word)) for word in WORDS.values()]
        facts = document["diagnostics"]
        times = [f"{facts[f'{part}_seconds']:.1f}" for part in ("total", "compile", "run")]
        rows.append([name, *counts, *times])
        remarks += [f"{name}: {note}" for note in [document.get("note")] if note]
    print_table(
        f"{len(rows)} of {len(found)} studies in {seconds:.0f} s: claims by verdict, and seconds",
        ("study", *WORDS.values(), "seconds", "compile", "run"),
        rows,
    )
    print_paragraphs(*remarks)


def _asked(request: Request, name: str) -> Experiment:
    """The study of that name with the parameters that were asked for."""
    from privrank_jax import experiments

    study = experiments.get(name)
    return study.configured(**study.read(request.set or ()))


def _reproduce_one(request: Request, name: str) -> None:
    import jax

    from privrank_jax import experiments

    hardware.keep_programs()
    if request.coordinator is None:
        hardware.use_cores()
    first = hardware.join(request.coordinator, request.processes, request.process_id)
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


def _print_parameters(names: Sequence[str], as_json: bool) -> None:
    from privrank_jax import experiments
    from privrank_jax.experiments.study import written

    heads, told = ("name", "published", "meaning"), []
    for study in map(experiments.get, names):
        rows = [(n, written(one.published), one.meaning) for n, one in study.parameters.items()]
        told.append({"name": study.name, "parameters": [dict(zip(heads, row)) for row in rows]})
        if not as_json:
            print_table(f"{study.name}: {study.title}", heads, rows)
    if as_json:
        print_json({"studies": told})
    else:
        print_paragraphs("Change one by --set PARAMETER=VALUE, with commas between several values.")


def _print_list(as_json: bool) -> None:
    from privrank_jax import experiments
    from privrank_jax.data.named import not_fetched

    facts = ("name", "title", "paper", "replicates", "data", "data_optional")
    told, rows, files = [], [], {}
    for one in map(experiments.get, experiments.names()):
        yours = {name: not_fetched(name) for name in one.data}
        needed = {file: of for packages in yours.values() for file, of in packages.items()}
        told.append({fact: getattr(one, fact) for fact in facts} | {"files_to_provide": [*needed]})
        words = ", ".join(f"{name}*" if yours[name] else name for name in one.data)
        words = f"({words})" if words and one.data_optional else words
        rows.append((one.name, one.title, f"{one.replicates:,}", words, one.paper))
        files |= needed
    if as_json:
        return print_json({"studies": told})
    print_table("Studies", ("name", "what it studies", "replicates", "data", "where"), rows)
    print_paragraphs(
        "Studies without data are simulated. Data in parentheses are left out where they are missing. Those with * "
        "cannot be fetched: take them from the R package named here, put them into a folder as these files, and set "
        f"PRIVRANK_DATA to it: {', '.join(f'{file} ({of})' for file, of in files.items())}."
    )


def _print_result(result: ExperimentResult) -> None:
    study, facts = result.experiment, result.diagnostics
    title = f"{study.full_name}: {'as published, ' * bool(study.changes)}{study.title}"
    print_table(f"{title} ({result.replicates:,} replicates)", *result.outline())
    header, body = result.beside_printed()
    if body:
        of = f"Beside the printed values ({study.paper}): mean ± standard error (SE)"
        print_table(of, header, body)
    if study.note:
        print_paragraphs(study.note, "")
    if result.verdicts:
        rows = [(verdict.word, claim.text, verdict.evidence) for claim, verdict in result.verdicts]
        print_table(f"Claims ({study.paper})", ("verdict", "claim", "evidence"), rows)
    if study.differences:
        words = (f"- {text}" for text in study.differences)
        print_paragraphs("How this differs from the printed study:", *words, "")
    print_paragraphs(
        f"Written: {', '.join(map(str, result.paths.values()))}",
        f"{facts['total_seconds']:.0f} s in all; compiled {facts['compilations']} program(s) in "
        f"{facts['compile_seconds']:.1f} s, ran {facts['run_seconds']:.1f} s.",
    )


# --- several studies, each in a process of its own, which compiles while another computes ---------------


class Finished(NamedTuple):
    """How a study ended: what ``--json`` prints of it, or None and why; a signal has a negative code."""

    name: str
    document: dict[str, Any] | None
    code: int
    reason: str


def run_all(
    names: Sequence[str], options: Sequence[str], jobs: int, notice: Callable[[str], None]
) -> Iterator[Finished]:
    """Run ``privrank reproduce`` for each study, ``jobs`` at a time; yield each as it ends, also one that fails.

    Those that run at once get equal parts of an accelerator's memory, of which the first would take three quarters,
    unless JAX's own setting says how much a process gets. ``notice`` is told what a study says while it runs.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    environment, at_once = dict(os.environ), min(jobs, len(names))
    if at_once > 1 and not any(map(os.environ.get, _MEMORY)):
        environment[_MEMORY[0]] = f"{_FOR_ALL / at_once:.3f}"
    with ThreadPoolExecutor(jobs, "privrank-study") as executor:
        futures = [executor.submit(_run, name, options, environment, notice) for name in names]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _run(
    name: str, options: Sequence[str], environment: dict[str, str], notice: Callable[[str], None]
) -> Finished:
    command = [sys.executable, "-m", "privrank_jax", "reproduce", name, *options, "--json"]
    told: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "env": environment}
    told |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    last = "it ended without a word"
    # A file, as a full pipe would stop the study while its other output is read here.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        process = subprocess.Popen(command, stdout=printed, **told)
        with process, _interrupt.ending(process.terminate):
            for line in process.stderr or ():
                last = line.strip().removeprefix(_HEAD) or last
                if line.startswith(_HEAD):
                    notice(f"{name}: {last}")
        if process.returncode:
            return Finished(name, None, process.returncode, last)
        printed.seek(0)
        return Finished(name, json.load(printed), 0, "")
