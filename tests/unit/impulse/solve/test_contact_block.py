"""One contact: its block of W Wᵀ (M-56), torsional and rolling friction bounded by the normal impulse (M-57)."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, INVERSE, WORLD, Rows, column, cone_residual, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_velocity
from sharnir.impulse.rows.contact_mass import compute_contact_mass
from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, Setting
from sharnir.impulse.solve.contact_block import (
    apply_contact_impulses,
    sweep_contact,
    sweep_normal,
    torsional_rolling_impulse,
    warm_start_contacts,
)
from sharnir.kernels.types import array2, real, vec3

wp.set_module_options(FAST_COMPILE)
MU, SPIN, ROLL = 0.5, 0.05, 0.03
CONTACTS = [(0, 1), (1, WORLD), (0, 2)]


@wp.kernel
def block_kernel(ctx: StepContext):
    for c in range(ctx.layout.max_contacts):
        compute_contact_mass(ctx.layout, ctx.state, ctx.work, c, 0, 0)


@wp.kernel
def torsional_kernel(ctx: StepContext, normal: real, old: wp.array(dtype=vec3), speed: wp.array(dtype=vec3)):
    i = wp.tid()
    old[i] = torsional_rolling_impulse(ctx.work, 0, normal, old[i], speed[i], 0)


@wp.kernel
def contact_kernel(ctx: StepContext, sweeps: int, z: array2, out: array2):
    for _ in range(sweeps):
        x = make_iterate(z, ctx.work.p, 0)
        out[0, 0] = sweep_contact(ctx, 0, x, 0)


@wp.kernel
def product_kernel(ctx: StepContext, z: array2, speeds: wp.array(dtype=vec3)):
    """Velocities of all rows, then impulses (1, 2, 3) on the first three of each contact."""
    for c in range(ctx.layout.max_contacts):
        speeds[2 * c] = contact_velocity(ctx, c, 0, 0, z, 0)
        speeds[2 * c + 1] = contact_velocity(ctx, c, BLOCK_ROWS, 0, z, 0)
    for c in range(ctx.layout.max_contacts):
        x = make_iterate(z, ctx.work.p, 0)
        apply_contact_impulse(ctx, c, 0, vec3(real(1.0), real(2.0), real(3.0)), x, 0)


@wp.kernel
def start_kernel(ctx: StepContext, z: array2):
    warm_start_contacts(ctx, z, 0)


@wp.kernel
def normal_kernel(ctx: StepContext, target: real, compliance: real, z: array2, out: array2):
    x = make_iterate(z, ctx.work.p, 0)
    out[0, 0] = sweep_normal(ctx, 0, target, compliance, x, 0)


@wp.kernel
def apply_kernel(ctx: StepContext, z: array2):
    apply_contact_impulses(ctx, z, ctx.work.p, 0)


def problem(seed: int = 0) -> Rows:
    return Rows(np.random.default_rng(seed), contacts=CONTACTS, torsional=True)


def test_blocks_hold_inverses_of_w_times_its_transpose():
    rows = problem()
    expected = np.array([rows.block(c) for c in range(3)])
    put(rows.ctx.work.contact_mass, np.zeros(3 * ContactMass.SIZE))
    put(rows.ctx.state.settings, [40.0, 1.0], Setting.MEAN_MASS)
    assert Setting.MASS_WEIGHTED_CHANGES == Setting.MEAN_MASS + 1
    run(block_kernel, rows.ctx)
    blocks = read(rows.ctx.work.contact_mass).reshape(3, ContactMass.SIZE)
    np.testing.assert_allclose(
        blocks[:, : ContactMass.CHANGE_WEIGHT], expected[:, : ContactMass.CHANGE_WEIGHT], rtol=1e-9, atol=1e-12
    )
    light = 40.0 * np.array([(rows.contact(c)[0] ** 2).sum() for c in range(3)])
    np.testing.assert_allclose(blocks[:, ContactMass.LIGHTNESS], light, rtol=1e-12)
    np.testing.assert_allclose(blocks[:, ContactMass.CHANGE_WEIGHT], np.clip(light, 1, 1000), rtol=1e-12)


def test_a_singular_block_is_regularised_or_gets_no_inverse():
    """A point on a hinge moves along one row only: there is an inverse with 1e-3 added. What cannot move has none."""
    rows = problem()
    start, length, _ = (int(x) for x in rows.halves[1, 0])
    six = rows.W[start : start + 6 * length, 0].reshape(6, length)
    six[2] = 0.5 * six[1]
    three = rows.contact(1)[:3]
    K = three @ three.T
    run(block_kernel, rows_uploaded(rows))
    inverse = read(rows.ctx.work.contact_mass).reshape(3, ContactMass.SIZE)[1, INVERSE].reshape(3, 3)
    np.testing.assert_allclose(inverse, np.linalg.inv(K + 1e-3 * np.diag(np.diag(K))), rtol=1e-6)
    six[1:3] = 0
    run(block_kernel, rows_uploaded(rows))
    block = read(rows.ctx.work.contact_mass).reshape(3, ContactMass.SIZE)[1]
    assert not block[INVERSE].any() and block[ContactMass.TANGENT] == 0
    np.testing.assert_allclose(block[ContactMass.NORMAL], 1 / K[0, 0], rtol=1e-12)


def rows_uploaded(rows: Rows) -> StepContext:
    """Upload rows alone, without their effective masses."""
    rows.ctx.work.W = column(rows.W)
    return rows.ctx


def test_torsional_and_rolling_impulses_stop_rotation_within_their_bounds():
    rows, rng, n, normal = problem(1), np.random.default_rng(2), 500, 2.0
    old = rng.normal(size=(n, 3)) * 0.05
    speed = rng.normal(size=(n, 3)) * rng.choice([0.01, 1.0], size=(n, 1))
    impulses, velocities = (wp.array(x, dtype=vec3, device="cpu") for x in (old, speed))
    run(torsional_kernel, rows.ctx, normal, impulses, velocities, threads=n)
    new, block = impulses.numpy(), rows.block(0)
    spin = np.clip(old[:, 0] - speed[:, 0] * block[ContactMass.SPIN], -SPIN * normal, SPIN * normal)
    roll = old[:, 1:] - speed[:, 1:] * block[ContactMass.ROLL]
    size = np.linalg.norm(roll, axis=1, keepdims=True)
    np.testing.assert_allclose(new[:, 0], spin, rtol=1e-12)
    np.testing.assert_allclose(new[:, 1:], roll * np.minimum(1, ROLL * normal / size), rtol=1e-12)
    assert 0 < (size < ROLL * normal).sum() < n


@pytest.mark.parametrize("seed", range(4))
def test_a_contact_alone_obeys_all_its_laws(seed):
    """Coulomb's cone, and the same law for torsional (one row) and rolling friction (a disc)."""
    rows, out = problem(seed), zeros(1)
    z0 = np.random.default_rng(seed).normal(size=rows.nv) - 2 * rows.contact(0)[0]
    z = column(z0)
    run(contact_kernel, rows.ctx, 3000, z, out)
    p, s = rows.contact_impulses(read(rows.ctx.work.p))[0], rows.contact(0) @ read(z)
    np.testing.assert_allclose(read(z), z0 + rows.contact(0).T @ p, atol=1e-10)
    assert p[0] > 0 and cone_residual(p[None, :3], s[None, :3], MU)[0] < 1e-9
    assert abs(p[3] - np.clip(p[3] - s[3], -SPIN * p[0], SPIN * p[0])) < 1e-9
    free = p[4:] - s[4:]
    assert np.linalg.norm(p[4:] - free * min(1, ROLL * p[0] / np.linalg.norm(free))) < 1e-9


