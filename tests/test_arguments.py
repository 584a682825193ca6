"""Errors that carry the arguments that they speak of."""

from __future__ import annotations

import pytest

from privrank_jax import _validate
from privrank_jax._arguments import Argument, ArgumentError, value_of


@pytest.mark.parametrize(
    ("check", "arguments", "name"),
    [
        (_validate.check_positive, ("gamma", -1.0), "gamma"),
        (_validate.check_epsilon, (0.0,), "epsilon"),
        (_validate.check_delta, (1.0,), "delta"),
        (_validate.check_level, (2.0,), "level"),
        (_validate.check_users, (0.5,), "num_users"),
        (_validate.check_choice, ("unit", "x", ("user",)), "unit"),
    ],
)
def test_checks_name_their_argument(check, arguments, name):
    with pytest.raises(ArgumentError) as raised:
        check(*arguments)
    assert raised.value.argument == name
    assert raised.value.spelled(lambda argument: f"<{argument.name}>").startswith(f"<{name}>")


def test_only_what_is_carried_is_spelled():
    error = ArgumentError("list the `items`, or tie=None; items", Argument("items", quoted=True))
    assert error.spelled(lambda argument: "--items") == "list the --items, or tie=None; items"
    assert error.spelled(lambda argument: None) == str(error)


def test_values_are_spelled_as_in_python():
    assert str(value_of("user", "voter")) == "user='voter'"
    assert ArgumentError("nothing named").argument == ""
