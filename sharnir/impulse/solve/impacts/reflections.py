"""Impacts of a step: generalised reflections of the whitened velocity (M-87, M-88).

All impacts that would happen within the step are reflected at its start. An inelastic impact of the contacts that
approach, its expansion with the same impulses, and so on until none approaches: no such reflection changes the kinetic
energy, however far the sweeps that find it were carried.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import (
    apply_contact_impulse,
    apply_normal_impulse,
    contact_count,
    contact_velocity,
    normal_velocity,
)
from sharnir.impulse.rows.restitution import impact_target
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import BLOCK_ROWS, JOINT_ROWS, ContactMass, Impact, Mu, StepWarning
from sharnir.impulse.solve.contact_block import torsional_rolling_impulse
from sharnir.impulse.solve.coulomb_cone import solve_cone
from sharnir.impulse.solve.pgs import impulse_count
from sharnir.impulse.solve.pgs_sweep import sweep_joint
from sharnir.impulse.tolerances import TOL_IMPACT_ENERGY, TOL_IMPACT_SPEED
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, max_abs3, real, vec3
from sharnir.kernels.vector_ops import clear, copy, row_dot

MAX_REFLECTIONS = 64  # in a step; beyond, impacts are inelastic
MAX_IMPACT_SWEEPS = 100  # for one inelastic impact
FRICTION_SWEEPS = 3  # over tangents after an expansion


@wp.func
def approaches(ctx: Context, c: int, direct: int, z: array2, w: int):
    """Whether contact c approaches faster than its threshold at the velocities z and would close within the step."""
    at = Impact.SIZE * c
    s = normal_velocity(ctx.layout, ctx.work, c, direct, z, w)
    limit = get(ctx.work.impact, at, w) - get(ctx.work.impact, at + Impact.THRESHOLD, w)
    return s < limit and s + get(ctx.work.impact, at + Impact.CLOSING, w) < real(0.0)


@wp.func
def list_impacts(ctx: Context, direct: int, z: array2, w: int):
    """Mark the contacts that take part in the next inelastic impact: those that approach, and those without restitution
    that would close within the step. Returns how many approach; with restitution, how many of them."""
    count = int(0)
    bouncing = int(0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = Impact.SIZE * c
        bounces = get(ctx.work.impact, at + Impact.RESTITUTION, w) > real(0.0)
        member = int(0)
        if approaches(ctx, c, direct, z, w):
            member = 1
            count += 1
            if bounces:
                bouncing += 1
        elif not bounces:
            s = normal_velocity(ctx.layout, ctx.work, c, direct, z, w)
            if s + get(ctx.work.impact, at + Impact.CLOSING, w) < real(0.0):
                member = 1
        put_int(ctx.work.impact_member, c, w, member)
        c += 1
    return count, bouncing


@wp.func
def list_closing(ctx: Context, direct: int, z: array2, w: int):
    """Mark all contacts that would close within the step at the velocities z."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        s = normal_velocity(ctx.layout, ctx.work, c, direct, z, w)
        closes = s + get(ctx.work.impact, Impact.SIZE * c + Impact.CLOSING, w) < real(0.0)
        put_int(ctx.work.impact_member, c, w, wp.where(closes, 1, 0))
        c += 1


