"""Checks of arguments: what they refuse and name, what they pass, and that they pass all that is traced."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _validate as validate
from privrank_jax._arguments import Argument, ArgumentError, value_of

NUMBERS = [1, 0.5, np.float32(2), np.array([1.0, 3.0]), jnp.ones(2), np.inf]
NO_NUMBERS = [0.0, -1.0, np.nan, np.array([1.0, 0.0]), True, "1", None, 0.5 + 0j]
ROWS = np.array([1], object), np.array(["a"]), "abc", None, {"a": 1}, [[1], [1, 2]]
positive = functools.partial(validate.check_positive, "scale")
few = functools.partial(validate.check_positive, "scale", infinite=False)
nonnegative = functools.partial(validate.check_nonnegative, "gamma")
square = functools.partial(validate.check_square, "wins")
link = functools.partial(validate.check_choice, "link", choices=("logistic", "normal"))
scores = functools.partial(validate.as_array, "scores")
delta = functools.partial(validate.check_delta, positive=True)

PASSED = {
    positive: NUMBERS,
    validate.check_epsilon: NUMBERS,
    nonnegative: [0, 2.5],
    validate.check_users: [1],
    validate.check_delta: [0.0, 1e-9],
    delta: [1e-9],
    validate.check_level: [np.array([0.5, 0.95])],
    link: ["normal"],
    square: [np.zeros((5, 3, 3))],
}
REFUSED = {
    positive: ("scale", NO_NUMBERS),
    few: ("scale", [np.inf]),
    validate.check_epsilon: ("epsilon", NO_NUMBERS),
    nonnegative: ("gamma", [-1, np.inf, np.nan, "0"]),
    validate.check_users: ("num_users", [0.5, np.inf]),
    validate.check_delta: ("delta", [-1e-9, 1.0]),
    delta: ("delta", [0.0]),
    validate.check_level: ("level", [0.0, 1.0, np.nan, np.array([0.5, 1.5]), 0.5 + 0j]),
    link: ("link", ["x"]),
    square: ("wins", [np.zeros(shape) for shape in ((3,), (3, 4), (), (0, 0))]),
    scores: ("scores", ROWS),
}


@pytest.mark.parametrize("check", PASSED, ids=range(len(PASSED)))
def test_what_fits_passes(check):
    for value in PASSED[check]:
        check(value)


@pytest.mark.parametrize("check", REFUSED, ids=range(len(REFUSED)))
def test_what_does_not_is_refused_by_name(check):
    name, values = REFUSED[check]
    for value in values:
        with pytest.raises(ArgumentError, match=name) as refused:
            check(value)
        assert refused.value.argument == name
        assert not any(word in str(refused.value) for word in ("JAX", "inhomogeneous", "ufunc"))


def test_errors_spell_only_the_arguments_that_they_carry():
    error = ArgumentError("list the `items`, or tie=None; items", Argument("items", quoted=True))
    assert error.spelled(lambda argument: "--items") == "list the --items, or tie=None; items"
    assert error.spelled(lambda argument: None) == str(error)
    assert str(value_of("user", "voter")) == "user='voter'"
    assert ArgumentError("nothing named").argument == ""


def test_real_numbers_are_told_from_the_rest_and_spelled():
    seen = []
    jax.jit(lambda x: seen.append((validate.is_real(x), validate.spelled(x))))(jnp.ones(2, "f4"))
    assert seen == [(True, "float32[2]")]
    assert all(validate.is_real(x) for x in (1, 0.5, True, np.float32(1), jnp.ones(2, bool)))
    no_numbers = {"dict": {}, "str": "a", "NoneType": None, "complex64[]": jnp.complex64(1)}
    for text, value in no_numbers.items():
        assert (validate.is_real(value), validate.spelled(value)) == (False, text)
    assert not validate.is_real(jax.random.key(0))


def test_traced_values_pass_every_check():
    @jax.jit
    def run(value):
        assert validate.is_traced({"deep": [value]})
        for check in (positive, nonnegative, validate.check_users, validate.check_epsilon):
            check(value)
        validate.check_delta(value)
        validate.check_level(value)
        return validate.in_floats("scores", [value, scores([value, value])[0]])[0]

    assert float(run(-1.0)) == -1.0
    assert not validate.is_traced(jnp.ones(2), 3)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, np.float16, np.int8])
def test_numbers_of_few_bits_are_numbers(dtype):
    """NumPy has no kind of its own for the types that JAX adds."""
    numbers = jnp.array([1, 2], dtype)
    for check in (few, nonnegative, validate.check_epsilon):
        check(numbers)
    nonnegative(0 * numbers)
    for check in (few, validate.check_epsilon):
        with pytest.raises(ArgumentError, match="positive"):
            check(numbers - 1)
    if jnp.issubdtype(dtype, jnp.floating):
        validate.check_level(numbers / 4)


@pytest.fixture
def bits_32():
    with jax.enable_x64(False):
        yield


@pytest.mark.usefixtures("bits_32")
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ranks_of_many_bits_are_kept_in_fewer(dtype, order):
    ranks = np.array(np.arange(33).reshape(11, 3), dtype, order=order)
    ranks[4, 1] = 2**31 - 1
    for given in (ranks, ranks[:, 0], ranks[:0]):
        np.testing.assert_array_equal(
            validate.held_ranks(given), given.astype(np.int32), strict=True
        )
    ranks[10, 2] = 2**31
    for given in (ranks, list(ranks), tuple(ranks[10])):
        with pytest.raises(ArgumentError, match=r"center.*21474836"):
            validate.held_ranks(given, "center")


@pytest.mark.usefixtures("bits_32")
def test_ranks_far_below_zero_are_gaps_or_refused():
    """JAX would take the first for rank 0."""
    ranks = np.array([-(2**32), 1])
    with pytest.raises(ArgumentError, match="-4294967296"):
        validate.as_ranks(ranks)
    assert validate.as_ranks(ranks, gaps=True).tolist() == [-1, 1]
    assert validate.as_ranks(np.array([-(2**31), 1])).tolist() == [-(2**31), 1]


@pytest.mark.parametrize(
    "ranks",
    [
        [0, 1],
        np.array([0, -128], np.int8),
        np.array([0.5, np.nan]),
        jnp.array([1, 0]),
        np.array([2**40, -(2**40)]),  # in float64, which JAX holds
    ],
)
def test_other_ranks_stay_as_they_are(ranks):
    assert validate.held_ranks(ranks) is ranks
    np.testing.assert_array_equal(validate.as_ranks(ranks), ranks)
    masked = np.ma.masked_array([0, 99], mask=[False, True])
    assert validate.held_ranks(masked) is masked
