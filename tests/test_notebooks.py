"""The notebook runs from top to bottom and shows what is stored in it.

``PRIVRANK_STORE_OUTPUTS=1 python -m pytest -m slow tests/test_notebooks.py`` stores what it shows now.
"""

from __future__ import annotations

import base64
import copy
import io
import os

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebook_outputs import differences, pictures, visible
from tests.quick import with_cache
from tests.sources import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 60_000  # bytes of a picture: all of them stay in the history of the repository


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_stored(path, request):
    stored = nbformat.read(path, as_version=4)
    executed, told = copy.deepcopy(stored), with_cache() | {"PRIVRANK_DATA": ""}
    if any('read("sushi")' in cell.source for cell in stored.cells):
        told["PRIVRANK_DATA"] = str(request.getfixturevalue("data_folder"))
    client = NotebookClient(
        executed, timeout=None, kernel_name="python3", coalesce_streams=True, record_timing=False
    )
    client.execute(env=told)
    if os.environ.get("PRIVRANK_STORE_OUTPUTS"):
        store(executed, path)
    else:
        assert differences(stored, executed) == []


def store(executed, path):
    """Write a notebook with its outputs, numbered from 1, but without the version of Python and without warnings."""
    executed.metadata.language_info = {"name": "python"}
    cells = (cell for cell in executed.cells if cell.cell_type == "code")
    for number, cell in enumerate(cells, start=1):
        cell.outputs, cell.execution_count = visible(cell), number
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = with_few_colors(output.data["image/png"])
    nbformat.write(executed, path)


def with_few_colors(encoded):
    """The same PNG, in base64, with a palette of 256 colors, which takes a third of the bytes."""
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")
    coverage, none = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    smaller = io.BytesIO()
    picture.quantize(256, method=coverage, dither=none).save(smaller, "PNG", optimize=True)
    return base64.b64encode(smaller.getvalue()).decode()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_can_be_published(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [visible(cell) for cell in cells] == [cell.outputs for cell in cells]
    assert any(cell.outputs for cell in cells)
    assert all(cell.execution_count for cell in cells)
    assert notebook.metadata.language_info == {"name": "python"}
    assert max(map(len, pictures(notebook)), default=0) < LARGEST
