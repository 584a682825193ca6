"""The table of all methods in ``notebooks/methods.md``, made of their records: ``python -m tests.methods_table``."""

from __future__ import annotations

from pathlib import Path

from privrank_jax.jobs.mechanisms import MECHANISMS
from privrank_jax.jobs.methods import CONSENSUS, RANK

PAGE = Path(__file__).parent.parent / "notebooks" / "methods.md"
START, END = "<!-- methods: python -m tests.methods_table -->\n", "<!-- end of methods -->\n"


def table() -> str:
    """One row per mechanism that a method draws by."""
    rows = [
        "| command | for | trust | noise | mechanism |",
        "|---|---|---|---|---|",
    ]
    for command, methods in (("rank", RANK), ("aggregate", CONSENSUS)):
        for method in methods.values():
            for names in method.mechanisms.values():
                for name in names:
                    made = MECHANISMS[name]
                    assert made.exact == f"{made.simulated}.release"
                    simulated = f"`{made.simulated.replace(':', '.')}`"
                    noises = ", ".join(made.noises) if made.trust == "central" else "in reports"
                    call = f"`{command} --method {method.name}`"
                    told = (call, made.of, made.trust, noises, simulated)
                    rows.append(f"| {' | '.join(told)} |")
    return "\n".join(rows) + "\n"


def placed(page: str, start: str, table: str, end: str) -> str:
    """The page with the table between its two marks."""
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{table}\n{end}{rest.partition(end)[2]}"


def written(page: str) -> str:
    """The page with the table in its place.

    Args:
        page: text of the page.
    """
    return placed(page, START, table(), END)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
