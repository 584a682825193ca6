"""What a private mechanism is: one record, from which simulation, exact release, scale and composition follow."""

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.mechanism.program import Mechanism, Program, mechanism

__all__ = ["Additive", "Change", "Data", "Facts", "Mechanism", "Program", "mechanism"]
