"""``privrank aggregate`` on small files and on the real sets of rankings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax import aggregation, metrics
from privrank_jax.data import load
from tests.of_rankings import CONSENSUS

REHEARSAL = ("--simulate", "--seed", 1)
NOBODY = ("--user", "none")
PRIVATE = [
    *(("auto", trust) for trust in ("central", "local")),
    *(
        (method.name, trust)
        for method in CONSENSUS.values()
        for trust in method.trusts
        if trust != "shuffled"
    ),
]


def items(document):
    return [row["item"] for row in document["ranking"]]


@pytest.fixture
def votes(write):
    """Forty users rank a, b, c: mostly in this order; some leave c out."""
    lines = [f"u{k},{'1,2,3' if k % 4 else '2,1,3' if k % 8 else '1,2,'}" for k in range(40)]
    return write(*lines, header="user,a,b,c")


def assert_schema(document, trust):
    assert list(document) == ["ranking", "guarantee", "diagnostics"]
    assert sorted(items(document)) == ["a", "b", "c"]
    for place, row in enumerate(document["ranking"], start=1):
        assert row["rank"] == place
        assert ("low" in row) == (row["score"] is not None)
        assert "low" not in row or row["low"] <= row["score"] <= row["high"]
    found = [row["score"] for row in document["ranking"]]
    assert found == [None] * 3 or found == sorted(map(float, found), reverse=True)
    guarantee = document["guarantee"]
    assert guarantee["epsilon"] == 40
    assert (guarantee["delta"], guarantee["unit"], guarantee["adjacency"]) == (0, "user", "replace")
    assert guarantee["trust"] == trust
    facts = document["diagnostics"]
    assert (facts["users"], facts["items"], facts["missing"]) == (40, 3, "last")


@pytest.mark.parametrize(("method", "trust"), PRIVATE)
def test_json_of_every_private_method(privrank, votes, method, trust):
    run = ("aggregate", votes, "--method", method, "--trust", trust, "--epsilon", 40, "--json")
    result = privrank(*run, *REHEARSAL)
    assert result.code == 0, result.err
    document = result.json()
    chosen = document["diagnostics"]["method"]
    assert_schema(document, trust)
    assert chosen != "borda" or document["ranking"][0]["score"] is not None
    assert document["guarantee"]["numerics"] == "simulation"
    assert "rehearsal" in document["guarantee"]["note"]
    auto = "weights" if trust == "central" else "borda"
    assert chosen == (auto if method == "auto" else method)
    assert items(document) == ["a", "b", "c"]
    assert document["diagnostics"]["seed"] == 1
    assert privrank(*run, *REHEARSAL).out == result.out
    notes = " ".join(document["diagnostics"]["notes"])
    assert "missing='last'" in notes
    for consent in [(), ("--accept-idealized",)][(method, trust) == ("kwiksort", "local") :]:
        released = privrank(*run, *consent).json()
        assert_schema(released, trust)
        real_valued = trust == "local" and method != "noise-all"
        expected = "simulation" if consent and real_valued else "exact"
        assert released["guarantee"]["numerics"] == expected
        assert "seed" not in released["diagnostics"]


def test_too_few_users_to_ask_for_a_pair_each(privrank, write):
    few = write("1,2,3", "3,2,1", header="a,b,c")
    run = ("aggregate", few, *NOBODY, "--epsilon", 0.5, "--trust", "local")
    assert privrank(*run, "--json").json()["diagnostics"]["mechanism"] == "subset-selection"
    refused = privrank(*run, "--method", "noise-all")
    assert refused.code == 2
    assert "2 users and 3 items" in refused.err
    assert "--trust local and --method borda" in refused.err
    orders = privrank(*run[:-3], 30, "--trust", "local", "--method", "noise-all", "--json").json()
    assert orders["diagnostics"]["items_per_user"] == 3  # at such ε all users may order all items


def test_a_release_never_repeats_and_is_exact(privrank, votes):
    run = ("aggregate", votes, "--epsilon", 0.001, "--json")
    first, second = privrank(*run).json(), privrank(*run).json()
    for document in (first, second):
        assert document["diagnostics"]["noise_scale"] == pytest.approx(1 / (0.001 * 40))
        assert document["diagnostics"]["noise"] == "discrete K-norm"
        totals = [2 * 40 * row["score"] for row in document["ranking"]]
        np.testing.assert_allclose(totals, np.round(totals), atol=1e-6)
    # Discrete noise of scale 2000 on three items is equal twice with probability below 1e-7.
    assert first != second
    laplace = privrank(*run, "--method", "borda", "--noise", "laplace").json()
    # Sensitivity of n times the scores: ⌊9/2⌋ = 4.
    assert laplace["diagnostics"]["noise_scale"] == pytest.approx(4 / (0.001 * 40))
    assert laplace["diagnostics"]["noise"] == "discrete Laplace"


def test_the_certificate_of_noise_all_is_that_of_the_noisy_weights(privrank, votes):
    """With fresh noise the printed cost moves, while the data's own cost stays: it is not what is printed."""
    run = ("aggregate", votes, "--method", "noise-all", "--epsilon", 0.5, "--json", "--simulate")
    found = [privrank(*run, "--seed", seed).json()["diagnostics"] for seed in range(4)]
    assert all(facts["certificate"]["of"] == "noisy weights" for facts in found)
    assert len({facts["certificate"]["cost"] for facts in found}) == 4
    for method in ("borda", "kwiksort", "exponential"):
        run = ("aggregate", votes, "--method", method, "--epsilon", 1, "--json", *REHEARSAL)
        assert "certificate" not in privrank(*run).json()["diagnostics"]


