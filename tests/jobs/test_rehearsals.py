"""A key decides all that a rehearsal draws: the operating system gives nothing to it."""

from __future__ import annotations

import json
import secrets

import jax
import pytest

import privrank_jax as pr

USER = pr.Privacy(1.0, unit="user", adjacency="replace", contributions=1)
WHOLE = pr.Privacy(1.0, unit="user", adjacency="replace")
LINES = [
    {"user": f"u{k % 3}", "prompt": f"q{k}", "chosen": f"yes {k}", "rejected": f"no {k}"}
    for k in range(9)
]


@pytest.fixture
def prefs(tmp_path):
    path = tmp_path / "prefs.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return pr.read(path)


@pytest.fixture
def rows(write):
    return pr.read(
        write("u,a,b,1", "u,b,c,0", "v,a,b,0", header="user,winner,loser,tie"), items="seen"
    )


@pytest.fixture
def orders(write):
    return pr.read(write("u,a>b=c", "v,b>a>c", header="user,order"), items="seen")


JOBS = {
    "labels of users": ("prefs", lambda data, key: pr.randomize(
        data, 3.0, unit="user", max_per_user=1, key=key)),
    "reports": ("rows", lambda data, key: pr.randomize(data, 1.0, ties="coin", key=key)),
    "synthetic": ("orders", lambda data, key: pr.randomize(data, 1.0, ties="coin", key=key)),
    "scores": ("rows", lambda data, key: pr.rank(data, USER, key=key)),
    "top": ("rows", lambda data, key: pr.rank(
        data, USER, method="canonical", max_per_item=1, top_k=1, key=key)),
    "consensus": ("orders", lambda data, key: pr.consensus(data, WHOLE, key=key)),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_a_rehearsal_draws_nothing_from_the_operating_system(job, request, monkeypatch):
    named, made = JOBS[job]
    data = request.getfixturevalue(named)

    def drawn(*_):
        raise AssertionError("the operating system was asked for random bits")

    for name in ("token_bytes", "token_hex", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, name, drawn)
    assert made(data, jax.random.key(1)).rehearsal
