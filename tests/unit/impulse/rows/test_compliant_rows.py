"""Compliant rows (M-31, M-38): one step of a spring and a damper along a row, against the motion they stand for."""

from __future__ import annotations

import numpy as np
import warp as wp
from engine_parts import FAST_COMPILE, Rows, integers, put, read, run

from sharnir.enums import ScalarSource
from sharnir.impulse.data import StepContext, make_row_options
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.compliant_rows import set_compliant_row
from sharnir.impulse.slots import PrevStep
from sharnir.kernels.types import np_real, real, vec3

wp.set_module_options(FAST_COMPILE)
DT, REST_LENGTH = 0.01, 0.5  # s; m


@wp.kernel
def compliant_kernel(ctx: StepContext, length: real, speed: real):
    l = wp.tid()
    set_compliant_row(ctx, l, length, speed, make_row_options(real(DT), real(DT), real(1.0), 0), 0)


def velocities_after(stiffness: np.ndarray, damping: np.ndarray, stretch: float, speed: float) -> np.ndarray:
    """Velocity of a mass of 1/K on each spring after a step: s = speed + K p with the row's law p = (v̄ − s)/γ."""
    n = len(stiffness)
    rows = Rows(np.random.default_rng(0), trees=(3,), scalars=[((1,), RowKind.COMPLIANT)] * n)
    ctx = rows.ctx
    ctx.layout.scalar_source_kind = integers([ScalarSource.SPRING] * n)
    ctx.layout.scalar_source = integers(np.stack([np.arange(n), np.zeros(n)], axis=1))
    data = np.stack([stiffness, damping, np.full(n, REST_LENGTH)], axis=1).astype(np_real)
    ctx.tree.spring_data = wp.array(data, dtype=vec3)
    put(ctx.work.scalar_K, np.ones(n))
    put(ctx.state.prev_step, [DT], PrevStep.DT)
    run(compliant_kernel, ctx, REST_LENGTH + stretch, speed, threads=n)
    gamma, target = read(ctx.work.compliant_gamma), read(ctx.work.compliant_velocity)
    p = (target - speed) / (1 + gamma)
    return speed + p


def test_a_damper_slows_down_as_the_exponential_does_to_second_order_and_never_reverses():
    """exp(−x), x = c dt, by 1/(1 + x + x²/2): the series agree up to x², so that they differ by less than x³/6."""
    x = np.array([1e-3, 0.01, 0.1, 0.5, 3.0, 100.0, 1e6])
    ratio = velocities_after(np.zeros(len(x)), x / DT, 0.3, 2.0) / 2.0
    assert (np.abs(ratio - np.exp(-x)) <= np.minimum(x**3 / 6, 0.15) + 1e-12).all()
    assert (ratio > 0).all() and (np.diff(ratio) < 0).all()


def test_a_soft_spring_gives_the_impulse_of_its_force():
    """−k stretch dt of mass 1, from rest; the implicit part changes it by a share of k dt²/4."""
    k = np.array([1.0, 10.0, 100.0])
    s = velocities_after(k, np.zeros(3), 0.2, 0.0)
    np.testing.assert_array_less(np.abs(s / (-k * 0.2 * DT) - 1), 1.1 * k * DT**2 / 4)


def test_a_stiff_spring_comes_to_its_rest_length_in_one_step():
    """dt s = −stretch, whatever the velocity was, in the limit; at k dt² = 1e8 all but some 1e-7 of it."""
    for speed in (0.0, 3.0):
        s = velocities_after(np.array([1e8 / DT**2]), np.zeros(1), 0.2, speed)
        np.testing.assert_allclose(DT * s, -0.2, rtol=1e-6)
