"""A ranking is made, paid for, written to files and printed, in this order: what ends a command early loses nothing.

The options refuse what would keep a file from being written before the budget is spent. Files and printed text are made
from the ranking alone, so the guarantee covers them.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from privrank_jax import __version__, _interrupt
from privrank_jax._promise import Privacy
from privrank_jax._whole_file import whole_file
from privrank_jax.cli import console, reading
from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table
from privrank_jax.cli.request import NO_EPSILON, PAIRS, TABLES, Published
from privrank_jax.cli.spend import Spending, begin
from privrank_jax.data.randomized import Reports, SyntheticRankings
from privrank_jax.data.reader import RANDOMIZED, kind_of
from privrank_jax.jobs.mechanisms import Randomness
from privrank_jax.jobs.result import Ranking
from privrank_jax.plotting import save
from privrank_jax.plotting.words import told_by

# A subject and its words each, for the second sheet of an .xlsx file.
Pairs = Sequence[tuple[str, str]]
Rows = Sequence[Mapping[str, object]]


def release(
    command: str,
    request: Any,
    kinds: Sequence[str],
    check: Callable[[Privacy | None], None],
    make: Callable[..., Ranking],
    **changed: Any,
) -> None:
    """Read FILE, make a ranking, and publish it; of answers that users randomized already without a promise.

    ``check`` refuses what does not go with the promise; ``make`` takes data, promise, what is asked, and randomness;
    ``changed`` are roles of columns that the command decides.
    """
    promise, asked = request.promised, request.asked
    if promise is not None or not request.private:
        check(promise)
    else:
        header = reading.header_read(request)
        if header and kind_of(request.source, header, {}) not in RANDOMIZED:
            raise Refusal(NO_EPSILON)
    request.warn_unused()
    spending = begin(command, request)
    data = reading.read_data(request, *kinds, **changed)
    if isinstance(data, Reports):
        request.check_randomized("reports (columns report and epsilon)")
    elif isinstance(data, SyntheticRankings):
        request.check_randomized("synthetic rankings", "method")
        asked = dataclasses.replace(asked, method=request.method)
    elif promise is None and request.private:
        raise Refusal(NO_EPSILON)
    source = Randomness(request.key)
    publish(make(data, promise, asked, source), request, command, spending)


def publish(
    ranking: Ranking, request: Published, command: str, spending: Spending | None = None
) -> None:
    """Pay for a ranking, unless nothing is to be spent, write its files, and print it."""
    console.warn(*ranking.warnings)  # for the holder, who may still end the command
    if spending is None:
        ranking.check_finite()
    else:
        ranking = spending.pay(ranking)
    done, failed = write_files(ranking, request, command)
    try:
        with _interrupt.whole("the result was not shown in full", "the result was shown"):
            show(ranking, as_json=request.json)
    except OSError as error:
        console.warn(*(f"{name} was not written: {why}." for name, why in failed.items()))
        _lost(error, done, spending)
    if spending is not None:
        spending.printed()
    for error in failed.values():
        raise error


def _lost(error: OSError, done: Sequence[str], spending: Spending | None) -> NoReturn:
    """Say what was spent and what was written, where a file or stdout takes no more."""
    kept = f"Written in full: {console.printable(', '.join(done))}." if done else ""
    unshown = "" if spending is None else spending.unshown
    closed = isinstance(error, BrokenPipeError)
    if closed and not unshown:  # who reads has seen enough, as `head` has
        if kept:
            console.say(kept)
        raise error
    why = error.strerror or str(error)
    where = error.filename or "standard output"
    what = "standard output takes no more" if closed else f"{where}: {why}"
    if not unshown:
        raise Refusal(f"{what}. {kept}".strip()) from error
    again = "Run it again to see it: that spends nothing more."
    lost = "What was not shown is lost: with --out FILE a result is kept in a file, too."
    advice = again if spending is not None and spending.paid_as else kept or lost
    raise Refusal(f"{unshown}: {what}. {advice}") from error


def show(ranking: Ranking, *, as_json: bool) -> None:
    """Print on stdout what may be published, and nothing else."""
    if as_json:
        print_json(ranking.to_dict())
    else:
        if len(steps := getattr(ranking, "history", ())) > 1:
            title = f"{ranking.facts['data']}: published steps ({ranking.facts['schedule']})"
            print_table(title, steps[0], [list(row.values()) for row in steps])
        columns = ranking.columns()
        print_table(ranking.title, columns, list(zip(*columns.values())))
        print_paragraphs(*ranking.paragraphs)
    sys.stdout.flush()


def write_files(
    ranking: Ranking, files: Published, command: str
) -> tuple[list[str], dict[str, Exception]]:
    """Write tables, pictures and pages: names of the files that are whole, and of others with what failed."""
    done, failed = [], {}
    with told_by(console.warn):
        for given, path in files.files.items():
            about = _about(ranking, files.line(command))
            try:
                if given.startswith(PAIRS):
                    _write_pairs(ranking, path, about, matrix=given.startswith(PAIRS[0]))
                elif path.suffix.lower() in files.PAGES:
                    ranking.report(path)
                elif path.suffix.lower() in TABLES:
                    write_table(path, ranking.rows, ranking.to_dict(), about)
                else:
                    save(ranking.plot(), path)
            except Exception as error:
                failed[path.name] = error
            else:
                done.append(path.name)
    return done, failed


def _write_pairs(ranking: Ranking, path: Path, about: Pairs, *, matrix: bool) -> None:
    """Write weights or probabilities of all pairs, a row and a column for each item; a .json file has all numbers."""
    corner, whole, numbers = "item", ranking.to_dict(), {}
    if matrix:
        numbers["weights"] = ranking.matrix
        meaning = "shares of users who rank the item of the row before that of the column"
        if whole["guarantee"] and whole["guarantee"]["adjacency"] == "add-remove":
            meaning = "half of how many more users rank the item of the row before that of the column than after"
    elif ranking.above is None:
        why = "; ".join(ranking.certainty.notes) or "these need the errors of the scores"
        raise ValueError(f"there are no probabilities: {why}.")
    else:
        numbers = {"probabilities": ranking.above, "ranks": ranking.rank_chances}
        meaning = "that the item of the row is better than that of the column, given the release"
    numbers = {name: np.asarray(table).tolist() for name, table in numbers.items()}
    name, rows = next(iter(numbers.items()))
    while corner in ranking.items:
        corner += "_"
    table = [
        {corner: item, **dict(zip(ranking.items, row))} for item, row in zip(ranking.items, rows)
    ]
    document = {"items": list(ranking.items), **numbers}
    document |= {part: whole[part] for part in ("guarantee", "diagnostics")}
    write_table(path, table, document, [(name, meaning), *about])


def write_table(path: Path, rows: Rows, document: Mapping[str, Any], about: Pairs = ()) -> None:
    """Write the rows of a table, in which None leaves a cell empty, or into a ``.json`` file the whole document."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        with whole_file(path) as temporary:
            text = json.dumps(document, indent=2, allow_nan=False) + "\n"
            temporary.write_text(text, encoding="utf-8", newline="")
        return
    from privrank_jax.simulate.table_files import write_csv, write_parquet, write_workbook

    known = [{name: value for name, value in row.items() if value is not None} for row in rows]
    if suffix == ".parquet":
        write_parquet(known, path)
    elif suffix == ".xlsx":
        write_workbook(known, path, guarantee=about)
    else:
        write_csv(known, path, delimiter="\t" if suffix == ".tsv" else ",")


def _about(ranking: Ranking, line: str) -> list[tuple[str, str]]:
    """What those who read a table must know: what is promised, what its columns mean, how it was made."""
    shown, meaning = ranking.certainty.intervals, ranking.certainty.words
    ends = f"ends of {100 * ranking.level:g}% intervals of the"
    words = [("result", ranking.title), *(("caution", text) for text in ranking.cautions)]
    if ranking.guarantee is not None:
        words.append(("guarantee", ranking.guarantee_in_words))
    if ranking.scores is not None and ranking.score_name != "score":
        words.append(("score", ranking.score_name))
    if "low" in shown:
        words.append(("low, high", f"{ends} score: {meaning}"))
    if "rank_low" in shown:
        words.append(("rank_low, rank_high", f"{ends} rank, 1 = best: {meaning}"))
    if "quasi_standard_error" in shown:
        words.append(("quasi_standard_error", "the root of q² + r² is the error of a difference"))
    words += [("note", note) for note in (ranking.shrinkage, *ranking.notes) if note]
    return [*words, ("command", line), ("written by", f"privrank_jax {__version__}")]
