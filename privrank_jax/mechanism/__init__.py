"""What a private mechanism is: one record, from which simulation, exact release, scale and composition follow."""

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.mechanism.objective import Objective, PerturbedFit
from privrank_jax.mechanism.program import Mechanism, Program, mechanism
from privrank_jax.mechanism.selection import BoundedScores, Moves, Selection

__all__ = [
    "Additive",
    "BoundedScores",
    "Change",
    "Data",
    "Facts",
    "Local",
    "Mechanism",
    "Moves",
    "Objective",
    "PerturbedFit",
    "Program",
    "Selection",
    "mechanism",
]
