"""Series of values that are extrapolated from step to step: orders 0, 1 and 2 against polynomials."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, column, read, run, zeros

from sharnir.impulse.rows.extrapolation import (
    extrapolation_order_of,
    predict_value,
    record_values,
    reset_series,
    update_series,
)
from sharnir.kernels.types import array2, vec3

wp.set_module_options(FAST_COMPILE)
N = 5  # values of a series


@wp.kernel
def update_kernel(series: array2, values: array2, out: array2):
    """Predict the values, then update the series by them."""
    for i in range(N):
        out[i, 0] = predict_value(series, i, N, 0)
    update_series(series, values, N, 0)
    out[N, 0] = extrapolation_order_of(series, N, 0)


@wp.kernel
def record_kernel(series: array2, values: array2, errors: wp.array(dtype=vec3)):
    errors[0] = record_values(series, values, N, 0)


@wp.kernel
def reset_kernel(series: array2):
    reset_series(series, 3 * N + 1, 0)


def steps(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, wp.array]:
    """Predictions of values [step, N], the order after each step, and the series."""
    series, predicted, orders = zeros(3 * N + 1), [], []
    for now in values:
        out = zeros(N + 1)
        run(update_kernel, series, column(now), out)
        predicted.append(read(out)[:N])
        orders.append(read(out)[N])
    return np.array(predicted), np.array(orders), series


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_polynomials_up_to_degree_two_are_predicted(degree):
    rng = np.random.default_rng(degree)
    t = np.arange(12.0)[:, None]
    values = sum(rng.normal(size=N) * t**k for k in range(degree + 1))
    predicted, orders, _ = steps(values)
    np.testing.assert_allclose(predicted[degree + 3 :], values[degree + 3 :], rtol=1e-12, atol=1e-11)
    if degree:  # for a constant series all orders are exact, and the lowest is chosen
        assert (orders[degree + 3 :] >= degree).all()
    else:
        assert (orders[3:] == 0).all()


def test_a_cubic_is_predicted_with_the_error_of_its_third_difference():
    t = np.arange(12.0)[:, None]
    values = np.ones(N) * t**3
    predicted, orders, _ = steps(values)
    np.testing.assert_allclose((values - predicted)[6:], 6.0, atol=1e-9)
    assert (orders[6:] == 2).all()


def test_noise_falls_back_to_order_zero():
    values = np.random.default_rng(0).normal(size=(40, N))
    _, orders, _ = steps(values)
    assert (orders[5:] == 0).mean() > 0.9


def test_errors_are_those_of_orders_0_1_and_2():
    values = np.random.default_rng(3).normal(size=(6, N))
    _, _, series = steps(values[:-1])
    errors = wp.zeros(1, dtype=vec3, device="cpu")
    run(record_kernel, series, column(values[-1]), errors)
    by_order = [np.diff(values, k + 1, axis=0)[-1] for k in range(3)]
    np.testing.assert_allclose(errors.numpy()[0], [error @ error for error in by_order], rtol=1e-12)
    run(reset_kernel, series)
    assert not read(series).any()
