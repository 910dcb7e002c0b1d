"""Impacts with coefficients of restitution below one: a mean of the inelastic impact and of the reflections (M-89)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import JOINT_ROWS, ContactMass, GroupSum, Impact
from sharnir.impulse.solve.contact_groups import add_to_group, find_group, group_trees, root_of_contact
from sharnir.impulse.solve.impacts.reflections import (
    approaches,
    bouncing_impulse,
    compress,
    list_impacts,
    scale_to_energy,
)
from sharnir.impulse.solve.pgs import impulse_count
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.types import array2, real
from sharnir.kernels.vector_ops import clear, copy

MAX_PRESSED_ROUNDS = 8  # of contacts that an inelastic impact presses and that then take part


@wp.func
def solve_inelastic_impacts(ctx: Context, x: wp.ref[Iterate], reflected: array2, w: int):
    """x ← the inelastic impact, from the velocities z_impact, of all contacts that approach or are among the
    reflections, and of those that it presses (M-89). reflected: impulses of the reflections."""
    copy(ctx.work.z_impact, x.z, ctx.layout.z_size, w)
    clear(x.p, impulse_count(ctx.layout, ctx.work, w), w)
    list_impacts(ctx, x.direct, x.z, w)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get(reflected, ctx.layout.contact_p_start + CONTACT_IMPULSES * c, w) > real(0.0):
            put_int(ctx.work.impact_member, c, w, 1)
        c += 1
    pressed = int(1)
    n = int(0)
    while pressed > 0 and n < MAX_PRESSED_ROUNDS:
        compress(ctx, x, w)
        pressed = int(0)
        c = int(0)
        while c < contact_count(ctx.work, w):
            if get_int(ctx.work.impact_member, c, w) == 0 and approaches(ctx, c, x.direct, x.z, w):
                put_int(ctx.work.impact_member, c, w, 1)
                pressed += 1
            c += 1
        n += 1
    scale_to_energy(ctx, x, ctx.work.z_impact, w)


@wp.func
def group_restitution(work: wp.ref[Scratch], root: int, w: int):
    """Mean coefficient of restitution of the impacts in the group of a root link, weighted by their energies."""
    at = GroupSum.SIZE * find_group(work, root, w)
    e = real(0.0)
    if get(work.group_sum, at, w) > real(0.0):
        e = get(work.group_sum, at + GroupSum.SECOND, w) / get(work.group_sum, at, w)
    return e


@wp.func
def blend_range(p: array2, inelastic: array2, first: int, e: real, w: int):
    """p ← (1 − e) of the inelastic impulses + e p, of six impulses from `first` on."""
    k = int(first)
    while k < first + CONTACT_IMPULSES:
        x = get(inelastic, k, w)
        put(p, k, w, x + e * (get(p, k, w) - x))
        k += 1


@wp.func
def blend_impacts(ctx: Context, inelastic: wp.ref[Iterate], reflected: array2, w: int):
    """reflected ← (1 − ē) p_L + ē p_G (M-89): of every group of bodies the mean of the inelastic impact and of the
    reflections. Impulses of loop joints, where these are swept, are mixed like those of contacts."""
    solve_inelastic_impacts(ctx, inelastic, reflected, w)
    group_trees(ctx, inelastic.p, reflected, w)
    c = int(0)
    while c < contact_count(ctx.work, w):
        p = bouncing_impulse(ctx.layout, ctx.work, reflected, c, w)
        mass = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
        if p > real(0.0) and mass > real(0.0):
            root = root_of_contact(ctx.work, c, w)
            weight = p * p / mass
            e = get(ctx.work.impact, Impact.SIZE * c + Impact.RESTITUTION, w)
            add_to_group(ctx.work, root, int(GroupSum.FIRST), weight, w)
            add_to_group(ctx.work, root, int(GroupSum.SECOND), weight * e, w)
        c += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        if get(reflected, at, w) > real(0.0) or get(inelastic.p, at, w) > real(0.0):
            e = group_restitution(ctx.work, root_of_contact(ctx.work, c, w), w)
            blend_range(reflected, inelastic.p, at, e, w)
        c += 1
    k = int(0)
    while k < ctx.layout.joints and inelastic.direct == 0:
        root = ctx.layout.dof_root[ctx.layout.index[ctx.layout.joint_index_start[k]]]
        blend_range(reflected, inelastic.p, JOINT_ROWS * k, group_restitution(ctx.work, root, w), w)
        k += 1


@wp.func
def are_all_elastic(ctx: Context, p: array2, w: int):
    """Whether all contacts that bounce by impulses p have the restitution 1."""
    elastic = bool(True)
    c = int(0)
    while c < contact_count(ctx.work, w):
        e = get(ctx.work.impact, Impact.SIZE * c + Impact.RESTITUTION, w)
        if bouncing_impulse(ctx.layout, ctx.work, p, c, w) > real(0.0) and e < real(1.0):
            elastic = False
        c += 1
    return elastic
