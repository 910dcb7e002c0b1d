"""Impacts with coefficients of restitution below one: a mean of the inelastic impact and of the reflections (M-89)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import JOINT_ROWS, ContactMass, Impact, ImpactBlend
from sharnir.impulse.solve.impacts import approaches, bouncing_impulse, compress, list_impacts, scale_to_energy
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
def find_group(work: wp.ref[Scratch], link: int, w: int):
    """Group of bodies of a root link in the union–find of impacts."""
    i = int(link)
    while get_int(work.impact_group, i, w) != i:
        i = get_int(work.impact_group, i, w)
    return i


@wp.func
def join_groups(work: wp.ref[Scratch], a: int, b: int, w: int):
    """Unite the groups of two root links; −1, the world, unites nothing."""
    if a >= 0 and b >= 0:
        first = find_group(work, a, w)
        second = find_group(work, b, w)
        put_int(work.impact_group, wp.max(first, second), w, wp.min(first, second))


@wp.func
def group_impacts(ctx: Context, p: array2, q: array2, w: int):
    """Unite the trees that impulses p or q and bilateral rows connect."""
    i = int(0)
    while i < ctx.layout.links:
        put_int(ctx.work.impact_group, i, w, i)
        put(ctx.work.impact_blend, ImpactBlend.SIZE * i, w, real(0.0))
        put(ctx.work.impact_blend, ImpactBlend.SIZE * i + ImpactBlend.WEIGHTED, w, real(0.0))
        i += 1
    b = int(0)
    while b < ctx.layout.bilaterals:
        first = ctx.layout.bilateral_index_start[b]
        k = int(1)
        while k < ctx.layout.bilateral_row_length[b]:
            here = ctx.layout.dof_root[ctx.layout.index[first + k]]
            join_groups(ctx.work, here, ctx.layout.dof_root[ctx.layout.index[first]], w)
            k += 1
        b += 1
    c = int(0)
    while c < contact_count(ctx.work, w):
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        if get(p, at, w) > real(0.0) or get(q, at, w) > real(0.0):
            first = get_int(ctx.work.contact_trees, 2 * c, w)
            join_groups(ctx.work, first, get_int(ctx.work.contact_trees, 2 * c + 1, w), w)
        c += 1


@wp.func
def group_restitution(work: wp.ref[Scratch], root: int, w: int):
    """Mean coefficient of restitution of the impacts in the group of a root link, weighted by their energies."""
    at = ImpactBlend.SIZE * find_group(work, root, w)
    e = real(0.0)
    if get(work.impact_blend, at, w) > real(0.0):
        e = get(work.impact_blend, at + ImpactBlend.WEIGHTED, w) / get(work.impact_blend, at, w)
    return e


@wp.func
def root_of_contact(work: wp.ref[Scratch], c: int, w: int):
    """Root link of a tree that contact c acts on."""
    return wp.max(get_int(work.contact_trees, 2 * c, w), get_int(work.contact_trees, 2 * c + 1, w))


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
    group_impacts(ctx, inelastic.p, reflected, w)
    c = int(0)
    while c < contact_count(ctx.work, w):
        p = bouncing_impulse(ctx.layout, ctx.work, reflected, c, w)
        mass = get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.NORMAL, w)
        if p > real(0.0) and mass > real(0.0):
            at = ImpactBlend.SIZE * find_group(ctx.work, root_of_contact(ctx.work, c, w), w)
            weight = p * p / mass
            e = get(ctx.work.impact, Impact.SIZE * c + Impact.RESTITUTION, w)
            put(ctx.work.impact_blend, at, w, get(ctx.work.impact_blend, at, w) + weight)
            at += ImpactBlend.WEIGHTED
            put(ctx.work.impact_blend, at, w, get(ctx.work.impact_blend, at, w) + weight * e)
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
