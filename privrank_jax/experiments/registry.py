"""The names of the studies that this library reproduces, and the modules that hold them.

A module (one per paper and kind of study) holds a tuple ``EXPERIMENTS``. It is imported when one of its studies is
asked for.
"""

from __future__ import annotations

import importlib

from privrank_jax import _registry
from privrank_jax.experiments.experiment import Experiment

MODULES = {
    "alabi.central": ("alabi-central",),
    "alabi.local": ("alabi-local",),
    "alabi.bounds": ("alabi-lower-bounds",),
    "hillebrand.ratio": ("hillebrand",),
    "continual.streams": ("continual",),
    "cai.simulated": tuple(f"cai-fig{number}" for number in (1, 2, 3, 5, 6, 7)),
    "cai.one_shot": ("cai-fig4",),
    "cai.real": ("cai-fig8",),
    "cai.intervals": ("cai-intervals",),
    "rdp.synthetic": ("rdp-fig2", "rdp-fig4"),
    "rdp.attack": ("rdp-fig5", "rdp-fig6"),
    "rdp.personalized": ("rdp-fig7", "rdp-fig8"),
    "xu.scenarios": tuple(f"xu-table{number}" for number in range(5, 12)),
    "xu.real": ("xu-table2", "xu-fig14"),
    "xu.extensions": ("xu-table3", "xu-table4"),
    "xu.figures": ("xu-fig3", "xu-fig5", "xu-fig10"),
}


def names() -> list[str]:
    """Return the names of all studies, sorted.

    Returns:
        The names.

    >>> names()[:2]
    ['alabi-central', 'alabi-local']
    """
    return sorted(_modules())


def get(name: str) -> Experiment:
    """Return the study of that name, importing only the module that holds it.

    Args:
        name: as in :func:`names`.

    Returns:
        The :class:`Experiment`.

    Raises:
        ValueError: there is no such study; the message names the closest.

    >>> get("cai-fig1").name
    'cai-fig1'
    """
    module = _registry.find(_modules(), name, "study", names())
    found = importlib.import_module(f"{__package__}.{module}").EXPERIMENTS
    return next(experiment for experiment in found if experiment.name == name)


def _modules() -> dict[str, str]:
    return {name: module for module, held in MODULES.items() for name in held}
