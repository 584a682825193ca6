"""What a private mechanism is: one record, from which simulation, exact release, scale and composition follow."""

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data
from privrank_jax.mechanism.local import Local
from privrank_jax.mechanism.objective import Objective
from privrank_jax.mechanism.program import Mechanism, mechanism
from privrank_jax.mechanism.selection import Selection

__all__ = [
    "Additive",
    "Change",
    "Data",
    "Local",
    "Mechanism",
    "Objective",
    "Selection",
    "mechanism",
]
