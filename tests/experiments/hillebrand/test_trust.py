"""The study ``hillebrand-local``: a small run to the end, its cells, and its proven bound."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from privrank_jax import Privacy, experiments
from privrank_jax.aggregation import shuffled_pair_weights
from privrank_jax.aggregation.shuffled_pairs import local_epsilons, weights_of_shuffled
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.hillebrand import trust
from privrank_jax.simulate.checkpoint import identity
from privrank_jax.simulate.devices import Devices
from privrank_jax.simulate.program import Program

KEY = jax.random.key(5)


def test_a_small_run_ends_with_table_picture_and_verdicts(tmp_path):
    settings = {"sizes": ((3, 900),), "epsilons": (0.5, 50.0), "crowds": (crowds.GRUDGE,)}
    result = experiments.run(KEY, "hillebrand-local", 3, folder=tmp_path, **settings)
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    found = {(row["epsilon"], row["estimator"]): row["mean"] for row in result.table.rows}
    assert {row["study"] for row in result.table.rows} == {crowds.GRUDGE}
    assert {name for _, name in found if " minus " not in name} == set(trust.NAMES)
    for (epsilon, name), mean in found.items():
        one, minus, other = name.partition(" minus ")
        if minus:
            assert mean == pytest.approx(found[epsilon, one] - found[epsilon, other], abs=1e-6)
            continue
        assert mean >= -1e-6
        if epsilon > 1 and trust.BORDA not in name:  # hardly any noise, and a majority of one mind
            assert mean == pytest.approx(0, abs=1e-6)


def test_a_batch_does_not_call_the_host():
    """Nor could a killed run of such a study go on."""
    config = trust.TrustConfig("s", sizes=((3, 900),), crowds=(crowds.GRUDGE,))
    (study,) = trust.build(config)
    (indices,) = study.groups()
    program = Program(KEY, study, indices, 2, Devices(), None, 2**30)
    assert identity(program) == identity(program)


def test_reports_are_shuffled_at_the_local_epsilon_of_their_promise():
    ranks = jax.numpy.tile(jax.numpy.arange(4), (900, 1))
    for level in (0.5, 3.0):
        promise = Privacy(level, unit="user", adjacency="replace", delta=1e-6)
        (local,) = local_epsilons(900, np.asarray([level]), np.asarray(1e-6))
        np.testing.assert_array_equal(
            weights_of_shuffled(KEY, ranks, local, "last"),
            shuffled_pair_weights(KEY, ranks, promise).value,
        )


def test_every_size_is_a_program_over_its_own_crowds():
    config = trust.TrustConfig(
        "s",
        sizes=((4, 300), (6, 600), (6, 300)),
        crowds=(crowds.TURNED, crowds.SUSHI, crowds.CAMPS),
    )
    assert trust.places(config) == [
        (name, m) for m in (4, 6) for name in (crowds.TURNED, crowds.CAMPS)
    ]
    (study,) = trust.build(config)
    assert len(study.groups()) == 3
    cells = [(cell["num_items"], cell["num_users"], cell["crowd"]) for cell in study.cells]
    assert cells == [
        (4, 300, 0), (4, 300, 1), (6, 600, 2), (6, 600, 3), (6, 300, 2), (6, 300, 3),
    ]  # fmt: skip
    assert isinstance(study.trial, functools.partial)
    held = study.trial.keywords["held"]
    first, stack = held[6]
    assert first == 2
    for place, name in enumerate((crowds.TURNED, crowds.CAMPS)):
        crowd = crowds.crowd(name, 6)
        np.testing.assert_array_equal(stack.ranks[place], crowd.ranks)
        np.testing.assert_array_equal(stack.weights[place], crowd.weights)
        assert stack.costs[place, 0] == crowd.optimum


def test_claims_name_what_runs():
    for first, second in trust.PAIRS:
        assert first != second
        assert {first, second} <= set(trust.NAMES)
