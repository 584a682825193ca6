"""Every notebook runs from top to bottom."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import PLAIN_CODE

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
# The others mostly compile, and take half as long in plain code.
TRAINS = {"private_preference_labels"}


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    notebook = nbformat.read(path, as_version=4)
    if any("load_rankings" in cell.source for cell in notebook.cells):
        request.getfixturevalue("data_folder")
    else:
        monkeypatch.delenv("PRIVRANK_DATA", raising=False)
    assert not any(cell.get("outputs") for cell in notebook.cells), (
        "commit notebooks without output"
    )
    if path.stem in TRAINS:
        flags = os.environ.get("XLA_FLAGS", "").replace(PLAIN_CODE, "")
        monkeypatch.setenv("XLA_FLAGS", flags.strip())
    for option in ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"):
        monkeypatch.setenv(option.upper(), str(jax.config.values[option]))  # compile once
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
