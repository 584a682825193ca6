"""``python -m privrank_jax`` and the command are one."""

from __future__ import annotations

import subprocess
import sys
import tomllib

from privrank_jax import __version__
from tests.sources import ROOT


def test_the_module_runs_as_the_command_and_the_script_starts_as_the_module_does():
    script = [sys.executable, "-m", "privrank_jax", "--version"]
    assert __version__ in subprocess.run(script, capture_output=True, text=True, check=True).stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"privrank": "privrank_jax.__main__:main"}
