"""Methods of a consensus of rankings; ``scores`` and those of the best alone are for approvals and points."""

from __future__ import annotations

from privrank_jax.jobs.methods import CONSENSUS as ALL

CONSENSUS = {name: of for name, of in ALL.items() if name != "scores" and not of.lists}
