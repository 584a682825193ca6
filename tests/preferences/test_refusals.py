"""What losses and training on private labels refuse, by the argument that is at fault."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.preferences import (
    LOSSES,
    debiased_accuracy,
    debiased_loss,
    dpo_loss,
    randomized_labels,
    reward_loss,
    soft_label_loss,
    train_on_labels,
)
from tests.promises import promise

KEY = jax.random.key(0)
S, LABELS = jnp.array([1.0, -2.0, 0.5, 3.0]), np.array([1, 0, 1, 0])
EPSILON, COLUMN = jnp.array([1.0, 2.0, 1.0, 2.0]), S[:, None]
MANY = "last axis"
COMPARISON, USER = promise(1.0, "comparison", "flip"), promise(1.2, "user", "flip")
PRIVATE = promise(1.0, "user", "flip", delta=1e-5)
USERS, PAIRS = np.array([7, 3, 7, 3]), np.array([[1.0, 0.2], [0.1, -1.0], [0.9, 0.4], [1.2, -0.1]])


def accuracy(scores=S, reports=LABELS, epsilon=1.0, **told):
    return debiased_accuracy(scores, reports, epsilon, **told)


def randomize(labels, privacy=COMPARISON, users=None):
    return randomized_labels(KEY, labels, privacy, users=users)


def dot(params, pair):
    return params @ pair


def root(params, pair):
    """Has no finite slope at 0."""
    return jnp.sqrt(params[0]) * pair[0]


def simulated(labels=LABELS, privacy=PRIVATE, users=USERS, pairs=PAIRS, score=dot, **told):
    start = told.pop("start", np.zeros(2))
    return train_on_labels(KEY, labels, privacy, score, start, pairs, users=users, **told)


def exact(labels=LABELS, privacy=PRIVATE, users=USERS, pairs=PAIRS, score=dot, **told):
    start = np.zeros(2)
    return train_on_labels.release(labels, privacy, score, start, pairs, users=users, **told)


REFUSED = [
    # losses
    *((lambda loss=loss: loss(COLUMN, LABELS, 1.0), MANY) for loss in LOSSES.values()),
    *((lambda loss=loss: loss(COLUMN, 1, EPSILON), MANY) for loss in LOSSES.values()),
    *((lambda loss=loss: jax.jit(loss)(COLUMN, LABELS, 1.0), MANY) for loss in LOSSES.values()),
    *((lambda loss=loss: loss(S, LABELS, EPSILON[:, None]), "epsilon") for loss in LOSSES.values()),
    *((lambda loss=loss: loss(1.0, LABELS[:, None], EPSILON), MANY) for loss in LOSSES.values()),
    *((lambda loss=loss: loss(S, LABELS, EPSILON[:3]), "epsilon") for loss in LOSSES.values()),
    *((lambda loss=loss: loss(S, LABELS, 0.0), "epsilon") for loss in LOSSES.values()),
    *((lambda loss=loss: loss(S, LABELS, 1.0, coding="ab"), "coding") for loss in LOSSES.values()),
    *(
        (lambda label=label: debiased_loss(1.0, label, 1.0), "reports")
        for label in (2, 0.5, -0.5, -2, math.nan, math.inf)
    ),
    (lambda: debiased_loss(np.ones(3), [1, 0, -1], 1.0), "reports"),
    (lambda: reward_loss(COLUMN, S, 1.0), MANY),
    (lambda: reward_loss(COLUMN, -COLUMN, EPSILON), MANY),
    (lambda: reward_loss(S, S[:3], 1.0), "rejected"),
    (lambda: reward_loss(1.0, 0.0, 1.0, loss="hinge"), "loss"),
    (lambda: dpo_loss(COLUMN, COLUMN, S, S, 1.0), MANY),
    (lambda: dpo_loss(COLUMN, COLUMN, COLUMN, COLUMN, EPSILON), MANY),
    (lambda: dpo_loss(S, S, S, S, 1.0, beta=0.0), "beta"),
    (lambda: soft_label_loss(COLUMN, EPSILON / 2), MANY),
    # accuracy
    (lambda: accuracy(COLUMN), MANY),
    (lambda: accuracy(np.ones(0)), "shape"),
    (lambda: accuracy(np.array([1.0, np.nan]), [1, 0]), "NaN"),
    (lambda: accuracy(reports=[1, 2, 0, 0]), "reports"),
    (lambda: accuracy(reports=[1, 0, 1]), "reports"),
    (lambda: accuracy(epsilon=0.0), "epsilon"),
    (lambda: accuracy(epsilon=np.ones(3)), "epsilon"),
    (lambda: accuracy(level=1.0), "level"),
    (lambda: accuracy(interval="exact"), "interval"),
    (lambda: accuracy(coding="-1/1"), "coding"),
    # labels
    (lambda: randomize([1, 2]), "labels"),
    (lambda: randomize([0.5, np.nan]), "probabilities"),
    (lambda: randomize(["a", "b"]), "labels"),
    (lambda: randomize(1), "shape"),
    (lambda: randomize([1, 0], USER), "users"),
    (lambda: randomize([1, 0], USER, [1]), "users"),
    (lambda: randomize([1, 0], USER, [0.5, 1.0]), "users"),
    (lambda: randomize([1, 0], promise(1.0, "user", "replace"), [0, 0]), "promise"),
    (lambda: randomize([1, 0], promise(np.ones(2), "comparison", "flip")), "one number"),
    # training
    *(
        (lambda call=call, told=told: call(**told), word)
        for call in (simulated, exact)
        for told, word in (
            ({"labels": 2 * LABELS}, "labels"),
            ({"labels": np.full(4, np.nan)}, "labels"),
            ({"labels": LABELS[:0], "users": USERS[:0]}, "no labels"),
            ({"privacy": promise(1.0, "user", "flip")}, "delta"),
            ({"privacy": promise(1.0, "user", "replace", delta=1e-5)}, "promise"),
            ({"privacy": promise(np.ones(2), "user", "flip", delta=1e-5)}, "one|finite"),
            ({"users": USERS[:3]}, "users"),
            ({"users": [None, "a", "b", "c"]}, "missing"),
            ({"users": [math.nan, "a", "b", "c"]}, "missing"),
            ({"users": [1, "1", "b", "c"]}, "names"),
            ({"pairs": PAIRS[:3]}, "leading axis"),
            ({"pairs": ()}, "leading axis"),
            ({"releases": 0}, "releases"),
            ({"releases": 1.5}, "releases"),
            ({"steps": 0}, "steps"),
            ({"clip": 0.0}, "clip"),
            ({"clip": np.nan}, "clip"),
        )
    ),
    (lambda: simulated(start=np.zeros(2, int)), "floats"),
    (lambda: simulated(start={"function": jnp.tanh, "rate": 0.5}), "functions"),
    (lambda: exact(score=root), "slopes"),
    (lambda: exact(privacy=promise(np.inf, "user", "flip", delta=1e-5)), "finite"),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def test_a_score_of_all_pairs_at_once_is_refused():
    with pytest.raises(TypeError, match="score_difference"):
        simulated(score=lambda pair: pair)
