"""``python -m privrank_jax`` and the command are one."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from privrank_jax import __version__


def test_the_console_script_starts_as_the_module_does():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"] == {"privrank": "privrank_jax.__main__:main"}


def test_the_module_runs_as_the_command():
    script = [sys.executable, "-m", "privrank_jax", "--version"]
    found = subprocess.run(script, capture_output=True, text=True, check=True)
    assert __version__ in found.stdout
