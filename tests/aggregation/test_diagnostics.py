"""Diagnostics of functions on rankings: they are pytrees, and public where documented so."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax._quickly import quickly
from privrank_jax.aggregation import PairWeights, diagnostics
from privrank_jax.aggregation.dp_sorting import hay_kwiksort
from tests.promises import user
from tests.quick import thorough_but

KINDS = [kind for _, kind in inspect.getmembers(diagnostics, dataclasses.is_dataclass)]
UNANIMOUS = np.tile([0, 1, 2, 3], (24, 1))
SPLIT = np.stack([np.roll([0, 1, 2, 3], shift) for shift in range(24)])


def said_of(kind):
    """``{field: what the comment beside it says}``."""
    return dict(re.findall(r"^    (\w+): .*  #: (.*)$", inspect.getsource(kind), re.M))


def weighing(function, **settings):
    return lambda key, ranks: function(key, PairWeights.from_ranks(ranks), user(0.5), **settings)


def asking(function, delta=0.0, **settings):
    return lambda key, ranks: function(key, ranks, user(0.5, delta), **settings)


RUNS = {
    "dp_kwiksort": ("Sort", weighing(aggregation.dp_kwiksort, max_queries=4)),
    "hay_kwiksort": ("Sort", weighing(hay_kwiksort, max_queries=4)),
    "ldp_kwiksort": ("LocalSort", asking(aggregation.ldp_kwiksort, max_queries=4)),
    "exponential_kemeny": ("Exponential", weighing(aggregation.exponential_kemeny)),
    "ldp_borda": ("Report", asking(aggregation.ldp_borda)),
    "sub_ranking_weights": ("Pair", asking(aggregation.sub_ranking_weights)),
    "shuffled_pair_weights": ("Shuffled", asking(aggregation.shuffled_pair_weights, delta=1e-6)),
}
QUICK = ("exponential_kemeny",)  # the others take longest to compile


def test_every_kind_is_run_and_says_of_all_whether_it_is_public():
    names = {f"{kind}Diagnostics" for kind, _ in RUNS.values()}
    assert names == {kind.__name__ for kind in KINDS}
    for kind in KINDS:
        said = said_of(kind)
        assert list(said) == [field.name for field in dataclasses.fields(kind)]
        assert all(("public" in words) != ("private" in words) for words in said.values())


@pytest.mark.parametrize("name", thorough_but(RUNS, *QUICK))
def test_public_facts_do_not_depend_on_the_data(name, key):
    """The same from users who agree and from users who don't, under other keys; with a replicate axis under vmap.

    For one release NumPy computes the public facts alone; for the batch, a program computes all.
    """
    kind, run = getattr(diagnostics, f"{RUNS[name][0]}Diagnostics"), RUNS[name][1]
    public = [field for field, words in said_of(kind).items() if "public" in words]

    def facts(key, ranks):
        told = run(key, ranks).diagnostics
        return {field: getattr(told, field) for field in public}

    one = quickly(functools.partial(facts, ranks=UNANIMOUS), key)
    other = quickly(functools.partial(facts, ranks=SPLIT), jax.random.key(1))
    single = jax.eval_shape(lambda key: run(key, UNANIMOUS).diagnostics, key)
    told = jax.jit(jax.vmap(lambda key: run(key, UNANIMOUS).diagnostics))
    batch = told(jax.random.split(key, 3))
    assert type(single) is type(batch) is kind
    for field in said_of(kind):
        found = getattr(batch, field)
        if field in public:
            np.testing.assert_array_equal(one[field], other[field], err_msg=field)
            np.testing.assert_allclose(np.broadcast_to(found, 3), [one[field]] * 3, rtol=1e-12)
        else:
            assert np.shape(found) == (3, *getattr(single, field).shape)