@wp.func
def sweep_impact(ctx: Context, c: int, x: wp.ref[Iterate], w: int):
    """Gauss–Seidel update of contact c in an inelastic impact (M-82); returns the change of its velocity, m/s."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    old = vec3(get(x.p, at, w), get(x.p, at + 1, w), get(x.p, at + 2, w))
    s = contact_velocity(ctx, c, 0, x.direct, x.z, w) - impact_target(ctx.work, c, w)
    new = solve_cone(ctx.work.contact_mass, ContactMass.SIZE * c, get(ctx.work.contact_mu, Mu.SIZE * c, w), old, s, w)
    d = new - old
    put(x.p, at, w, new[0])
    put(x.p, at + 1, w, new[1])
    put(x.p, at + 2, w, new[2])
    apply_contact_impulse(ctx, c, 0, d, x, w)
    mass = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
    change = real(0.0)
    if mass > real(0.0):
        change = max_abs3(d) / mass
    return change


@wp.func
def sweep_members(ctx: Context, x: wp.ref[Iterate], w: int):
    """One sweep over loop joints, where they are swept, and marked contacts; returns the largest change of a contact's
    velocity, m/s."""
    worst = real(0.0)
    k = int(0)
    while k < ctx.layout.joints and x.direct == 0:
        sweep_joint(ctx, k, x, w)
        k += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get_int(ctx.work.impact_member, c, w) == 1:
            worst = wp.max(worst, sweep_impact(ctx, c, x, w))
        c += 1
    return worst


@wp.func
def compress(ctx: Context, x: wp.ref[Iterate], w: int):
    """Sweep the inelastic impact of the marked contacts from the impulses x.p on, until velocities change by less than
    TOL_IMPACT_SPEED of the largest change; loop joints rest where they are swept."""
    largest = real(0.0)
    worst = real(1.0)
    n = int(0)
    while n < MAX_IMPACT_SWEEPS and worst > TOL_IMPACT_SPEED * largest:
        worst = sweep_members(ctx, x, w)
        largest = wp.max(largest, worst)
        n += 1


@wp.func
def impact_power(ctx: Context, p: array2, direct: int, z: array2, w: int):
    """Σ p·s (J) at the velocities z of all contacts, against moving surfaces, and of loop joints where they are swept.
    Half the sum of the values before and after impulses p is the energy they add."""
    total = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        f = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w))
        if f[0] != real(0.0) or f[1] != real(0.0) or f[2] != real(0.0):
            surface = impact_target(ctx.work, c, w)
            surface[0] = real(0.0)
            total = total + wp.dot(f, contact_velocity(ctx, c, 0, direct, z, w) - surface)
            if get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES:
                f = vec3(get(p, at + BLOCK_ROWS, w), get(p, at + BLOCK_ROWS + 1, w), get(p, at + BLOCK_ROWS + 2, w))
                total = total + wp.dot(f, contact_velocity(ctx, c, BLOCK_ROWS, direct, z, w))
        c += 1
    k = int(0)
    while k < ctx.layout.joints and direct == 0:
        j = int(0)
        while j < ctx.loops.constraint_count[ctx.loops.kind[k]]:
            start = ctx.layout.joint_W_start[k] + j * ctx.layout.joint_row_length[k]
            s = row_dot(
                ctx.work.W,
                start,
                ctx.layout.joint_row_length[k],
                ctx.layout.index,
                ctx.layout.joint_index_start[k],
                z,
                w,
            )
            total = total + get(p, JOINT_ROWS * k + j, w) * s
            j += 1
        k += 1
    return total


@wp.func
def is_frictionless(ctx: Context, p: array2, w: int):
    """Whether impulses p act along normals alone, each to stop its contact at a surface."""
    plain = bool(True)
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        if get(p, at, w) != real(0.0) and get(ctx.work.impact, Impact.SIZE * c, w) != real(0.0):
            plain = False
        if get(p, at + 1, w) != real(0.0) or get(p, at + 2, w) != real(0.0):
            plain = False
        c += 1
    return plain


@wp.func
def scale_to_energy(ctx: Context, x: wp.ref[Iterate], start: array2, w: int):
    """Scale an inelastic impact x from the velocities `start` so that its energy is the least along its impulses, where
    friction has no part in it, and else at most that of the start (M-87). Returns the energy it loses, J; 0 if nothing
    moves."""
    before = impact_power(ctx, x.p, x.direct, start, w)
    square = impact_power(ctx, x.p, x.direct, x.z, w) - before
    kappa = real(1.0)
    if square <= real(0.0):
        kappa = real(0.0)
    elif real(2.0) * before + square > real(0.0) or is_frictionless(ctx, x.p, w):
        kappa = wp.max(-before / square, real(0.0))
    if kappa != real(1.0):
        i = int(0)
        while i < impulse_count(ctx.layout, ctx.work, w):
            put(x.p, i, w, kappa * get(x.p, i, w))
            i += 1
        d = int(0)
        while d < ctx.layout.z_size:
            z = get(start, d, w)
            put(x.z, d, w, z + kappa * (get(x.z, d, w) - z))
            d += 1
    return -kappa * (before + real(0.5) * kappa * square)


@wp.func
def bouncing_impulse(layout: wp.ref[Layout], work: wp.ref[Scratch], p: array2, c: int, w: int):
    """Normal impulse of contact c where it has restitution, else 0."""
    out = real(0.0)
    if get(work.impact, Impact.SIZE * c + Impact.RESTITUTION, w) > real(0.0):
        out = get(p, layout.contact_p_start + CONTACT_IMPULSES * c, w)
    return out


@wp.func
def expand(ctx: Context, x: wp.ref[Iterate], share: real, w: int):
    """Apply the normal impulses of x.p that bounce, times `share`, to x.z once more. Returns Σ p·s of them before."""
    power = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        p = bouncing_impulse(ctx.layout, ctx.work, x.p, c, w)
        if p > real(0.0):
            power = power + p * normal_velocity(ctx.layout, ctx.work, c, x.direct, x.z, w)
        c += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        p = bouncing_impulse(ctx.layout, ctx.work, x.p, c, w)
        if p > real(0.0):
            apply_normal_impulse(ctx, c, x.direct, share * p, x.z, w)
        c += 1
    return power


@wp.func
def expand_within_energy(ctx: Context, x: wp.ref[Iterate], lost: real, w: int):
    """Expand an inelastic impact x by its own normal impulses, or by the share of them that gives back no more than the
    energy `lost` (M-88). Returns that share."""
    before = expand(ctx, x, real(1.0), w)
    after = expand(ctx, x, real(0.0), w)
    share = real(1.0)
    if before + after > real(2.0) * lost * (real(1.0) + TOL_IMPACT_ENERGY):
        square = after - before
        root = wp.sqrt(before * before + real(2.0) * square * lost)
        share = wp.clamp((root - before) / square, real(0.0), real(1.0))
        expand(ctx, x, share - real(1.0), w)
    return share


@wp.func
def sweep_impact_friction(ctx: Context, c: int, x: wp.ref[Iterate], w: int):
    """Friction of contact c at the normal impulse that it has: a step against slip, which lowers the energy."""
    at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
    normal = get(x.p, at, w)
    step = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.TANGENT, w)
    s = contact_velocity(ctx, c, 0, x.direct, x.z, w) - impact_target(ctx.work, c, w)
    a = get(x.p, at + 1, w) - step * s[1]
    b = get(x.p, at + 2, w) - step * s[2]
    size = wp.sqrt(a * a + b * b)
    bound = get(ctx.work.contact_mu, Mu.SIZE * c, w) * normal
    if size > bound:
        a = a * (bound / size)
        b = b * (bound / size)
    d = vec3(real(0.0), a - get(x.p, at + 1, w), b - get(x.p, at + 2, w))
    put(x.p, at + 1, w, a)
    put(x.p, at + 2, w, b)
    apply_contact_impulse(ctx, c, 0, d, x, w)
    if get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES:
        at += BLOCK_ROWS
        old = vec3(get(x.p, at, w), get(x.p, at + 1, w), get(x.p, at + 2, w))
        turning = contact_velocity(ctx, c, BLOCK_ROWS, x.direct, x.z, w)
        new = torsional_rolling_impulse(ctx.work, c, normal, old, turning, w)
        put(x.p, at, w, new[0])
        put(x.p, at + 1, w, new[1])
        put(x.p, at + 2, w, new[2])
        apply_contact_impulse(ctx, c, BLOCK_ROWS, new - old, x, w)


@wp.func
def rub(ctx: Context, x: wp.ref[Iterate], w: int):
    """Some sweeps over the friction of all contacts that x.p presses."""
    n = int(0)
    while n < FRICTION_SWEEPS:
        c = int(0)
        while c < contact_count(ctx.work, w):
            rough = get(ctx.work.contact_mu, Mu.SIZE * c, w) > real(0.0)
            rough = rough or get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES
            if rough and get(x.p, ctx.layout.contact_p_start + CONTACT_IMPULSES * c, w) > real(0.0):
                sweep_impact_friction(ctx, c, x, w)
            c += 1
        n += 1


@wp.func
def reflect_once(ctx: Context, compressed: wp.ref[Iterate], x: wp.ref[Iterate], bounce: int, w: int):
    """An inelastic impact of the marked contacts from the velocities x.z, expanded if `bounce` is 1, is added to x.
    Returns 1 unless it moves nothing."""
    copy(x.z, compressed.z, ctx.layout.z_size, w)
    clear(compressed.p, impulse_count(ctx.layout, ctx.work, w), w)
    compress(ctx, compressed, w)
    lost = scale_to_energy(ctx, compressed, x.z, w)
    moved = int(0)
    if lost > real(0.0):
        moved = 1
        share = real(0.0)
        if bounce == 1:
            share = expand_within_energy(ctx, compressed, lost, w)
        i = int(0)
        while i < impulse_count(ctx.layout, ctx.work, w):
            put(x.p, i, w, get(x.p, i, w) + get(compressed.p, i, w))
            i += 1
        c = int(0)
        while c < contact_count(ctx.work, w):
            at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
            extra = share * bouncing_impulse(ctx.layout, ctx.work, compressed.p, c, w)
            put(x.p, at, w, get(x.p, at, w) + extra)
            c += 1
        copy(compressed.z, x.z, ctx.layout.z_size, w)
        rub(ctx, x, w)
    return moved


@wp.func
def reflect(ctx: Context, compressed: wp.ref[Iterate], x: wp.ref[Iterate], w: int):
    """Reflect x, velocities and impulses of impacts with restitution 1, until nothing approaches (M-88). Where that
    does not end within MAX_REFLECTIONS, as of a ball between two walls, the rest is inelastic and the report warns."""
    n = int(0)
    count, bouncing = list_impacts(ctx, x.direct, x.z, w)
    while count > 0 and n <= MAX_REFLECTIONS:
        last = n == MAX_REFLECTIONS
        if last:
            list_closing(ctx, x.direct, x.z, w)
            warn_of(ctx.state, StepWarning.IMPACTS_LIMITED, w)
        moved = reflect_once(ctx, compressed, x, wp.where(last, 0, 1), w)
        if moved == 1 and not last:
            count, bouncing = list_impacts(ctx, x.direct, x.z, w)
        else:
            count = 0
        n += 1
