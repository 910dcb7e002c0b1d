"""One contact block of a Gauss–Seidel sweep: normal and circular friction cone, torsional and rolling friction
(M-56, M-57)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch, make_iterate
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import (
    apply_contact_impulse,
    apply_normal_impulse,
    contact_count,
    contact_velocity,
    normal_velocity,
)
from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, Mu, Status
from sharnir.impulse.solve.coulomb_cone import solve_cone
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.types import array2, max_abs3, real, vec3


@wp.func
def solve_contact_cone(ctx: Context, c: int, old: vec3, x: wp.ref[Iterate], w: int):
    """Solve normal and friction of contact c within its cone, and apply the change to z; returns the change of the
    three impulses. old: its impulses."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    s = contact_velocity(ctx, c, 0, x.direct, x.z, w) - get3(ctx.work.contact_target, c, w)
    new = solve_cone(ctx.work.contact_mass, ContactMass.SIZE * c, get(ctx.work.contact_mu, Mu.SIZE * c, w), old, s, w)
    d = new - old
    put(x.p, at, w, new[0])
    put(x.p, at + 1, w, new[1])
    put(x.p, at + 2, w, new[2])
    apply_contact_impulse(ctx, c, 0, d, x, w)
    return d


@wp.func
def sweep_contact(ctx: Context, c: int, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of contact c: the cone, then torsional and rolling friction within what the normal impulse
    allows. Returns the largest change of an impulse, N s, times the contact's change weight (more where what it moves
    is light)."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    d = solve_contact_cone(ctx, c, vec3(get(x.p, at, w), get(x.p, at + 1, w), get(x.p, at + 2, w)), x, w)
    worst = max_abs3(d)
    if get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES:
        worst = wp.max(worst, max_abs3(solve_torsional_rolling(ctx, c, get(x.p, at, w), x, w)))
    return worst * get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.CHANGE_WEIGHT, w)


@wp.func
def solve_torsional_rolling(ctx: Context, c: int, normal: real, x: wp.ref[Iterate], w: int):
    """Solve torsional friction about the normal and rolling friction about the tangents of contact c, bounded by the
    normal impulse; returns the change of the three angular impulses."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c + BLOCK_ROWS
    old = vec3(get(x.p, at, w), get(x.p, at + 1, w), get(x.p, at + 2, w))
    new = torsional_rolling_impulse(ctx.work, c, normal, old, contact_velocity(ctx, c, BLOCK_ROWS, x.direct, x.z, w), w)
    d = new - old
    put(x.p, at, w, new[0])
    put(x.p, at + 1, w, new[1])
    put(x.p, at + 2, w, new[2])
    apply_contact_impulse(ctx, c, BLOCK_ROWS, d, x, w)
    return d


@wp.func
def torsional_rolling_impulse(work: wp.ref[Scratch], c: int, normal: real, old: vec3, s: vec3, w: int):
    """Angular impulses (torsional, two of rolling) of contact c that replace `old`, at angular velocities s, clamped by
    the lengths c_s, c_r times the normal impulse (M-57)."""
    bound = get(work.contact_mu, Mu.SIZE * c + Mu.SPIN, w) * normal
    spin = wp.clamp(old[0] - s[0] * get(work.contact_mass, ContactMass.SIZE * c + ContactMass.SPIN, w), -bound, bound)
    roll_step = get(work.contact_mass, ContactMass.SIZE * c + ContactMass.ROLL, w)
    a = old[1] - s[1] * roll_step
    b = old[2] - s[2] * roll_step
    norm = wp.sqrt(a * a + b * b)
    bound = get(work.contact_mu, Mu.SIZE * c + Mu.ROLL, w) * normal
    scale = real(1.0)
    if norm > bound:
        scale = bound / norm
    return vec3(spin, a * scale, b * scale)


@wp.func
def sweep_contacts(ctx: Context, x: wp.ref[Iterate], w: int):
    """Sweep all contacts once and record the change of each; returns the largest, N s."""
    worst = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        change = sweep_contact(ctx, c, x, w)
        put(ctx.work.contact_impulse_change, c, w, change)
        worst = wp.max(worst, change)
        c += 1
    return worst


@wp.func
def warm_start_contacts(ctx: Context, z: array2, w: int):
    """z += Wᵀ p of the contacts' warm-start impulses, once in a step."""
    if get_int(ctx.work.status, Status.WARM_STARTED, w) == 0:
        apply_contact_impulses(ctx, z, ctx.work.p, w)
        put_int(ctx.work.status, Status.WARM_STARTED, w, 1)


@wp.func
def apply_contact_impulses(ctx: Context, z: array2, p: array2, w: int):
    """z += Wᵀ p of all contacts."""
    x = make_iterate(z, p, 0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        row = int(0)
        while row < get_int(ctx.work.contact_row_count, c, w):
            impulse = vec3(get(p, at + row, w), get(p, at + row + 1, w), get(p, at + row + 2, w))
            apply_contact_impulse(ctx, c, row, impulse, x, w)
            row += BLOCK_ROWS
        c += 1


@wp.func
def sweep_normal(ctx: Context, c: int, target: real, compliance: real, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of the normal row of contact c alone, p ≥ 0, towards the velocity `target`; returns the
    change, N s. compliance: share of its diagonal by which it yields to its impulse."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    s = normal_velocity(ctx.layout, ctx.work, c, x.direct, x.z, w)
    before = get(x.p, at, w)
    inverse = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
    after = wp.max((before + (target - s) * inverse) / (real(1.0) + compliance), real(0.0))
    if after != before:
        put(x.p, at, w, after)
        apply_normal_impulse(ctx, c, x.direct, after - before, x.z, w)
    return wp.abs(after - before)
