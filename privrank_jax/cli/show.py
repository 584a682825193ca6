"""A ranking is paid for, written to files and printed, in this order: whatever ends a command early loses nothing.

The options refuse what would keep a file from being written before the budget is spent. All that is written and printed
is made from the ranking alone, so the guarantee covers it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from privrank_jax import __version__, _interrupt
from privrank_jax._whole_file import whole_file
from privrank_jax.cli.console import (
    Refusal,
    Side,
    print_json,
    print_paragraphs,
    print_table,
    printable,
    say,
    warn,
)
from privrank_jax.cli.request import TABLES, Files
from privrank_jax.cli.spend import Spending
from privrank_jax.jobs.result import Ranking
from privrank_jax.plotting.words import told_by


def publish(
    ranking: Ranking,
    request: Files,
    command: str,
    spending: Spending | None = None,
    first: Callable[[], None] | None = None,
) -> None:
    """Pay for a ranking, write its files, and print it.

    Args:
        ranking: the ranking; its warnings go to stderr.
        request: options of the command.
        command: its name.
        spending: pays; None where nothing is to be spent.
        first: what to print before the table.

    Raises:
        LedgerError: nothing was spent, written or printed.
        OSError: a file could not be written, or stdout takes no more.
        Refusal: likewise, and a budget was spent.
    """
    warn(*ranking.warnings)  # for the holder, who may still end the command
    if spending is None:
        ranking.check_finite()
    else:
        ranking = spending.pay(ranking)
    done, failed = write_files(ranking, request, command)
    try:
        with _interrupt.whole("the result was not shown in full", "the result was shown"):
            show(ranking, as_json=request.json, first=first)
    except OSError as error:
        warn(*(f"{name} was not written: {why}." for name, why in failed.items()))
        _lost(error, done, spending)
    if spending is not None:
        spending.printed()
    for error in failed.values():
        raise error


def _lost(error: OSError, done: Sequence[str], spending: Spending | None) -> NoReturn:
    """Say what was spent and what was written, where a file or stdout takes no more."""
    kept = f"Written in full: {printable(', '.join(done))}." if done else ""
    unshown = "" if spending is None else spending.unshown
    closed = isinstance(error, BrokenPipeError)
    if closed and not unshown:  # who reads has seen enough, as `head` has
        if kept:
            say(kept)
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


def show(ranking: Ranking, *, as_json: bool, first: Callable[[], None] | None = None) -> None:
    """Print on stdout what may be published, and nothing else."""
    if as_json:
        print_json(ranking.to_dict())
    else:
        if first is not None:
            first()
        columns = ranking.columns()
        heads: list[tuple[str, Side]] = [
            (name, "left" if name == "item" else "right") for name in columns
        ]
        print_table(ranking.title, heads, list(zip(*columns.values())))
        print_paragraphs(*ranking.paragraphs)
    sys.stdout.flush()


def write_files(
    ranking: Ranking, files: Files, command: str
) -> tuple[list[str], dict[str, Exception]]:
    """Write what the options ask for: tables, pictures, pages.

    Returns:
        Names of the files that are whole; and of others, with what they could not be written for: the rest of the
        result is shown all the same.
    """
    done, failed = [], {}
    with told_by(warn):
        for given, path in files.files.items():
            try:
                if given.startswith("--matrix "):
                    _write_weights(ranking, path, files.line(command))
                elif given.startswith("--probabilities "):
                    _write_probabilities(ranking, path, files.line(command))
                elif path.suffix.lower() in files.PAGES:
                    ranking.report(path)
                else:
                    write_file(ranking, path, _about(ranking, files.line(command)))
            except Exception as error:
                failed[path.name] = error
            else:
                done.append(path.name)
    return done, failed


def write_file(result: Ranking, path: Path, about: Sequence[tuple[str, str]] = ()) -> None:
    """Write a table or a picture, by the ending of the file.

    Args:
        result: has rows, a document and a picture.
        path: of the file.
        about: pairs of a subject and its words, for the second sheet of an .xlsx file.
    """
    if path.suffix.lower() in TABLES:
        write_table(path, result.rows, result.to_dict(), about)
        return
    from privrank_jax.plotting import save

    save(result.plot(), path)


def _write_weights(ranking: Ranking, path: Path, line: str) -> None:
    """Write the weights of all pairs."""
    assert ranking.matrix is not None
    meaning = "shares of users who rank the item of the row before that of the column"
    if ranking.guarantee is not None and ranking.guarantee.adjacency == "add-remove":
        meaning = "half of how many more users rank the item of the row before that of the column than after"
    _write_pairs(ranking, path, line, {"weights": ranking.matrix.tolist()}, meaning)


def _write_probabilities(ranking: Ranking, path: Path, line: str) -> None:
    """Write the probabilities of the orders of all pairs, and of all ranks where the file can hold them."""
    above, chances = ranking.above, ranking.rank_chances
    if above is None or chances is None:
        why = "; ".join(ranking.certainty.notes) or "these need the errors of the scores"
        raise ValueError(f"there are no probabilities: {why}.")
    meaning = "that the item of the row is better than that of the column, given the release"
    numbers = {"probabilities": above.tolist(), "ranks": chances.tolist()}
    _write_pairs(ranking, path, line, numbers, meaning)


def _write_pairs(
    ranking: Ranking,
    path: Path,
    line: str,
    numbers: Mapping[str, list[list[float]]],
    meaning: str,
) -> None:
    """Write numbers of all pairs: a row and a column for each item, and its name before its row and its column.

    Args:
        ranking: the result.
        path: of the file.
        line: the command.
        numbers: by name; the first are those of the table, a .json file has all.
        meaning: of the first.
    """
    (name, rows), corner = next(iter(numbers.items())), "item"
    while corner in ranking.items:
        corner += "_"
    table = [
        {corner: item, **dict(zip(ranking.items, row))} for item, row in zip(ranking.items, rows)
    ]
    whole = ranking.to_dict()
    document = {"items": list(ranking.items), **numbers}
    document |= {part: whole[part] for part in ("guarantee", "diagnostics")}
    write_table(path, table, document, [(name, meaning), *_about(ranking, line)])


def write_table(
    path: Path,
    rows: Sequence[Mapping[str, object]],
    document: Mapping[str, object],
    guarantee: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the rows of a table, or, into a ``.json`` file, the whole document.

    Args:
        path: ends in .csv, .tsv, .xlsx, .parquet or .json.
        rows: of the table; a value that is None is unknown, and its cell stays empty.
        document: what ``--json`` prints.
        guarantee: pairs of a subject and its words, for the second sheet of an .xlsx file.
    """
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
        write_workbook(known, path, guarantee=guarantee)
    else:
        write_csv(known, path, delimiter="\t" if suffix == ".tsv" else ",")


def _about(ranking: Ranking, line: str) -> list[tuple[str, str]]:
    """What those who read a table must know: what is promised, what its columns mean, how it was made."""
    words = [("result", ranking.title)]
    words += [("caution", text) for text in ranking.cautions]
    if ranking.guarantee is not None:
        words.append(("guarantee", ranking.guarantee_in_words))
    if ranking.scores is not None and ranking.score_name != "score":
        words.append(("score", ranking.score_name))
    ends, meaning = f"ends of {100 * ranking.level:g}% intervals", ranking.certainty.words
    if "low" in ranking.certainty.intervals:
        words.append(("low, high", f"{ends} of the score: {meaning}"))
    if "rank_low" in ranking.certainty.intervals:
        words.append(("rank_low, rank_high", f"{ends} of the rank, 1 = best: {meaning}"))
    if "quasi_standard_error" in ranking.certainty.intervals:
        words.append(("quasi_standard_error", "the root of q² + r² is the error of a difference"))
    words += [("note", note) for note in (ranking.shrinkage, *ranking.notes) if note]
    return [*words, ("command", line), ("written by", f"privrank_jax {__version__}")]
