"""Restitution (M-58, M-59): which contacts rebound, their target velocities, and the energy that impacts add."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, integers, numbers, put, read, run, zeros

from sharnir.collision.contact_model import PROPERTIES_PER_PAIR
from sharnir.enums import MaterialProperty
from sharnir.impulse.data import StepContext
from sharnir.impulse.rows.contact_rows import set_contact_targets
from sharnir.impulse.rows.restitution import has_restitution, impact_work, set_restitution_targets
from sharnir.kernels.types import array2, real, vec3

wp.set_module_options(FAST_COMPILE)
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD), (0, 2)]
DT = 0.01


@wp.kernel
def work_kernel(ctx: StepContext, z: array2, out: array2):
    after, before = impact_work(ctx, z, 0)
    out[0, 0] = after
    out[1, 0] = before


@wp.kernel
def restitution_kernel(ctx: StepContext, share: real, out: array2):
    set_restitution_targets(ctx, share, real(DT), 0)
    out[0, 0] = real(has_restitution(ctx.work, 0))


@wp.kernel
def target_kernel(ctx: StepContext, z_free: array2):
    for c in range(ctx.layout.max_contacts):
        set_contact_targets(ctx, c, z_free, real(DT), 0)


def problem(seed: int = 0) -> Rows:
    return Rows(np.random.default_rng(seed), contacts=CONTACTS)


@pytest.mark.parametrize("seed", range(4))
def test_the_work_of_impacts_is_the_change_of_kinetic_energy(seed):
    """|z|²/2 is the kinetic energy. Velocity gains after the impact, by forces and chord momenta, do not count."""
    rows, out, rng = problem(seed), zeros(2), np.random.default_rng(seed)
    work = rows.ctx.work
    before, gain, base, momentum = rng.normal(size=(4, rows.nv))
    p = np.zeros((4, 6))
    p[:, :3] = rng.normal(size=(4, 3))
    put(work.p, p.reshape(-1))
    put(work.restitution_velocity, np.ones(4))
    put(work.impact_velocity, rows.all_contacts() @ before)
    put(work.impact_velocity_gain, rows.all_contacts() @ gain)
    put(work.z_base, base)
    put(work.z_momentum, momentum)
    after = before + rows.velocity_change(p.reshape(-1))
    run(work_kernel, rows.ctx, column(after + gain + base - momentum), out)
    np.testing.assert_allclose(read(out).sum() / 2, (after @ after - before @ before) / 2, rtol=1e-11)
    put(work.restitution_velocity, np.zeros(4))  # contacts without restitution do no such work
    run(work_kernel, rows.ctx, column(after), out)
    assert not read(out).any()


def test_restitution_targets_are_the_share_and_at_most_close_the_gap():
    rows, out, rng = problem(), zeros(1), np.random.default_rng(1)
    work = rows.ctx.work
    base, momentum = rng.normal(size=(2, rows.nv)) * 0.1
    gain = np.zeros((4, 3))
    gain[:, 0] = 0.2, 0.1, -0.3, -5.0  # forces on the last exceed its restitution
    put(work.impact_velocity_gain, gain.reshape(-1))
    put(work.z_base, base)
    put(work.z_momentum, momentum)
    put(work.restitution_velocity, [2.0, 0.0, 1.5, 0.01])
    put(work.contact_gap, [0.0, 0.0, 1e-3, -1e-3])
    put(work.contact_target, np.full(12, 9.0))
    run(restitution_kernel, rows.ctx, 0.5, out)
    gains = gain[:, 0] + (rows.all_contacts() @ (base - momentum)).reshape(4, 3)[:, 0]
    expected = np.maximum(0.5 * np.array([2.0, 0, 1.5, 0.01]) + gains, [0, 0, -0.1, 0])
    expected[1] = 9.0  # no restitution
    target = read(work.contact_target).reshape(4, 3)
    np.testing.assert_allclose(target[:, 0], expected, rtol=1e-12)
    assert (target[:, 1:] == 9.0).all() and read(out)[0] == 1
    put(work.restitution_velocity, np.zeros(4))
    run(restitution_kernel, rows.ctx, 0.5, out)
    assert read(out)[0] == 0


def test_restitution_needs_an_impact_within_the_step_above_the_threshold():
    rows = problem()
    work, layout, contacts = rows.ctx.work, rows.ctx.layout, rows.ctx.state.contacts
    material = np.zeros(PROPERTIES_PER_PAIR)
    material[
        [MaterialProperty.SLIDING_FRICTION, MaterialProperty.RESTITUTION, MaterialProperty.RESTITUTION_THRESHOLD]
    ] = 0.5, 0.6, 0.8
    layout.contact_model.material_pair_table, layout.contact_model.material_count = numbers(material), 1
    layout.contact_model.material, layout.contact_model.geo.link = integers([0, 0]), integers([WORLD, WORLD])
    layout.contact_model.surface_velocity = wp.zeros(2, dtype=vec3, device="cpu")
    put(contacts.shape, [0, 1] * 4)
    put(contacts.normal, [0.0, 0.0, 1.0] * 4)
    put(contacts.gap, [0.0, 0.02, 0.0, 5e-3])
    velocities = np.array([-2.0, -1.5, -0.5, -1.0])  # fast; fast but too far; slow; fast and within reach
    target = np.zeros(12)
    target[::3] = velocities
    z = np.linalg.lstsq(rows.all_contacts(), target, rcond=None)[0]
    put(work.z_before, z)
    run(target_kernel, rows.ctx, column(z))
    np.testing.assert_allclose(read(work.restitution_velocity), [1.2, 0, 0, 0.6], atol=1e-12)
    np.testing.assert_allclose(read(work.contact_target)[::3], [0, -2.0, 0, -0.5], atol=1e-12)  # or close the gap
    np.testing.assert_allclose(read(work.impact_velocity).reshape(4, 3)[:, 0], velocities, atol=1e-12)
