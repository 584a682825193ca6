"""Figures from tables: error curves, studies, maps, rankings with intervals, audits (extra ``plot``).

Colors are Okabe and Ito's palette (maps of numbers: cividis), and every group also has its own marker and line style:
legible to color-blind readers and in black and white. Nothing uses pyplot's global state.
"""

from privrank_jax.plotting.audits import audit_bounds, event_probabilities
from privrank_jax.plotting.curves import study_curves
from privrank_jax.plotting.frame import LINES, MARKERS, PALETTE, check_picture, save
from privrank_jax.plotting.intervals import ranking_intervals
from privrank_jax.plotting.maps import method_map, utility_map

__all__ = [
    "LINES",
    "MARKERS",
    "PALETTE",
    "audit_bounds",
    "check_picture",
    "event_probabilities",
    "method_map",
    "ranking_intervals",
    "save",
    "study_curves",
    "utility_map",
]