@pytest.mark.parametrize(
    ("method", "trust"), [pair for pair in PRIVATE if pair != ("kwiksort", "local")]
)
@pytest.mark.parametrize(("missing", "first"), [("last", "a"), ("unknown", "b")])
def test_every_method_heeds_the_rule(privrank, write, method, trust, missing, first):
    # 32 rank a alone, 8 rank b before a: a beats b by 32 to 8, or, where nothing else is known, loses by 0 to 8.
    times = 10 if (method, trust) == ("noise-all", "local") else 1  # there a tie is a coin
    path = write(*["1,,"] * 32 * times, *["2,1,"] * 8 * times, header="a,b,c")
    run = ("aggregate", path, *NOBODY, "--method", method, "--trust", trust, "--missing", missing)
    # One pair per user can't tell with so few: reports on all scores, which need consent.
    run += ("--accept-idealized",) if trust == "local" else ()
    for rehearsal in [REHEARSAL, ()] if trust == "central" else [REHEARSAL]:
        # Exact noise turns this order with probability below 1e-9.
        order = items(privrank(*run, "--epsilon", 40, "--json", *rehearsal).json())
        assert order.index(first) < order.index("b" if first == "a" else "a")


@pytest.fixture(scope="module")
def sushi(data_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIVRANK_DATA", str(data_folder))
        yield load("sushi")


def test_sushi_without_privacy(privrank, sushi):
    document = privrank("aggregate", "sushi", "--method", "none", "--json").json()
    assert document["diagnostics"]["certificate"]["ratio"] == 1
    w = np.asarray(aggregation.PairWeights.from_ranks(sushi.ranks).matrix)
    order = [sushi.item_names.index(name) for name in items(document)]
    cost = sum(w[j, i] for i, j in itertools.combinations(order, 2))
    assert document["diagnostics"]["certificate"]["cost"] == pytest.approx(cost)
    assert items(document)[0] == "fatty tuna"
    assert items(document)[-1] == "cucumber roll"


@pytest.mark.parametrize(
    ("method", "trust", "epsilon", "most"),
    [("auto", "central", 1, 3), ("kwiksort", "central", 1, 5), ("noise-all", "central", 1, 5),
     ("exponential", "central", 1, 6), ("auto", "local", 1, 12), ("auto", "central", 0.1, 8)],
)  # fmt: skip
def test_sushi_comes_near_the_best_consensus(privrank, sushi, method, trust, epsilon, most):
    best = np.asarray(aggregation.kemeny(aggregation.PairWeights.from_ranks(sushi.ranks)).ranks)
    document = privrank(
        "aggregate", "sushi", "--method", method, "--trust", trust, "--epsilon", epsilon, "--json",
        *REHEARSAL,
    ).json()  # fmt: skip
    order = [sushi.item_names.index(name) for name in items(document)]
    assert int(metrics.kendall_distance(np.argsort(order), best)) <= most
    assert document["diagnostics"]["notes"] == [] or trust == "local"


def test_the_winners_of_an_approval_vote_alone(privrank, write, tmp_path):
    """A set has no ranks, in text, JSON and HTML; its release is paid for once."""
    path = write(*(f"u{k},1,{k % 2},0" for k in range(40)), header="user,a,b,c")
    ledger, page = tmp_path / "votes.ledger", tmp_path / "page.html"
    assert privrank("ledger", ledger, "--data", path, "--budget", 90).code == 0
    asked = ("aggregate", path, "--approvals", "--epsilon", 40, "--top-k", 2, "--json")
    found = privrank(*asked, "--ledger", ledger, "--out", page).json()
    assert found["ranking"] == [
        {"rank": None, "item": "a", "score": None},
        {"rank": None, "item": "b", "score": None},
    ]
    facts = found["diagnostics"]
    assert (facts["method"], facts["selected_by"], facts["noise_scale"]) == (
        "top-k",
        "canonical",
        0.1,
    )
    assert found["guarantee"]["epsilon"] == 40
    assert "the 2 best of 3 items, in no order" in page.read_text(encoding="utf-8")
    lists = privrank(*asked, "--method", "one-shot", "--ledger", ledger).json()["ranking"]
    assert [row["rank"] for row in lists] == [1, 2]
    for options, said in (
        (("--ledger", ledger), "has epsilon 10 left"),
        (("--trust", "local", "--method", "canonical"), "central"),
        (("--top-k", 4), "is more than"),
    ):
        refused = privrank(*asked, *options)
        assert refused.code != 0
        assert said in refused.err
