"""Files of a result, beside what is printed: a table, a picture, and a page for its readers.

All are made from the result alone, so the guarantee covers them as it covers what is printed. The options refuse what
would keep one from being written before the budget is spent; they are written after the result was printed, so that a
full disk loses nothing, and also where the printing failed, so that a closed pipe loses nothing either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privrank_jax import __version__
from privrank_jax._whole_file import whole_file
from privrank_jax.cli.console import Refusal, printable, warn
from privrank_jax.cli.core.report import cautions, page
from privrank_jax.cli.core.request import Files
from privrank_jax.cli.core.result import Shown
from privrank_jax.cli.core.spending import Spending
from privrank_jax.plotting.words import told_by


def finish(request: Files, command: str, shown: Shown, spending: Spending | None = None) -> None:
    """Note that a result was shown, and write its files, also where stdout took only part of it.

    Args:
        request: options of the command.
        command: its name.
        shown: the result as it was shown.
        spending: what the release spent; None where it has no budget.

    Raises:
        OSError: the error that cut the printing short, or that of a file.
        Refusal: the printing was cut short, and a budget was spent.
    """
    if spending is not None and shown.cut is None:
        spending.printed()
    try:
        write_files(request, command, shown)
    except Exception:
        if spending is not None and shown.cut is not None:
            warn(spending.unshown)
        raise
    if shown.cut is not None:
        raise _cut(shown.cut, request, spending)


def _cut(error: OSError, request: Files, spending: Spending | None) -> Exception:
    """The error to end with, after the files were written."""
    if spending is None or not spending.unshown:
        return error
    words = [f"{spending.unshown}: standard output takes no more ({error.strerror})."]
    if spending.paid_for_all:
        words.append("Run it again to see it: that spends nothing more.")
    elif request.files:
        names = [path.name for path in request.files.values()]
        words.append(f"Written in full: {printable(', '.join(names))}.")
    else:
        words.append(
            "What was not shown is lost: with --out FILE, a result is kept in a file, too."
        )
    return Refusal(" ".join(words))


def write_files(files: Files, command: str, shown: Shown) -> None:
    """Write what the options ask for.

    Args:
        files: the options.
        command: name of the command.
        shown: the result as it was shown.
    """
    if files.out is not None:
        write_table(files.out, shown.rows, shown.document, _about(shown, files.line(command)))
    with told_by(warn):
        if files.plot is not None:
            from privrank_jax.plotting import save

            save(_picture(shown), files.plot)
        if files.report is not None:
            _write(files.report, page(shown, files.line(command), _drawing(shown)))


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
        _write(path, json.dumps(document, indent=2, allow_nan=False) + "\n")
        return
    from privrank_jax.simulate.table_files import write_csv, write_parquet, write_workbook

    known = [{name: value for name, value in row.items() if value is not None} for row in rows]
    if suffix == ".parquet":
        write_parquet(known, path)
    elif suffix == ".xlsx":
        write_workbook(known, path, guarantee=guarantee)
    else:
        write_csv(known, path, delimiter="\t" if suffix == ".tsv" else ",")


def _about(shown: Shown, line: str) -> list[tuple[str, str]]:
    """What those who read a table must know: what is promised, what its columns mean, how it was made."""
    result = shown.result
    words = [("result", result.title)]
    words += [("caution", text) for text in cautions(result)]
    if result.guarantee is not None:
        words.append(("guarantee", result.guarantee_in_words))
    if result.scores is not None and result.score_name != "score":
        words.append(("score", result.score_name))
    ends = f"ends of {100 * shown.level:g}% intervals"
    if "low" in result.certainty.intervals:
        words.append(("low, high", f"{ends} of the score: {result.certainty.words}"))
    if "rank_low" in result.certainty.intervals:
        meaning = f"{ends} of the rank, 1 = best: {result.certainty.words}"
        words.append(("rank_low, rank_high", meaning))
    if "quasi_standard_error" in result.certainty.intervals:
        words.append(("quasi_standard_error", "the root of q² + r² is the error of a difference"))
    words += [("note", note) for note in result.notes]
    return [*words, ("command", line), ("written by", f"privrank_jax {__version__}")]


def _picture(shown: Shown) -> Any:
    """The items shown with their intervals; by rank where the result has no scores."""
    from privrank_jax.plotting import ranking_intervals

    result, rows = shown.result, shown.rows
    best = [row["rank_low"] for row in rows if "rank_low" in row]
    worst = [row["rank_high"] for row in rows if "rank_high" in row]
    values = [row["score"] for row in rows if row["score"] is not None]
    low = [row.get("low", float("nan")) for row in rows]
    high = [row.get("high", float("nan")) for row in rows]
    label = result.score_name
    if not values:
        label, values = "rank", [row["rank"] for row in rows]
        if best:
            low, high, best, worst = best, worst, [], []
    inside = [not (a > value or value > b) for a, value, b in zip(low, values, high, strict=True)]
    if not all(inside):  # intervals about an estimate without the bias of the score
        values = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    return ranking_intervals(
        [row["item"] for row in rows],
        values,
        low,
        high,
        result.guarantee_in_words,
        x_label=label,
        title=result.title,
        best=best or None,
        worst=worst or None,
        best_first=True,
    )


def _drawing(shown: Shown) -> str:
    """The picture as SVG to stand within a page; "" with nothing but the order to draw, or without matplotlib."""
    if shown.result.scores is None and not shown.result.certainty.intervals:
        return ""
    try:
        from privrank_jax.plotting.frame import svg

        figure = _picture(shown)
    except ImportError:
        return ""
    return svg(figure)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
