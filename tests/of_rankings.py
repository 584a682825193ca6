"""Methods of a consensus of rankings; ``scores`` is one of approvals and points."""

from __future__ import annotations

from privrank_jax.jobs.methods import CONSENSUS as ALL

CONSENSUS = {name: method for name, method in ALL.items() if name != "scores"}
