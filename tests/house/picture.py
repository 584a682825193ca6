"""Draw the packages and what they import from one another, for the page for contributors (``notebooks/house.svg``)."""

from __future__ import annotations

from xml.sax.saxutils import escape

from tests.house.imports import FLOORS
from tests.sources import ROOT, imports, modules

STORED = ROOT / "notebooks" / "house.svg"

# Each package: line from the top, left and right end in columns, and what it is for.
BOXES = {
    "cli": (0, 0, 6, "the command line: options, and what is printed"),
    "jobs": (1, 0, 2.6, "data and a promise in, a result out"),
    "experiments": (1, 2.8, 3.85, "published studies"),
    "release": (2, 0, 1.6, "exact noise, budget ledgers"),
    "data": (3, 0.8, 1.75, "reads all files"),
    "simulate": (3, 1.9, 2.8, "runs studies"),
    "privacy_audit": (3, 4.2, 5.1, "measures losses"),
    "plotting": (3, 5.2, 6, "pictures"),
    "preferences": (4, 0, 0.9, "labels"),
    "pairwise": (4, 1, 1.9, "comparisons"),
    "aggregation": (4, 2, 2.9, "rankings"),
    "mallows": (4, 3, 3.9, "synthetic ones"),
    "personalized": (4, 4, 4.9, "one per user"),
    "mechanism": (5, 0, 3.9, "records: what one unit can change, simulation, release"),
    "exact": (6, 0, 1.9, "exact noise on integers"),
    "privacy": (7, 0, 3.9, "promises, noise, accounting; estimates"),
    "comparisons, links, metrics, rankings, _…": (8, 0, 6, "containers, checks, host, workarounds"),
}
BASE = list(BOXES)[-1]
_WIDTH, _LINE, _HIGH, _EDGE = 980, 104, 52, 14
_APART = 24  # of two arrows that leave one box


def _box(home: str) -> str:
    if home == "estimate":  # the one file between privacy and the algorithms
        return "privacy"
    return BASE if FLOORS[home] == 1 else home


def arrows() -> dict[str, set[str]]:
    """What each package imports, but for what it reaches through others."""
    found: dict[str, set[str]] = {name: set() for name in BOXES}
    for module in modules().values():
        if not module.home.startswith("__"):
            targets = {target.split(".")[0] for target, _, _ in imports(module)} - {""}
            found[_box(module.home)] |= {_box(target) for target in targets} - {_box(module.home)}

    def below(name: str) -> set[str]:
        return found[name].union(*map(below, found[name]))

    return {
        name: {to for to in direct if not any(to in below(other) for other in direct)}
        for name, direct in found.items()
    }


def _place(name: str) -> tuple[float, float, float]:
    """Left end, right end and top of a box."""
    line, left, right, _ = BOXES[name]
    column = (_WIDTH - 2 * _EDGE) / 6
    return _EDGE + left * column, _EDGE + right * column, _EDGE + line * _LINE


def _paths(name: str, targets: set[str]) -> list[str]:
    """Arrows from one box: as steep as they can be, and apart where they start."""
    left, right, top = _place(name)
    found, before = [], right
    for to in sorted(targets, key=lambda to: -sum(_place(to)[:2])):
        to_left, to_right, to_top = _place(to)
        start = min((to_left + to_right) / 2, before - _APART)
        start = before = max(start, left + _APART)
        end = min(max(start, to_left + _APART), to_right - _APART)
        path = f"M{start:.0f} {top + _HIGH:.0f}L{end:.0f} {to_top:.0f}"
        found.append(f'<path d="{path}" stroke="#5b6675" marker-end="url(#head)"/>')
    return found


def drawn() -> str:
    """The picture, as the text of an SVG file."""
    height = 2 * _EDGE + max(line for line, *_ in BOXES.values()) * _LINE + _HIGH
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">',
        '<title id="t">The packages and what they import</title>',
        '<desc id="d">Packages on seven lines; each arrow points down to what a package imports.</desc>',
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5b6675"/></marker>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for name, targets in arrows().items():
        lines += _paths(name, targets)
    for name, (*_, words) in BOXES.items():
        left, right, top = _place(name)
        x, box = (
            (left + right) / 2,
            f'x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" height="{_HIGH}"',
        )
        lines += [
            f'<rect {box} rx="6" fill="#e8eef7" stroke="#9aa5b1"/>',
            f'<text x="{x:.0f}" y="{top + 21:.0f}" font-weight="600" fill="#111111">{escape(name)}</text>',
            f'<text x="{x:.0f}" y="{top + 40:.0f}" fill="#333333">{escape(words)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    STORED.write_text(drawn(), encoding="utf-8")
