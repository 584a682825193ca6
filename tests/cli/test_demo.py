"""The demo: what it shows, in numbers and in words."""

from __future__ import annotations


def test_demo(privrank, tmp_path, monkeypatch):
    from privrank_jax.cli import survey

    monkeypatch.setattr(survey, "REPLICATES", 100)
    monkeypatch.setattr(survey, "REPEATS", 2000)
    document = privrank("demo", "--out", tmp_path / "new", "--json").json()
    voters = document["voters"]
    assert dict(zip(voters["items"], voters["wins"])) == {
        "Mountain View": 12.0, "San Francisco": 8.0, "New York": 8.0, "Cambridge": 8.0, "Accra": 4.0,
    }  # fmt: skip
    assert voters["sensitivity"] == 12
    assert 10 < voters["noise_deviation"] < 0.75 * 12 * 2**0.5  # Laplace noise has the latter
    kept = [row["winner_kept"] for row in voters["private"]]
    assert 0.2 < kept[0] < 0.4 < 0.8 < kept[1] < kept[2]
    assert (tmp_path / "new" / survey.PICTURE).stat().st_size > 10_000
    errors = {(r["method"], r["metric"], r["epsilon"]): r["mean"] for r in document["study"]}
    assert errors["counts", "kendall", 0.1] > 0.25  # noise drowns 400 users at ε = 0.1 ...
    assert errors["mle", "kendall", 5.0] < 0.06  # ... and hardly shows at ε = 5
    assert errors["mle", "kendall", None] < errors["counts", "kendall", None]
