"""Restitution (M-58, M-59): what bounces, the speed it leaves with, and the energy that impacts add."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, WORLD, Parts, Rows, column, empty, integers, numbers, put, run, seen

from sharnir.collision.pipeline import PROPERTIES_PER_PAIR
from sharnir.enums import MaterialProperty
from sharnir.impulse.rows.contact_rows import set_contact_targets
from sharnir.impulse.rows.restitution import has_restitution, impact_work, set_restitution_targets
from sharnir.kernels.types import array2, real, vec3

wp.set_module_options(QUICK)
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD), (0, 2)]
DT = 0.01


@wp.kernel
def work_kernel(s: Parts, z: array2, out: array2):
    after, before = impact_work(s.plan, s.work, z, 0)
    out[0, 0] = after
    out[1, 0] = before


@wp.kernel
def aim_kernel(s: Parts, share: real, out: array2):
    set_restitution_targets(s.plan, s.work, share, real(DT), 0)
    out[0, 0] = real(has_restitution(s.work, 0))


@wp.kernel
def seek_kernel(s: Parts, free: array2):
    for c in range(s.plan.max_contacts):
        set_contact_targets(s.ws, s.plan, s.state, s.work, c, free, real(DT), 0)


def problem(seed: int = 0) -> Rows:
    return Rows(np.random.default_rng(seed), contacts=CONTACTS)


@pytest.mark.parametrize("seed", range(4))
def test_the_work_of_impacts_is_the_change_of_kinetic_energy(seed):
    """|z|²/2 is the kinetic energy. Speeds beyond the impact, of forces and of chord momenta, do not count."""
    rows, out, rng = problem(seed), empty(2), np.random.default_rng(seed)
    work = rows.parts.work
    before, kick, base, momentum = rng.normal(size=(4, rows.nv))
    p = np.zeros((4, 6))
    p[:, :3] = rng.normal(size=(4, 3))
    put(work.p, p.reshape(-1))
    put(work.restitution_velocity, np.ones(4))
    put(work.impact_velocity, rows.all_contacts() @ before)
    put(work.impact_velocity_gain, rows.all_contacts() @ kick)
    put(work.z_base, base)
    put(work.z_momentum, momentum)
    after = before + rows.pushed(p.reshape(-1))
    run(work_kernel, rows.parts, column(after + kick + base - momentum), out)
    np.testing.assert_allclose(seen(out).sum() / 2, (after @ after - before @ before) / 2, rtol=1e-11)
    put(work.restitution_velocity, np.zeros(4))  # what does not bounce does no such work
    run(work_kernel, rows.parts, column(after), out)
    assert not seen(out).any()


def test_what_bounces_is_aimed_at_its_share_and_closes_its_gap_at_most():
    rows, out, rng = problem(), empty(1), np.random.default_rng(1)
    work = rows.parts.work
    base, momentum = rng.normal(size=(2, rows.nv)) * 0.1
    kick = np.zeros((4, 3))
    kick[:, 0] = 0.2, 0.1, -0.3, -5.0  # the last is pressed on faster than it would bounce
    put(work.impact_velocity_gain, kick.reshape(-1))
    put(work.z_base, base)
    put(work.z_momentum, momentum)
    put(work.restitution_velocity, [2.0, 0.0, 1.5, 0.01])
    put(work.contact_gap, [0.0, 0.0, 1e-3, -1e-3])
    put(work.contact_target, np.full(12, 9.0))
    run(aim_kernel, rows.parts, 0.5, out)
    beyond = kick[:, 0] + (rows.all_contacts() @ (base - momentum)).reshape(4, 3)[:, 0]
    expected = np.maximum(0.5 * np.array([2.0, 0, 1.5, 0.01]) + beyond, [0, 0, -0.1, 0])
    expected[1] = 9.0  # does not bounce
    target = seen(work.contact_target).reshape(4, 3)
    np.testing.assert_allclose(target[:, 0], expected, rtol=1e-12)
    assert (target[:, 1:] == 9.0).all() and seen(out)[0] == 1
    put(work.restitution_velocity, np.zeros(4))
    run(aim_kernel, rows.parts, 0.5, out)
    assert seen(out)[0] == 0


def test_only_what_is_reached_within_the_step_and_faster_than_the_threshold_bounces():
    rows = problem()
    work, plan, touch = rows.parts.work, rows.parts.plan, rows.parts.state.contacts
    material = np.zeros(PROPERTIES_PER_PAIR)
    material[
        [MaterialProperty.SLIDING_FRICTION, MaterialProperty.RESTITUTION, MaterialProperty.RESTITUTION_THRESHOLD]
    ] = 0.5, 0.6, 0.8
    plan.contact_model.material_pair_table, plan.contact_model.material_count = numbers(material), 1
    plan.contact_model.material, plan.contact_model.geo.link = integers([0, 0]), integers([WORLD, WORLD])
    plan.contact_model.surface_velocity = wp.zeros(2, dtype=vec3, device="cpu")
    put(touch.shape, [0, 1] * 4)
    put(touch.normal, [0.0, 0.0, 1.0] * 4)
    put(touch.gap, [0.0, 0.02, 0.0, 5e-3])
    speeds = np.array([-2.0, -1.5, -0.5, -1.0])  # fast; fast but far; slow; fast, and it gets there
    wanted = np.zeros(12)
    wanted[::3] = speeds
    z = np.linalg.lstsq(rows.all_contacts(), wanted, rcond=None)[0]
    put(work.z_before, z)
    run(seek_kernel, rows.parts, column(z))
    np.testing.assert_allclose(seen(work.restitution_velocity), [1.2, 0, 0, 0.6], atol=1e-12)
    np.testing.assert_allclose(seen(work.contact_target)[::3], [0, -2.0, 0, -0.5], atol=1e-12)  # or close the gap
    np.testing.assert_allclose(seen(work.impact_velocity).reshape(4, 3)[:, 0], speeds, atol=1e-12)
