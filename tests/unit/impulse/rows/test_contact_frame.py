"""Frames of contacts, their velocities W·z and impulses Wᵀp (M-54..M-57), against dense rows in numpy."""

from __future__ import annotations

import numpy as np
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.rows.contact_frame import (
    MAX_TOUCHING_GAP,
    apply_contact_impulse,
    apply_normal_impulse,
    contact_velocity,
    exclude_open_contacts,
    make_tangents,
    normal_velocity,
)
from sharnir.kernels.types import array2, vec3

wp.set_module_options(FAST_COMPILE)
CONTACTS = [(0, 1), (1, WORLD), (WORLD, 2)]


@wp.kernel
def tangents_kernel(normal: wp.array(dtype=vec3), first: wp.array(dtype=vec3), second: wp.array(dtype=vec3)):
    i = wp.tid()
    a, b = make_tangents(normal[i])
    first[i] = a
    second[i] = b


@wp.kernel
def velocity_kernel(ctx: StepContext, z: array2, out: array2):
    c = wp.tid()
    low = contact_velocity(ctx, c, 0, 0, z, 0)
    high = contact_velocity(ctx, c, 3, 0, z, 0)
    for k in range(3):
        out[7 * c + k, 0] = low[k]
        out[7 * c + 3 + k, 0] = high[k]
    out[7 * c + 6, 0] = normal_velocity(ctx.layout, ctx.work, c, 0, z, 0)


@wp.kernel
def impulse_kernel(ctx: StepContext, c: int, p: array2, z: array2):
    x = make_iterate(z, ctx.work.p, 0)
    apply_contact_impulse(ctx, c, 0, vec3(p[0, 0], p[1, 0], p[2, 0]), x, 0)
    apply_contact_impulse(ctx, c, 3, vec3(p[3, 0], p[4, 0], p[5, 0]), x, 0)
    apply_normal_impulse(ctx, c, 0, p[6, 0], z, 0)


@wp.kernel
def open_kernel(ctx: StepContext):
    exclude_open_contacts(ctx.work, 0)


def test_normal_and_tangents_are_a_right_handed_orthonormal_frame():
    """Also along the axes, where a helper vector might be parallel; rounding of some ten operations is below 1e-15."""
    normals = np.concatenate([np.eye(3), -np.eye(3), np.random.default_rng(0).normal(size=(200, 3))])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    first, second = (wp.zeros(len(normals), dtype=vec3) for _ in range(2))
    run(tangents_kernel, wp.array(normals, dtype=vec3), first, second, threads=len(normals))
    frames = np.stack([normals, first.numpy(), second.numpy()], axis=1)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.broadcast_to(np.eye(3), frames.shape), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(frames), 1, atol=1e-14)


def test_velocities_and_impulses_are_products_with_the_rows():
    """Sums of up to twelve products of numbers of size one: 1e-13."""
    rng = np.random.default_rng(1)
    rows = Rows(rng, contacts=CONTACTS, torsional=True)
    z0, out = rng.normal(size=rows.nv), zeros(7 * rows.contacts)
    run(velocity_kernel, rows.ctx, column(z0), out, threads=rows.contacts)
    for c, found in enumerate(read(out).reshape(-1, 7)):
        W, p = rows.contact(c), rng.normal(size=7)
        np.testing.assert_allclose(found, [*(W @ z0), W[0] @ z0], atol=1e-13)
        z = column(z0)
        run(impulse_kernel, rows.ctx, c, column(p), z)
        np.testing.assert_allclose(read(z), z0 + W.T @ p[:6] + W[0] * p[6], atol=1e-13)


def test_at_an_instant_open_contacts_get_no_impulse_and_chords_do_not_count():
    rng = np.random.default_rng(2)
    rows, gap = Rows(rng, contacts=CONTACTS), float(MAX_TOUCHING_GAP)
    targets, chords = rng.normal(size=(2, 3, 3))
    put(rows.ctx.work.contact_target, targets.reshape(-1))
    put(rows.ctx.work.contact_chord, chords.reshape(-1))
    put(rows.ctx.work.contact_gap, [0.9 * gap, 1.1 * gap, -1.0])
    run(open_kernel, rows.ctx)
    expected = targets + chords
    expected[1, 0] = -np.inf
    np.testing.assert_array_equal(read(rows.ctx.work.contact_target).reshape(3, 3), expected)