def test_velocities_and_impulses_follow_from_the_rows():
    rows, speeds = problem(2), wp.zeros(6, dtype=vec3, device="cpu")
    z0 = np.random.default_rng(0).normal(size=rows.nv)
    z = column(z0)
    run(product_kernel, rows.ctx, z, speeds)
    np.testing.assert_allclose(speeds.numpy().reshape(-1), rows.all_contacts() @ z0, rtol=1e-12)
    push = sum(rows.contact(c)[:3].T @ [1.0, 2.0, 3.0] for c in range(3))
    np.testing.assert_allclose(read(z), z0 + push, atol=1e-12)


def test_warm_start_impulses_are_applied_once():
    rows = problem(3)
    p = np.random.default_rng(0).normal(size=rows.ctx.layout.impulses)
    put(rows.ctx.work.p, p)
    z = column(np.zeros(rows.nv))
    for _ in range(2):
        run(start_kernel, rows.ctx, z)
    np.testing.assert_allclose(read(z), rows.velocity_change(p), atol=1e-12)
    run(apply_kernel, rows.ctx, z)
    np.testing.assert_allclose(read(z), 2 * rows.velocity_change(p), atol=1e-12)


@pytest.mark.parametrize("compliance", [0.0, 0.1])
def test_the_normal_row_alone_reaches_its_target_or_has_no_impulse(compliance):
    rows, out = problem(4), zeros(1)
    n = rows.contact(0)[0]
    for target in (0.7, -5.0):
        z0 = np.random.default_rng(1).normal(size=rows.nv)
        put(rows.ctx.work.p, np.zeros(rows.ctx.layout.impulses))
        z = column(z0)
        run(normal_kernel, rows.ctx, target, compliance, z, out)
        p = max((target - n @ z0) / (n @ n) / (1 + compliance), 0)
        np.testing.assert_allclose(read(z), z0 + n * p, atol=1e-12)
        np.testing.assert_allclose(read(out)[0], p, atol=1e-12)
