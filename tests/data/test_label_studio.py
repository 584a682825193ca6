"""Pairwise exports of Label Studio: the choice is an object, in JSON-MIN and as text in CSV."""

from __future__ import annotations

import json

import pytest

import privrank_jax as pr
from privrank_jax.data import DataError

COLUMNS = {"left": "model_a", "right": "model_b", "outcome": "pw", "user": "annotator"}


def rows(*said, text=False):
    pairs = [("X", "Y"), ("X", "Z"), ("Y", "Z")]
    told = [json.dumps(one) if text else one for one in said]
    return [
        {"annotator": k, "model_a": a, "model_b": b, "pw": one}
        for k, ((a, b), one) in enumerate(zip(pairs, told))
    ]


SAID = ([{"selected": "left"}], [{"selected": "right"}], {"selected": "left"})


def test_json_and_csv_say_the_same(tmp_path):
    as_json, as_csv = tmp_path / "tasks.json", tmp_path / "tasks.csv"
    as_json.write_text(json.dumps(rows(*SAID)), encoding="utf-8")
    lines = [
        ",".join(f'"{str(cell).replace(chr(34), chr(34) * 2)}"' for cell in row.values())
        for row in rows(*SAID, text=True)
    ]
    as_csv.write_text("\n".join(["annotator,model_a,model_b,pw", *lines]), encoding="utf-8")
    for path in (as_json, as_csv):
        found = pr.read(path, **COLUMNS)
        won = [found.item_names[k] for k in found.winners]
        assert won == ["X", "Z", "Y"]


def test_other_objects_are_refused(tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(rows({"choice": "left"})), encoding="utf-8")
    with pytest.raises(DataError, match="key 'pw': an object"):
        pr.read(path, **COLUMNS)
