"""An estimate of how long a traced program runs, from the numbers that its equations compute."""

from __future__ import annotations

import math

from jax.extend.core import Jaxpr, JaxprEqn

from privrank_jax.simulate.memory import bodies

_TURNS = 8  # of a loop that ends where a condition says


def numbers_computed(jaxpr: Jaxpr) -> int:
    """How many numbers the equations of a program compute, each turn of a loop anew.

    Args:
        jaxpr: a traced program.

    Returns:
        The number; a loop whose turns are not known before it runs counts as a few of them, and a conditional as all of
        its branches.
    """
    return sum(map(_of_equation, jaxpr.eqns))


def _of_equation(equation: JaxprEqn) -> int:
    written = sum(math.prod(getattr(atom.aval, "shape", ())) for atom in equation.outvars)
    if equation.primitive.name.startswith("scatter"):  # its combiner is a body too, of scalars
        return written
    turns = _TURNS if equation.primitive.name == "while" else equation.params.get("length", 1)
    return written + turns * sum(map(numbers_computed, bodies(equation.params)))
