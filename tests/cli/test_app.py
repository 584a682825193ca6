"""The command as a whole: help, version, imports, the demo."""

from __future__ import annotations

import subprocess
import sys

import pytest

from privrank_jax import __version__


def test_version(privrank):
    result = privrank("--version")
    assert (result.code, result.out) == (0, f"privrank {__version__}\n")


@pytest.mark.parametrize("command", [(), ("rank",), ("privatize",), ("demo",), ("reproduce",)])
def test_help_has_an_example(privrank, command):
    result = privrank(*command, "--help")
    assert result.code == 0
    assert "Example" in result.out
    assert "privrank " + " ".join(command) in result.out


def test_help_needs_no_jax():
    code = (
        "import sys; from privrank_jax.cli import app\n"
        "try: app(['rank', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'jaxlib', 'numpy', 'scipy', 'optax', 'opendp', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_error_inside_the_program_is_not_disguised_as_a_refusal(privrank, write, monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("privrank_jax.cli.rank.methods.release", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        privrank("rank", write("u1,a,b"), "--epsilon", 1)


def test_demo(privrank, tmp_path, monkeypatch):
    from privrank_jax.cli import demo

    monkeypatch.setattr(demo, "REPLICATES", 100)
    monkeypatch.setattr(demo, "REPEATS", 2000)
    document = privrank("demo", "--out", tmp_path / "new", "--json").json()
    voters = document["voters"]
    assert dict(zip(voters["items"], voters["wins"])) == {
        "Mountain View": 12.0, "San Francisco": 8.0, "New York": 8.0, "Cambridge": 8.0, "Accra": 4.0,
    }  # fmt: skip
    assert voters["sensitivity"] == 12
    kept = [row["winner_kept"] for row in voters["private"]]
    assert 0.2 < kept[0] < 0.4 < 0.8 < kept[1] < kept[2]
    assert (tmp_path / "new" / demo.PICTURE).stat().st_size > 10_000
    errors = {(r["method"], r["metric"], r["epsilon"]): r["mean"] for r in document["study"]}
    assert errors["counts", "kendall", 0.1] > 0.25  # noise drowns 400 users at ε = 0.1 ...
    assert errors["mle", "kendall", 5.0] < 0.06  # ... and hardly shows at ε = 5
    assert errors["mle", "kendall", None] < errors["counts", "kendall", None]


def test_demo_in_words(privrank, tmp_path, monkeypatch):
    from privrank_jax.cli import demo

    monkeypatch.setattr(demo, "REPLICATES", 50)
    monkeypatch.setattr(demo, "REPEATS", 500)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = privrank("demo", "--out", tmp_path)
    assert result.code == 0, result.err
    assert "Four voters are too few" in result.out
    assert "no privacy" in result.out
    assert "pip install 'privrank-jax[plot]'" in result.out
    assert "compiled 1 time(s)" in result.out
    assert not list(tmp_path.iterdir())
