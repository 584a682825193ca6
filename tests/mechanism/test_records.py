"""What every record keeps, whatever its kind: it reads like a function, and its examples run."""

from __future__ import annotations

import copy
import doctest
import importlib
import itertools
import pickle

import pytest

from tests.example_calls import examples, is_record
from tests.quick import thorough_but

RECORDS = {record.__name__: record for record in examples().values() if is_record(record)}
SOON = ["noisy_counts", "one_shot_top_k", "local_weights_rr", "published_mle", "continual_totals"]


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_a_record_reads_like_a_function(record):
    assert "Guarantee" in record.__doc__
    assert record.__name__ == record.name
    module = importlib.import_module(record.__module__)
    assert getattr(module, record.name) is record
    assert copy.deepcopy(record) is pickle.loads(pickle.dumps(record)) is record
    pairs = itertools.pairwise(getattr(record, "kinds", ()))
    assert all(first != second for first, second in pairs)


@pytest.mark.parametrize("name", thorough_but(RECORDS, *SOON))
def test_its_examples_run(name):
    module = vars(importlib.import_module(RECORDS[name].__module__))
    found = doctest.DocTestParser().get_doctest(RECORDS[name].__doc__, module, name, None, 0)
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0
