"""The rankings of sushi that are learned from."""

from __future__ import annotations

from privrank_jax.data import load
from privrank_jax.experiments.rdp import personalized as rdp_personalized
from tests.experiments.rows import p_of


def test_sushi_ranks_are_those_among_the_five(data_folder):
    p = p_of("rdp-fig8")
    found, table = rdp_personalized.sushi_ranks(p), load("sushi")
    columns = [table.item_names.index(name) for name in p.items]
    assert found.shape == (p.train_users + 2000, 5)
    for user in (0, 17, 4999):
        own = [table.ranks[user][column] for column in columns]
        assert found[user].tolist() == [sum(other < rank for other in own) for rank in own]
