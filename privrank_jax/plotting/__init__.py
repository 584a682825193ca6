"""Figures from tables: error curves, studies, maps, rankings with intervals, audits (extra ``plot``).

Figures are built without pyplot and without its global state. Colors are Okabe and Ito's palette
(maps of numbers: cividis), and every group also has its own marker and line style, so that a figure is legible to
color-blind readers and in black and white.
"""

from privrank_jax.plotting.audits import audit_bounds, event_probabilities
from privrank_jax.plotting.curves import study_curves
from privrank_jax.plotting.frame import LINES, MARKERS, PALETTE, check_picture, save
from privrank_jax.plotting.intervals import ranking_intervals
from privrank_jax.plotting.maps import method_map, utility_map
from privrank_jax.plotting.revealed import Guess, best_guesses, changed_leaderboards

__all__ = [
    "LINES",
    "MARKERS",
    "PALETTE",
    "Guess",
    "audit_bounds",
    "best_guesses",
    "changed_leaderboards",
    "check_picture",
    "event_probabilities",
    "method_map",
    "ranking_intervals",
    "save",
    "study_curves",
    "utility_map",
]
