"""Which guarantees are at least as strong as which: what a budget may count, and what may be composed.

Replacing a unit includes changing its answers, and all of a user includes one comparison, who gave it being kept, or
one rank. Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

# (unit, adjacency) that is promised -> those of releases that are at least as strong.
COVERS = {
    ("comparison", "flip"): {
        ("comparison", "flip"),
        ("comparison", "replace"),
        ("user", "flip"),
        ("user", "replace"),
    },
    ("comparison", "replace"): {("comparison", "replace")},
    ("comparison", "add-remove"): {("comparison", "add-remove")},
    ("user", "flip"): {("user", "flip"), ("user", "replace")},
    ("user", "replace"): {("user", "replace")},
    ("user", "add-remove"): {("user", "add-remove")},
    ("rank", "replace"): {("rank", "replace"), ("user", "replace")},
}
