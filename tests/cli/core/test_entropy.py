"""Keys and salts: never the same in releases, always the same in a seeded rehearsal."""

from __future__ import annotations

import jax
import numpy as np
from privrank_jax.cli.core.entropy import Entropy

from privrank_jax.cli.core.request import Release


def words(entropy, count=4):
    return [tuple(np.asarray(jax.random.key_data(entropy.key())).tolist()) for _ in range(count)]


def test_releases_take_fresh_keys_of_the_usual_kind():
    entropy = Entropy(Release(source="x"))
    assert entropy.seed is None
    assert len({*words(entropy), *words(Entropy(Release(source="x")))}) == 8
    assert jax.random.key_impl(entropy.key()) == jax.random.key_impl(jax.random.key(0))
    assert entropy.salt() != entropy.salt()


def test_a_seeded_rehearsal_repeats_itself_and_none_of_its_own_keys():
    request = Release(source="x", simulate=True, seed=7)
    first, second = Entropy(request), Entropy(request)
    assert words(first) == words(second)
    assert len(set(words(first))) == 4
    assert first.salt() == Entropy(request).salt() or first.salt() != ""
    assert Entropy(request).salt() == Entropy(request).salt()


def test_a_rehearsal_without_a_seed_says_which_it_took():
    entropy = Entropy(Release(source="x", simulate=True))
    assert 0 <= entropy.seed < 2**31
    again = Entropy(Release(source="x", simulate=True, seed=entropy.seed))
    assert words(entropy) == words(again)
