"""What transformations of JAX leave as it is: answers, and whether a key was used before."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise, privacy_audit
from privrank_jax.privacy import Privacy
from privrank_jax.simulate import Study, grid, run
from tests.example_calls import call_made, call_of, examples, with_key
from tests.quick import thorough

ALIKE = "users-with-one-questionnaire"
OF_STEPS = ("ldp_kwiksort", "local_by_queries", "private_by_queries")  # audits run their steps
# Functions of these run on the host.
ON_THE_HOST = ("data", "experiments", "jobs", "plotting", "privacy_audit", "release", "simulate")


class Call:
    """A call with what JAX may trace apart from the rest: arrays and floats."""

    def __init__(self, function: Callable[..., Any], bound: inspect.BoundArguments) -> None:
        self.function, self.bound = function, bound
        given = {name: in_arrays(value) for name, value in bound.arguments.items()}
        found, self.tree = jax.tree_util.tree_flatten_with_path(given)
        self.leaves = [leaf for _, leaf in found]
        self.places = [i for i, leaf in enumerate(self.leaves) if is_traceable(leaf)]
        self.paths = [jax.tree_util.keystr(found[place][0]) for place in self.places]

    @property
    def values(self) -> list[Any]:
        return [self.leaves[place] for place in self.places]

    def __call__(self, values: list[Any]) -> Any:
        leaves = list(self.leaves)
        for place, value in zip(self.places, values):
            leaves[place] = value
        bound = copy.copy(self.bound)
        bound.arguments = jax.tree.map(
            made_anew, jax.tree.unflatten(self.tree, leaves), is_leaf=is_promise
        )
        return self.function(*bound.args, **bound.kwargs)


def is_promise(value: Any) -> bool:
    return isinstance(value, Privacy)


def made_anew(value: Any) -> Any:
    """Promises by their constructor, which looks at what they say."""
    return dataclasses.replace(value) if is_promise(value) else value


def in_arrays(value: Any) -> Any:
    """Numbers in lists as one array, if the lists are of one length."""
    numbers = (isinstance(leaf, int | float) for leaf in jax.tree.leaves(value))
    if not isinstance(value, list) or not all(numbers):
        return value
    with contextlib.suppress(ValueError):
        return np.asarray(value)
    return value


def is_traceable(leaf: Any) -> bool:
    real = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fiub"
    return isinstance(leaf, jax.Array) or real or type(leaf) is float


def audited() -> list[str]:
    """Rows of the registry of audits that call their function, and a call whose users change less together."""
    rows = map(privacy_audit.get, privacy_audit.names())
    return [ALIKE, *(row.name for row in rows if row.function not in OF_STEPS)]


def asked_alike() -> Call:
    """Comparisons whose users change less together than one by one, as the shape of the design says."""
    pairs, users = np.array([(0, 1), (0, 2), (1, 2)] * 2).T, [0, 0, 0, 1, 1, 1]
    table = pairwise.covariate_table(*pairs, [1] * 6, {}, num_items=3, users=users)
    promise = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))
    bound = inspect.signature(pairwise.noisy_sums).bind(jax.random.key(1), table, promise)
    return Call(pairwise.noisy_sums, bound)


def called(name: str) -> Call:
    """The call that an example makes, or a row of the registry."""
    if name in examples():
        return Call(examples()[name], call_of(name))
    if name == ALIKE:
        return asked_alike()
    row, key = privacy_audit.get(name), jax.random.key(1)
    function = next(one for path, one in examples().items() if path.split()[1] == row.function)
    bound = call_made(function, lambda: row.release(key, row.neighbors[0], row.promise))
    assert bound is not None
    return Call(function, bound)


def content(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


# Their engines are those of other rows.
LATE = {
    "local-weights-privunit", "ldp-borda-privunit", "local-weights-duchi", "privunit-vectors", "ldp-borda",
    "sub-ranking-weights", "shuffled-pair-weights", "perturbed-choices", "perturbed-davidson", "perturbed-covariates",
    "perturbed-mle-published", "dp-footrule", "dp-borda", "noise-all", "dp-kwiksort-published", "hay-kwiksort",
    "canonical-top-k", "permute-and-flip-top-k", "continual-totals", "noisy-choices", "covariate-ties", "dp-scores",
    "local-weights-rr", "private-weights", "ldp-borda-subsets", "covariate-sums", "dp-kwiksort",
}  # fmt: skip


def rows() -> list[Any]:
    """A row of each mechanism; in the thorough tier all of them, and all functions that may run in a program."""
    rows = map(privacy_audit.get, reversed(audited()[1:]))
    early = {*{row.function: row.name for row in rows}.values(), ALIKE} - LATE
    pure = [name for name in examples() if name.split(".")[0] not in ON_THE_HOST]
    late = map(thorough, [*audited(), *pure])
    return [*sorted(early), *(one for one in late if one.values[0] not in early)]


@pytest.mark.parametrize("name", rows())
def test_compiled_and_batched_calls_answer_as_plain_ones_do(name):
    """Or they refuse what is traced: an answer never depends on how a function is called."""
    call = called(name)
    plain = call(call.values)
    one = [jnp.asarray(value)[None] for value in call.values]
    ways = [lambda: jax.jit(call)(call.values)]
    if one:  # both in one program; what refuses to be batched is compiled
        batched = jax.jit(jax.vmap(call))
        ways.insert(0, lambda: jax.tree.map(lambda leaf: leaf[0], jax.device_get(batched(one))))
    for way in ways:
        try:
            found = way()
        except (TypeError, ValueError, NotImplementedError):
            continue
        assert jax.tree.structure(found) == jax.tree.structure(plain)
        for theirs, ours in zip(jax.tree.leaves(found), jax.tree.leaves(plain)):
            np.testing.assert_allclose(content(theirs), content(ours), rtol=1e-6, atol=1e-9)
        return


# A study folds its key, so that all of them may share random numbers; and JAX takes a loop over split keys under vmap
# for a second use of them, here and in programs of its own.
NOT_REPORTED = {"simulate.engine run"}
# They run a method, whose rows are here, with a key of its own.
OF_METHODS = {
    "jobs.consensus consensus", "jobs.leaderboard leaderboard", "aggregation.query_reduction local_by_queries",
}  # fmt: skip


def keyed() -> list[Any]:
    """What draws from a key; in the thorough tier all mechanisms with all their arguments."""
    late = map(thorough, [*sorted(OF_METHODS), *audited()])
    return [*sorted(set(with_key()) - NOT_REPORTED - OF_METHODS), *late]


@pytest.mark.parametrize("name", keyed())
def test_a_key_is_used_once(name):
    """JAX's check sees a second draw from a key, and nothing wrong in the first."""
    call = called(name)

    def drawn(key: jax.Array, times: int = 1) -> None:
        bound = copy.copy(call.bound)
        bound.arguments = {**bound.arguments, "key": key}
        for _ in range(times):
            call.function(*bound.args, **bound.kwargs)

    def traced(key: jax.Array, times: int = 1) -> None:
        jax.jit(functools.partial(drawn, times=times)).trace(key)

    key, draw = jax.random.key(0), traced
    with jax.debug_key_reuse(True):
        try:
            draw(key)
        except jax.errors.KeyReuseError:
            raise
        except (TypeError, ValueError):
            draw = drawn
            draw(key)
        with pytest.raises(jax.errors.KeyReuseError):
            draw(key, 2)


def test_a_study_folds_its_key():
    """In several programs and batches, and again."""

    def trial(key, cell):
        return {"mean": jax.random.normal(key, (cell["size"],)).mean() * cell["spread"]}

    study = Study("means", trial, grid(size=(1, 2), spread=(1.0, 2.0)), static=("size",))
    key = jax.random.key(0)
    with jax.debug_key_reuse(True):
        first, again = (run(key, study, 5, batch_size=2).rows for _ in range(2))
    assert first == again
