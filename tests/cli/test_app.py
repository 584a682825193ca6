"""The command as a whole: help, version, imports, the demo."""

from __future__ import annotations

import subprocess
import sys

import pytest

from privrank_jax import __version__


def test_version(privrank):
    result = privrank("--version")
    assert (result.code, result.out) == (0, f"privrank {__version__}\n")


def test_help_needs_no_jax():
    code = (
        "import sys; from privrank_jax.cli import app\n"
        "try: app(['rank', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'jax', 'jaxlib', 'numpy', 'scipy', 'optax', 'flint', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_error_inside_the_program_is_not_disguised_as_a_refusal(privrank, write, monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("privrank_jax.jobs.rank.ranked", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        privrank("rank", write("u1,a,b"), "--epsilon", 1)
