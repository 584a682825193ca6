"""Checks of arguments: what they refuse and name, what they pass, and that they pass all that is traced."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _validate as validate
from privrank_jax._arguments import ArgumentError

NUMBERS = [1, 0.5, np.float32(2), np.array([1.0, 3.0]), jnp.ones(2)]
NO_NUMBERS = [0.0, -1.0, np.nan, np.array([1.0, 0.0])]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (3, "must be a function of \\(key, data\\), in this order; got 3"),
        (lambda key: 0, "this one takes \\(key\\): too many positional arguments"),
        (lambda key, data, more: 0, "missing a required argument: 'more'"),
        (lambda key, *, data: 0, "this one takes \\(key, \\*, data\\)"),
    ],
)
def test_functions_that_cannot_be_called_so_are_refused(function, said):
    with pytest.raises(TypeError, match=said):
        validate.check_callable("release", function, "key", "data")


@pytest.mark.parametrize(
    "function", [lambda *all: 0, lambda a, b, c=0: 0, jnp.add, jax.jit(np.add)]
)
def test_functions_that_can_be_called_so_pass(function):
    validate.check_callable("release", function, "key", "data")


def test_real_numbers_are_told_from_the_rest_and_spelled():
    seen = []
    jax.jit(lambda x: seen.append((validate.is_real(x), validate.spelled(x))))(jnp.ones(2, "f4"))
    assert seen == [(True, "float32[2]")]
    assert all(validate.is_real(x) for x in (1, 0.5, True, np.float32(1), jnp.ones(2, bool)))
    no_numbers = {"dict": {}, "str": "a", "NoneType": None, "complex64[]": jnp.complex64(1)}
    for text, value in no_numbers.items():
        assert (validate.is_real(value), validate.spelled(value)) == (False, text)
    assert not validate.is_real(jax.random.key(0))


@pytest.mark.parametrize(
    "bad", [np.array([1], object), np.array(["a"]), "abc", None, {"a": 1}, [[1], [1, 2]]]
)
def test_arrays_of_something_else_are_refused_in_words(bad):
    with pytest.raises(ArgumentError, match="scores must be an array of real numbers") as refused:
        validate.as_array("scores", bad)
    assert refused.value.argument == "scores"
    assert not any(word in str(refused.value) for word in ("JAX", "inhomogeneous", "ufunc"))


def test_arrays_and_lists_of_traced_numbers_pass():
    assert validate.as_array("scores", [1, 2]).tolist() == [1, 2]
    assert jax.jit(lambda x: validate.as_array("scores", [x, x]))(1.0).tolist() == [1, 1]
    assert jax.jit(lambda x: validate.in_floats("scores", [x, x])[0])(1.0) == 1


@pytest.mark.parametrize("value", [*NUMBERS, np.inf])
def test_positive_numbers_pass(value):
    validate.check_positive("scale", value)
    validate.check_epsilon(value)


@pytest.mark.parametrize("value", [*NO_NUMBERS, True, "1", None])
def test_what_is_not_positive_is_refused_by_name(value):
    with pytest.raises(ArgumentError, match="scale must be") as error:
        validate.check_positive("scale", value)
    assert error.value.argument == "scale"
    with pytest.raises(ArgumentError, match="epsilon must be positive") as error:
        validate.check_epsilon(value)
    assert error.value.argument == "epsilon"


def test_infinity_is_positive_unless_it_is_ruled_out():
    with pytest.raises(ArgumentError, match="scale must be finite"):
        validate.check_positive("scale", np.inf, infinite=False)
    with pytest.raises(ArgumentError, match="num_users must be finite"):
        validate.check_users(np.inf)


@pytest.mark.parametrize("value", [-1, np.inf, np.nan, "0"])
def test_what_is_negative_or_infinite_is_refused(value):
    validate.check_nonnegative("gamma", 0)
    with pytest.raises(ArgumentError, match="gamma must be finite and at least 0"):
        validate.check_nonnegative("gamma", value)


def test_there_is_at_least_one_user():
    validate.check_users(1)
    with pytest.raises(ArgumentError, match=r"at least 1, got 0\.5"):
        validate.check_users(0.5)


@pytest.mark.parametrize(("delta", "positive"), [(-1e-9, False), (1.0, False), (0.0, True)])
def test_delta_is_a_probability_below_one(delta, positive):
    validate.check_delta(0.0)
    validate.check_delta(1e-9, positive=True)
    with pytest.raises(ArgumentError, match="delta must be"):
        validate.check_delta(delta, positive=positive)


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan, np.array([0.5, 1.5])])
def test_levels_lie_between_0_and_1(level):
    validate.check_level(np.array([0.5, 0.95]))
    with pytest.raises(ArgumentError, match="level must lie between 0 and 1"):
        validate.check_level(level)


def test_choices_and_squares():
    validate.check_choice("link", "logistic", ("logistic", "normal"))
    with pytest.raises(ArgumentError, match="link must be one of 'logistic', 'normal', got 'x'"):
        validate.check_choice("link", "x", ("logistic", "normal"))
    validate.check_square("wins", np.zeros((5, 3, 3)))
    for shape in ((3,), (3, 4), ()):
        with pytest.raises(ArgumentError, match=r"wins must be a square \(m, m\) matrix"):
            validate.check_square("wins", np.zeros(shape))
    with pytest.raises(ArgumentError, match="wins has no items"):
        validate.check_square("wins", np.zeros((0, 0)))


def test_traced_values_pass_every_check():
    @jax.jit
    def run(value):
        assert validate.is_traced({"deep": [value]})
        validate.check_positive("x", value)
        validate.check_nonnegative("x", value)
        validate.check_users(value)
        validate.check_epsilon(value)
        validate.check_delta(value)
        validate.check_level(value)
        return value

    assert float(run(-1.0)) == -1.0
    assert not validate.is_traced(jnp.ones(2), 3)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, np.float16, np.int8])
def test_numbers_of_few_bits_are_numbers(dtype):
    """NumPy has no kind of its own for the types that JAX adds."""
    numbers = jnp.array([1, 2], dtype)
    validate.check_positive("beta", numbers, infinite=False)
    validate.check_nonnegative("gamma", 0 * numbers)
    validate.check_epsilon(numbers)
    validate.check_epsilon(numbers[0])
    with pytest.raises(ArgumentError, match="beta must be positive, got"):
        validate.check_positive("beta", numbers - 1)
    with pytest.raises(ArgumentError, match="epsilon must be positive"):
        validate.check_epsilon(numbers - 1)
    if jnp.issubdtype(dtype, jnp.floating):
        validate.check_level(numbers / 4)


def test_complex_numbers_are_neither_positive_nor_a_level():
    for check in (validate.check_epsilon, validate.check_level):
        with pytest.raises(ArgumentError):
            check(0.5 + 0j)


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
        held = validate.held_ranks(given)
        assert held.dtype == np.int32
        np.testing.assert_array_equal(held, given)
    ranks[10, 2] = 2**31
    for given in (ranks, list(ranks), tuple(ranks[10])):
        with pytest.raises(ArgumentError, match="center must fit 32 bits, got 21474836"):
            validate.held_ranks(given, "center")


@pytest.mark.usefixtures("bits_32")
def test_ranks_far_below_zero_are_gaps_or_refused():
    """JAX would take the first for rank 0."""
    ranks = np.array([-(2**32), 1])
    with pytest.raises(ArgumentError, match="got -4294967296"):
        validate.as_ranks(ranks)
    assert validate.as_ranks(ranks, gaps=True).tolist() == [-1, 1]
    assert validate.as_ranks(np.array([-(2**31), 1])).tolist() == [-(2**31), 1]


def test_ranks_that_jax_holds_stay_as_they_are():
    wide = np.array([2**40, -(2**40)])
    with jax.enable_x64(True):
        assert validate.held_ranks(wide) is wide
        np.testing.assert_array_equal(validate.as_ranks(wide), wide)
    masked = np.ma.masked_array([0, 99], mask=[False, True])
    assert validate.held_ranks(masked) is masked


@pytest.mark.parametrize(
    "ranks", [[0, 1], np.array([0, -128], np.int8), np.array([0.5, np.nan]), jnp.array([1, 0])]
)
def test_other_ranks_stay_as_they_are(ranks):
    assert validate.held_ranks(ranks) is ranks
    np.testing.assert_array_equal(validate.as_ranks(ranks), ranks)
