"""Errors that carry the arguments that they speak of."""

from __future__ import annotations

from privrank_jax._arguments import Argument, ArgumentError, value_of


def test_only_what_is_carried_is_spelled():
    error = ArgumentError("list the `items`, or tie=None; items", Argument("items", quoted=True))
    assert error.spelled(lambda argument: "--items") == "list the --items, or tie=None; items"
    assert error.spelled(lambda argument: None) == str(error)


def test_values_are_spelled_as_in_python():
    assert str(value_of("user", "voter")) == "user='voter'"
    assert ArgumentError("nothing named").argument == ""
