"""Every notebook runs from top to bottom and shows what is stored in it.

``PRIVRANK_STORE_OUTPUTS=1 python -m pytest tests/test_notebooks.py`` stores what it shows now.
"""

from __future__ import annotations

import base64
import copy
import io
import os
from collections.abc import Iterator
from pathlib import Path

import jax
import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebook_outputs import differences, pictures, read, visible
from tests.sources import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 60_000  # bytes of a picture: all of them stay in the history of the repository


# Run before each notebook, which begins without names of others, and with the folder of data or without it.
PRELUDE = "%reset -f\n__import__('os').environ.update(PRIVRANK_DATA={!r})"


@pytest.fixture(scope="module")
def client() -> Iterator[NotebookClient]:
    """One kernel for all notebooks, so that Python starts, and JAX is imported, once."""
    started = NotebookClient(
        nbformat.v4.new_notebook(),
        timeout=None,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
    )
    programs = {
        name.upper(): str(jax.config.values[name])  # compile once
        for name in ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    }
    started.execute(cleanup_kc=False, env={**os.environ, **programs})
    yield started
    started._cleanup_kernel()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_is_stored(
    path: Path, client: NotebookClient, request: pytest.FixtureRequest
) -> None:
    stored = read(path)
    needed = any('read("sushi")' in cell.source for cell in stored.cells)
    folder = str(request.getfixturevalue("data_folder")) if needed else ""
    executed = copy.deepcopy(stored)
    executed.cells.insert(0, nbformat.v4.new_code_cell(PRELUDE.format(folder)))
    client.nb = executed
    client.execute(cleanup_kc=False)
    del executed.cells[0]
    if os.environ.get("PRIVRANK_STORE_OUTPUTS"):
        store(executed, path)
    else:
        assert differences(stored, executed) == []


def store(executed: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook with its outputs, numbered from 1, but without the version of Python and without warnings."""
    executed.metadata.language_info = {"name": "python"}
    number = 0
    for cell in executed.cells:
        if cell.cell_type == "code":
            cell.outputs = visible(cell)
            number += 1
            cell.execution_count = number
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = number
                if "image/png" in output.get("data", {}):
                    output.data["image/png"] = with_few_colors(output.data["image/png"])
    nbformat.write(executed, path)


def with_few_colors(encoded: str) -> str:
    """The same PNG, in base64, with a palette of 256 colors, which takes a third of the bytes."""
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")
    coverage, none = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    smaller = io.BytesIO()
    picture.quantize(256, method=coverage, dither=none).save(smaller, "PNG", optimize=True)
    return base64.b64encode(smaller.getvalue()).decode()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_can_be_published(path: Path) -> None:
    notebook = read(path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [visible(cell) for cell in cells] == [cell.outputs for cell in cells]
    assert any(cell.outputs for cell in cells)
    assert all(cell.execution_count for cell in cells)
    assert notebook.metadata.language_info == {"name": "python"}
    assert max(map(len, pictures(notebook)), default=0) < LARGEST
