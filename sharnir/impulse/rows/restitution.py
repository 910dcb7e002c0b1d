"""Rows of contacts in impacts: which contacts may bounce, and what their restitution is measured by (M-86)."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.momenta import whitened_momentum
from sharnir.enums import MaterialProperty
from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import (
    MAX_TOUCHING_GAP,
    apply_contact_impulse,
    contact_count,
    material_pair_of,
    multiply_contact_rows,
    normal_velocity,
)
from sharnir.impulse.slots import BLOCK_ROWS, Impact, Status
from sharnir.kernels.columns import get, get3, get_int, item, item3, put, put3, put_int, set_item
from sharnir.kernels.types import SPATIAL, VEC3, real, vec3


@wp.func
def whiten_momenta_before(ctx: Context, w: int):
    """z_before ← whitened momenta before the forces of this step, rotors included."""
    i = int(0)
    while i < ctx.tree.links:
        put3(ctx.here.C, 2 * i, w, item3(ctx.state.P, SPATIAL * i, w))
        put3(ctx.here.C, 2 * i + 1, w, item3(ctx.state.P, SPATIAL * i + VEC3, w))
        i += 1
    d = int(0)
    while d < ctx.tree.dof[ctx.tree.links]:
        set_item(ctx.state.joint_momentum, d, w, ctx.tree.armature[d] * item(ctx.state.v, d, w))
        d += 1
    whitened_momentum(ctx.tree, ctx.here, ctx.state.joint_momentum, ctx.work.z_before, w)


@wp.func
def pair_property(ctx: Context, c: int, what: int, w: int):
    """A `MaterialProperty` of the pair of materials of contact c."""
    return ctx.layout.contact_model.material_pair_table[material_pair_of(ctx.layout, ctx.state, c, w) + what]


@wp.func
def may_have_impacts(ctx: Context, dt: real, w: int):
    """1 if a contact with restitution might close within the step faster than its threshold, by the velocities in
    z_impact and what z_kick changes; forces of other contacts are left out."""
    found = int(0)
    c = int(0)
    while c < contact_count(ctx.work, w) and found == 0:
        if pair_property(ctx, c, MaterialProperty.RESTITUTION, w) > real(0.0):
            s = normal_velocity(ctx.layout, ctx.work, c, 0, ctx.work.z_impact, w)
            if s < -pair_property(ctx, c, MaterialProperty.RESTITUTION_THRESHOLD, w):
                change = wp.abs(normal_velocity(ctx.layout, ctx.work, c, 0, ctx.work.z_kick, w))
                if wp.max(get(ctx.work.contact_gap, c, w), real(0.0)) + dt * (s - real(0.5) * change) < real(0.0):
                    found = 1
        c += 1
    return found


@wp.func
def warm_start_resting(ctx: Context, x: wp.ref[Iterate], w: int):
    """Mark the contacts that rested before the step's forces (closed, and slower than the threshold) as members; x.p of
    them ← half of their last impulses, of all others 0, and x.z += Wᵀp. Bodies at rest would else approach what carries
    them."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        p = vec3()
        rests = int(0)
        if get(ctx.work.contact_gap, c, w) <= MAX_TOUCHING_GAP:
            speed = normal_velocity(ctx.layout, ctx.work, c, 0, ctx.work.z_before, w)
            if wp.abs(speed) <= pair_property(ctx, c, MaterialProperty.RESTITUTION_THRESHOLD, w):
                rests = 1
                p = vec3(get(ctx.work.p, at, w), get(ctx.work.p, at + 1, w), get(ctx.work.p, at + 2, w)) * real(0.5)
                apply_contact_impulse(ctx, c, 0, p, x, w)
        k = int(0)
        while k < CONTACT_IMPULSES:
            put(x.p, at + k, w, real(0.0))
            k += 1
        put(x.p, at, w, p[0])
        put(x.p, at + 1, w, p[1])
        put(x.p, at + 2, w, p[2])
        put_int(ctx.work.impact_member, c, w, rests)
        c += 1


@wp.func
def set_impact_rows(ctx: Context, direct: int, dt: real, w: int):
    """Set `impact` of all contacts (M-86). A contact with restitution is stopped at its surface, another one may close
    its gap; what the step's forces reverse within the step is no impact. direct: rows are the projected ones."""
    half = real(0.5)
    c = int(0)
    while c < contact_count(ctx.work, w):
        change = multiply_contact_rows(ctx, c, 0, direct, ctx.work.z_kick, w)[0]
        closing = wp.max(get(ctx.work.contact_gap, c, w), real(0.0)) / dt
        restitution = pair_property(ctx, c, MaterialProperty.RESTITUTION, w)
        threshold = pair_property(ctx, c, MaterialProperty.RESTITUTION_THRESHOLD, w)
        target = wp.where(restitution > real(0.0), real(0.0), -closing)
        chord = get3(ctx.work.contact_chord, c, w)
        at = Impact.SIZE * c
        put(ctx.work.impact, at, w, target)
        k = int(1)
        while k < BLOCK_ROWS:  # of moving surfaces
            put(ctx.work.impact, at + k, w, get(ctx.work.contact_target, BLOCK_ROWS * c + k, w) + chord[k])
            k += 1
        put(ctx.work.impact, at + Impact.RESTITUTION, w, restitution)
        put(ctx.work.impact, at + Impact.THRESHOLD, w, wp.max(threshold, half * wp.abs(change)))
        put(ctx.work.impact, at + Impact.CLOSING, w, closing + half * change)
        c += 1


@wp.func
def impact_target(work: wp.ref[Scratch], c: int, w: int):
    """Velocity (normal, tangents, m/s) at which an inelastic impact of contact c ends."""
    at = Impact.SIZE * c
    return vec3(get(work.impact, at, w), get(work.impact, at + 1, w), get(work.impact, at + 2, w))


@wp.func
def measure_separations(ctx: Context, dt: real, w: int):
    """Measure by how much the step parts contacts with restitution that overlap. They have bounced too late, since one
    of the bodies was struck within the step and the other one was not near enough to be seen before; what pushed them
    apart as well would lift what lies on them."""
    found = int(0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        way = real(0.0)
        overlaps = get(ctx.work.contact_gap, c, w) < -MAX_TOUCHING_GAP
        if overlaps and pair_property(ctx, c, MaterialProperty.RESTITUTION, w) > real(0.0):
            way = dt * wp.max(normal_velocity(ctx.layout, ctx.work, c, 0, ctx.here.z, w), real(0.0))
        if way > real(0.0):
            found = 1
        put(ctx.work.impact, Impact.SIZE * c + Impact.SEPARATION, w, way)
        c += 1
    put_int(ctx.work.status, Status.HAS_SEPARATIONS, w, found)


@wp.func
def gap_to_correct(work: wp.ref[Scratch], c: int, w: int):
    """Gap of contact c that the position phase sees, m: at the start of the step, or what bouncing leaves of an
    overlap."""
    gap = get(work.contact_gap, c, w)
    if get_int(work.status, Status.HAS_SEPARATIONS, w) == 1:
        gap = gap + get(work.impact, Impact.SIZE * c + Impact.SEPARATION, w)
    return gap
