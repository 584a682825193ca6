"""What is refused: one table of what is asked, and the word that says what is wrong."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Ratings
from privrank_jax.jobs import consensus
from privrank_jax.jobs.arrivals import schedule_of
from privrank_jax.jobs.asked import Asked
from privrank_jax.privacy import Privacy
from tests.jobs.released import read
from tests.jobs.test_leaderboard import COMMON, DAYS, PROMISE, votes
from tests.quick import thorough


def user(adjacency="replace", **given):
    return Privacy(1.0, unit="user", adjacency=adjacency, **given)


RANK = [
    ({"method": "mean"}, "method"),
    ({"link": "linear"}, "link"),
    ({"ties": "rao-kupper"}, "ties"),
    ({"top_k": 0}, "top_k"),
    ({"top_k": True}, "top_k"),
    ({"level": 1.0}, "level"),
    ({"gamma": -1.0}, "gamma"),
    ({"gamma": 0.0}, "positive"),
    ({"ties": "davidson", "method": "counts"}, "logistic"),
    ({"ties": "davidson", "link": "laplace"}, "logistic"),
    ({"method": "one-shot"}, "top_k=3"),
    ({"method": "top-k", "top_k": 2, "noise": "laplace"}, "noise"),
    ({"method": "counts", "max_per_item": 1}, "max_per_item"),
    ({"bounds": {"x": (0.0, 1.0)}}, "bounds"),
    ({"promise": user(contributions=2**31)}, "at most"),
    ({"promise": Privacy(1.0, unit="rank", adjacency="replace")}, "unit"),
    ({"weighted": True}, "weight_most"),
    ({"weighted": True, "weight_most": 3.0, "method": "counts"}, "scores"),
    ({"weighted": True, "weight_most": 3.0, "method": "one-shot", "top_k": 1}, "scores"),
    ({"weighted": True, "weight_most": 3.0, "promise": user("flip")}, "adjacency"),
    ({"weighted": True, "weight_most": 0.0, "promise": None}, "weight_most"),
    ({"weighted": True, "weight_most": math.inf, "promise": None}, "weight_most"),
    ({"weight_most": 1.0, "promise": None}, "weight_most"),
]


@pytest.mark.parametrize(("asked", "word"), RANK)
def test_of_a_ranking_of_comparisons(asked, word):
    Asked().check(user())
    asked = {"promise": user(), "weighted": False, **asked}
    promise, weighted = asked.pop("promise"), asked.pop("weighted")
    with pytest.raises(ValueError, match=word):
        Asked(**asked).check(promise, weighted=weighted)


@pytest.mark.parametrize(
    ("options", "adjacency", "mechanism"),
    [
        ({"method": "counts"}, "replace", "noisy-counts"),
        ({"method": "counts"}, "add-remove", "noisy-counts"),
        ({}, "replace", "perturbed-mle"),
        ({}, "add-remove", "perturbed-mle"),
        ({"link": "laplace"}, "flip", "perturbed-mle"),
        ({}, "flip", "noisy-counts"),
        ({"method": "one-shot"}, "replace", "one-shot-top-k"),
        ({"method": "canonical"}, "replace", "canonical-top-k"),
        ({"method": "top-k"}, "replace", "canonical-top-k"),
    ],
)
def test_each_method_has_a_mechanism_that_keeps_the_promise(options, adjacency, mechanism):
    assert Asked(**options).mechanism(user(adjacency)) == mechanism


SHUFFLED = {"trust": "shuffled", "promise": user(delta=1e-6)}
RULE = {"rule": "schulze"}
CONSENSUS = [
    ({"method": "mean"}, "method"),
    ({"trust": "nobody"}, "trust"),
    ({"xi": 0.5, "method": "borda"}, "xi"),
    ({"method": "exponential", "trust": "local"}, "trust=central"),
    ({"noise": "normal"}, "noise"),
    ({"trust": "shuffled"}, "delta"),
    ({**SHUFFLED, "noise": "gaussian"}, "noise"),
    ({**SHUFFLED, "method": "kwiksort"}, "trust="),
    ({"method": "exponential", "noise": "gaussian", "promise": user(delta=1e-6)}, "gaussian"),
    ({"promise": Privacy(1.0, unit="comparison", adjacency="replace")}, "unit='user'"),
    ({"rule": "plurality"}, "rule"),
    ({**RULE, "method": "borda"}, "rule"),
    ({**RULE, "xi": 0.1}, "xi"),
    ({**RULE, "points": "0-5"}, "points"),
    ({**RULE, "noise": "laplace"}, "laplace"),
    ({**RULE, "method": "noise-all", "promise": user("add-remove")}, "replaced"),
    ({"trust": "local", "promise": user("add-remove")}, "replaced"),
    ({"method": "footrule", "promise": user("add-remove")}, "add-remove"),
    ({"method": "borda", "noise": "laplace", "promise": None}, "`method`, `noise`"),
]


@pytest.mark.parametrize(("asked", "word"), CONSENSUS)
def test_of_a_consensus_of_rankings(asked, word):
    consensus.Asked(rule="schulze").check(user("add-remove"))
    asked = {"promise": user(), **asked}
    promise = asked.pop("promise")
    with pytest.raises(ValueError, match=word):
        consensus.Asked(**asked).check(promise)


BLANK = Ratings.read({"user": ["u"], "a": [1], "b": [2], "c": [3]}, ratings="1:9", items="seen")
HALVES = Ratings.read({"user": ["u"], "a": [0.5], "b": [1]}, ratings="0:1", items="seen")
STARS = {"method": "scores", "points": "1-5"}
POINTS = [
    (BLANK, {**STARS, "points": "5-1"}, "scale"),
    (BLANK, {**STARS, "points": "many"}, "scale"),
    (BLANK, {**STARS, "limit": 0}, "at least"),
    (BLANK, {**STARS, "trust": "local"}, "trust=central"),
    (BLANK, {"method": "borda", "points": "1-5"}, "leave it"),
    (BLANK, {"points": "1-5"}, "method='scores'"),
    (HALVES, {**STARS, "points": "0-1"}, "whole"),
    (pr.read("coffee-rankings"), {"method": "scores"}, "kind='approvals'"),
    (dataclasses.replace(BLANK, ends=None), {"method": "canonical", "top_k": 2}, "points="),
    (BLANK, {**STARS, "top_k": 0}, "at least"),
    (BLANK, {**STARS, "top_k": 4}, "top_k"),
    (BLANK, {**STARS, "method": "canonical", "top_k": 3}, "smaller"),
    (BLANK, {**STARS, "method": "canonical"}, "top_k=3"),
    (BLANK, {**STARS, "method": "top-k", "top_k": 2, "noise": "laplace"}, "noise"),
    (BLANK, {"method": "borda", "top_k": 2, "limit": 1}, "leave it"),
    (BLANK, {**STARS, "method": "top-k", "top_k": 1, "epsilon": 1e-12}, "noise alone"),
]


@pytest.mark.parametrize(("data", "asked", "word"), POINTS)
def test_of_points(data, asked, word):
    promise = Privacy(asked.get("epsilon", 1.0), unit="user", adjacency="replace")
    with pytest.raises(ValueError, match=word):
        pr.consensus(data, promise, **{k: v for k, v in asked.items() if k != "epsilon"})


def test_a_ridge_of_nothing():
    rows = read({"user": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "a"], "tie": [1, 0]})
    with pytest.raises(ValueError, match="positive"):
        pr.rank(rows, user("flip", contributions=1), ties="davidson", gamma=0.0)
    with pytest.raises(ValueError, match="xi"):
        pr.consensus(pr.read("coffee-rankings"), None, rule="copeland", xi=0.5)


CENTRAL = {"trust": "central", "max_per_user": 4}
AGREED = {"rankings": True}
PLAN = [
    ({"epsilon": None}, "two of"),
    ({"items": 1}, "items"),
    ({"epsilon": 0}, "epsilon"),
    ({"share_observed": 1.2}, "share_observed"),
    ({"spread": 1.7e308}, "spread"),
    ({"share_observed": 5e-324}, "share_observed"),  # of which nothing finite follows
    ({"confidence": 1.0}, "confidence"),
    ({"link": "logistc"}, "link"),
    thorough({"users": None, "epsilon": 1e-5, "target": 1e-7}, "more than"),
    ({"delta": 1e-6}, "delta"),
    ({"method": "borda"}, "method"),
    ({"trust": "shuffled"}, "delta"),
    ({"trust": "central"}, "max_per_user"),
    ({**CENTRAL, "error": "cost"}, "error"),
    ({**CENTRAL, "error": "pairs", "spread": 0}, "order"),
    ({**CENTRAL, "error": "first", "confidence": 0.9}, "confidence"),
    ({"top_k": 9}, "top_k"),
    ({"top_k": 2.0}, "whole"),
    ({**AGREED, "method": "exponential", "delta": 1e-6}, "delta"),
    ({"adjacency": "add-remove"}, "adjacency"),
    ({**AGREED, "max_per_user": 2}, "max_per_user"),
    ({**AGREED, "items": 101}, "items"),
    ({**AGREED, "items": 13, "method": "exponential"}, "method"),
    ({**AGREED, "trust": "local"}, "trust"),
    ({**AGREED, "method": "borda", "rule": "copeland"}, "rule"),
    ({**AGREED, "method": "bordo"}, "method"),
    ({**AGREED, "adjacency": "flip"}, "adjacency"),
    ({**AGREED, "adjacency": "add-remove", "method": "kwiksort"}, "adjacency"),
    ({**AGREED, "points": "0-1"}, "leave it"),
    ({"points": "many"}, "scale"),
    ({"points": "0-1", "limit": 0}, "limit"),
    ({"points": "0-1", "adjacency": "flip"}, "adjacency"),
    ({"points": "0-1", "trust": "local"}, "central"),
]


@pytest.mark.parametrize(("options", "word"), PLAN)
def test_of_a_plan(options, word):
    with pytest.raises(ValueError, match=word):
        pr.plan(**{"items": 8, "users": 900, "epsilon": 1, "draws": 20, **options})


BOARD = [
    ({"data": pr.read("coffee-rankings")}, "comparisons"),
    ({"noise": "k-norm"}, "noise"),
    ({"level": 1.0}, "level"),
    ({"top_k": 0}, "top_k"),
    ({"top_k": 4}, "top_k"),
    ({"until": "2024-01-01"}, "no step"),
    ({"start": "2024-01-02"}, "before the"),
    ({"start": "2024-01-02", "key": jax.random.key(0)}, "before the"),
    ({"until": None}, "old export"),
    ({"state": None}, "state"),
    ({"data": votes(times=None)}, "times"),
    ({"data": votes(times=DAYS[:3])}, "times"),
    ({"data": votes("abcd")}, "item 'd'"),
    ({"promise": user(delta=1e-6)}, "contributions"),
    ({"promise": Privacy(1.0, unit="comparison", adjacency="replace")}, "delta"),
]


@pytest.mark.parametrize(("options", "word"), BOARD)
def test_of_a_leaderboard(tmp_path, options, word):
    usual = {"until": "2024-01-03", "state": tmp_path / "board", **COMMON}
    if "data" in options:  # a board of three items that goes on
        pr.leaderboard(votes(), PROMISE, **usual)
    asked = {"data": votes(), "promise": PROMISE, **usual, **options}
    with pytest.raises(ValueError, match=word):
        pr.leaderboard(asked.pop("data"), asked.pop("promise"), **asked)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"start": "soon"}, "start"),
        ({"until": "soon"}, "until"),
        ({"every": "year"}, "every"),
        ({"steps": 0}, "steps"),
        ({"every": "month"}, "start"),  # on a day that not all have
    ],
)
def test_of_a_schedule(wrong, word):
    usual = {"every": "day", "start": "2024-01-31", "steps": 3, "until": "2024-02-02"}
    with pytest.raises(ValueError, match=word):
        schedule_of(**{**usual, **wrong})
    with pytest.raises(ValueError, match="no rows"):
        schedule_of(**usual).check_recent(np.array([], "datetime64[us]"), "v.csv")
