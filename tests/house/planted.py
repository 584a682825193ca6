"""Violations of the house rules, one for each thing that a rule looks at; the tests plant them."""

from __future__ import annotations

Planted = tuple[str, str, str, str]
"""Rule, path of the file in the package, its text, and a part of the complaint."""

_F = "pairwise/planted.py"
_BODY = ") -> None:\n    pass\n"


def _signature(rule: str, parameters: str, said: str) -> Planted:
    return rule, _F, f"def f({parameters}{_BODY}", said


PLANTED: tuple[Planted, ...] = (
    ("upward_imports", _F, "from privrank_jax.simulate import Study\n", "imports simulate"),
    ("upward_imports", _F, "from privrank_jax import aggregation\n", "imports aggregation"),
    ("upward_imports", "planted.py", "", "has no floor"),
    ("stale_references", _F, '""":func:`gone`."""\n', "no gone"),
    ("stale_references", _F, '""":mod:`~privrank_jax.pairwise.gone`."""\n', "pairwise.gone"),
    ("hidden_by_modules", "pairwise/mle.py", "", "has the name of the module pairwise.mle"),
    ("circles_of_files", _F, "from privrank_jax.pairwise import planted\n", "pairwise.planted"),
    (
        "circles_of_packages",
        "mallows/planted.py",
        "from privrank_jax import simulate\n",
        "mallows <-> simulate",
    ),
    ("private_names", _F, "from privrank_jax.links import _x\n", "takes _x from links"),
    ("private_names", _F, "from privrank_jax import links\ny = links._x\n", "takes _x from links"),
    ("private_names", _F, "def f(obj):\n    return obj._x\n", "takes _x from obj"),
    _signature("wrong_order_of_arguments", "wins, key, privacy", "key is not first"),
    _signature("wrong_order_of_arguments", "key, privacy, wins", "does not follow"),
    _signature("wrong_order_of_arguments", "key, privacy", "does not follow"),
    _signature("wrong_order_of_arguments", "privacy, wins", "does not follow"),
    _signature(
        "wrong_order_of_arguments", "privacy, answered: WinCounts | None", "does not follow"
    ),
    _signature("wrong_order_of_arguments", "key, wins, k, privacy", "does not follow"),
    _signature("wrong_order_of_arguments", "key, wins, *, privacy", "does not follow"),
    _signature("wrong_order_of_arguments", "key, wins, privacy, L", "L beside privacy"),
    _signature("wrong_order_of_arguments", "key, wins, privacy, eps", "eps beside privacy"),
    _signature("wrong_order_of_arguments", "key, wins, privacy, delta", "delta beside privacy"),
    _signature("promises_in_parts", "key, wins, epsilon", "epsilon and no privacy"),
    _signature("promises_in_parts", "key, wins, target_eps", "target_eps and no privacy"),
    _signature("promises_in_parts", "wins, unit, adjacency", "unit, adjacency and no privacy"),
    _signature("promises_in_parts", "wins, contributions", "contributions and no privacy"),
    _signature("default_promises", "wins, epsilon=1.0", "f: epsilon"),
    _signature("default_promises", "wins, eps=1.0", "f: eps"),
    _signature("default_promises", "wins, target_epsilon=1.0", "f: target_epsilon"),
    _signature("default_promises", "wins, epsilons=(1.0,)", "f: epsilons"),
    _signature("default_promises", "wins, *, unit='user'", "f: unit"),
    (
        "default_promises",
        "experiments/planted.py",
        "class PlantedConfig:\n    unit: str = 'user'\n",
        "PlantedConfig.unit has a default",
    ),
    (
        "default_promises",
        "experiments/planted.py",
        "class PlantedConfig:\n    epsilon: float = 1.0\n",
        "PlantedConfig.epsilon has a default",
    ),
    ("default_promises", _F, "class C:\n    epsilons: tuple = (1,)\n", "C.epsilons has a default"),
    ("dict_diagnostics", _F, "x = Estimate(1, None, {'a': 1})\n", "diagnostics are a dict"),
    ("dict_diagnostics", _F, "d = dict(a=1)\nx = Estimate(1, None, d)\n", "are a dict"),
    (
        "dict_diagnostics",
        _F,
        "def facts() -> dict[str, int]:\n    return made\nx = Estimate(1, None, facts())\n",
        "are a dict",
    ),
    (
        "dict_diagnostics",
        _F,
        "def facts():\n    return {'a': 1}\nx = Estimate(1, None, diagnostics=facts())\n",
        "are a dict",
    ),
    ("undocumented", "planted.py", "def f(x):\n    '''Do.'''\n", "planted.py:1 f"),
    ("without_shapes", "planted.py", "def f(x: np.ndarray):\n    pass\n", "f(x)"),
    ("without_shapes", "planted.py", "def f() -> list[Array]:\n    pass\n", "f -> "),
    ("without_shapes", "planted.py", "class C:\n    x: Array | None\n", "C.x: Array | None"),
    (
        "bare_products",
        _F,
        "import jax\ndef f(a, b):\n    return a @ b\n",
        "f: @ without a precision",
    ),
    ("bare_products", _F, "import jax\ndef f(a, b):\n    a @= b\n", "f: @ without a precision"),
    (
        "bare_products",
        _F,
        "import jax.numpy as jnp\nx = jnp.einsum('ij,j->i', a, b)\n",
        "einsum without",
    ),
    ("bare_products", _F, "import jax.numpy as jnp\nf = jax.vmap(jnp.vdot)\n", "vdot without"),
    (
        "bare_products",
        _F,
        "from jax import lax\nx = lax.dot_general(a, b, c)\n",
        "dot_general without",
    ),
    ("bare_products", _F, "import jax\nx = y.dot(z)\n", "y.dot without"),
)
