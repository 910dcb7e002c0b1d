"""Active contact set within one solve: contacts whose trees' impulses still change are swept, the others are frozen and
checked from time to time (M-85)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import BLOCK_ROWS, SIDES, ContactMass
from sharnir.impulse.solve.contact_block import solve_contact_cone, solve_torsional_rolling, sweep_contact
from sharnir.impulse.solve.islands.partition import root_of_scalar
from sharnir.kernels.columns import get, get_int, put, put_int
from sharnir.kernels.indexed_blocks import copy_indexed_blocks, extrapolate_indexed_blocks
from sharnir.kernels.types import array2, max_abs3, real, vec3
from sharnir.kernels.vector_ops import clear


@wp.func
def deactivate_trees(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Mark all kinematic trees inactive."""
    i = int(0)
    while i < layout.links:
        put_int(work.active_tree, i, w, 0)
        i += 1


@wp.func
def freeze_contacts(layout: wp.ref[Layout], work: wp.ref[Scratch], w: int):
    """Mark all trees inactive and exclude (freeze) all contacts from sweeps."""
    deactivate_trees(layout, work, w)
    c = int(0)
    while c < contact_count(work, w):
        put_int(work.frozen, c, w, 1)
        c += 1
    i = int(0)
    while i < layout.links:
        put_int(work.tree_untouched, i, w, 1)
        i += 1
    put_int(work.active_contacts, 0, w, 0)
    put_int(work.touched_dofs, 0, w, 0)


@wp.func
def activate_trees(work: wp.ref[Scratch], c: int, w: int):
    """Mark the trees of both bodies of contact c active. Returns how many were not yet."""
    newly_active = int(0)
    side = int(0)
    while side < SIDES:
        root = get_int(work.contact_trees, 2 * c + side, w)
        if root >= 0:
            if get_int(work.active_tree, root, w) == 0:
                put_int(work.active_tree, root, w, 1)
                newly_active += 1
        side += 1
    return newly_active


@wp.func
def activate_scalar_trees(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Mark all trees that scalar row l moves active."""
    k = int(0)
    while k < layout.scalar_row_length[l]:
        put_int(work.active_tree, root_of_scalar(layout, l, k), w, 1)
        k += 1


@wp.func
def has_active_tree(work: wp.ref[Scratch], c: int, w: int):
    """1 if a tree of one of the bodies of contact c is active."""
    active = int(0)
    side = int(0)
    while side < SIDES:
        root = get_int(work.contact_trees, 2 * c + side, w)
        if root >= 0:
            active = wp.max(active, get_int(work.active_tree, root, w))
        side += 1
    return active


@wp.func
def sweep_frozen(ctx: Context, x: wp.ref[Iterate], w: int):
    """Sweep the frozen contacts once. Returns the largest change of an impulse, N s."""
    worst = real(0.0)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get_int(ctx.work.frozen, c, w) == 1:
            change = sweep_contact(ctx, c, x, w)
            put(ctx.work.contact_impulse_change, c, w, change)
            worst = wp.max(worst, change)
        c += 1
    return worst


@wp.func
def activate_changed_frozen(layout: wp.ref[Layout], work: wp.ref[Scratch], threshold: real, w: int):
    """Activate the trees of frozen contacts that changed by more than `threshold` in `sweep_frozen`. Returns how many
    trees."""
    newly_active = int(0)
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.frozen, c, w) == 1 and get(work.contact_impulse_change, c, w) > threshold:
            newly_active += activate_trees(work, c, w)
        c += 1
    return newly_active


@wp.func
def unfreeze_contacts(layout: wp.ref[Layout], work: wp.ref[Scratch], p: array2, w: int):
    """Unfreeze the contacts of active trees: add them to the active list with zero search directions, and their trees'
    coordinates to those touched."""
    count = get_int(work.active_contacts, 0, w)
    c = int(0)
    while c < contact_count(work, w):
        if get_int(work.frozen, c, w) == 1:
            if has_active_tree(work, c, w) == 1:
                put_int(work.frozen, c, w, 0)
                count += 1
                put_int(work.active_contacts, count, w, c)
                at = layout.contact_p_start + CONTACT_IMPULSES * c
                k = int(0)
                while k < CONTACT_IMPULSES:
                    put(work.p_direction, at + k, w, real(0.0))
                    put(work.p_old, at + k, w, get(p, at + k, w))
                    k += 1
                touch_tree_dofs(layout, work, c, 0, w)
                touch_tree_dofs(layout, work, c, 1, w)
        c += 1
    put_int(work.active_contacts, 0, w, count)


@wp.func
def touch_tree_dofs(layout: wp.ref[Layout], work: wp.ref[Scratch], c: int, side: int, w: int):
    """Add the coordinates of the tree of body `side` (0, 1) of contact c to those that sweeps touch, with zero search
    directions."""
    root = get_int(work.contact_trees, 2 * c + side, w)
    if root >= 0:
        if get_int(work.tree_untouched, root, w) == 1:
            put_int(work.tree_untouched, root, w, 0)
            count = get_int(work.touched_dofs, 0, w)
            d = layout.tree_first_dof[root]
            while d < layout.tree_first_dof[root] + layout.tree_dof_count[root]:
                count += 1
                put_int(work.touched_dofs, count, w, d)
                put(work.z_direction, d, w, real(0.0))
                d += 1
            put_int(work.touched_dofs, 0, w, count)


@wp.func
def sweep_active(ctx: Context, threshold: real, x: wp.ref[Iterate], w: int):
    """Sweep the active contacts once; those that change by more than `threshold` activate their trees (M-85). Returns
    the largest change, the sum of squares of all changes, and how many trees became active."""
    worst = real(0.0)
    change2 = real(0.0)
    newly_active = int(0)
    i = int(1)
    while i <= get_int(ctx.work.active_contacts, 0, w):
        c = get_int(ctx.work.active_contacts, i, w)
        at = ctx.layout.contact_p_start + CONTACT_IMPULSES * c
        old = save_impulse3(ctx.work, x.p, at, w)
        d = solve_contact_cone(ctx, c, old, x, w)
        change = max_abs3(d)
        change2 = change2 + wp.dot(d, d)
        if get_int(ctx.work.contact_row_count, c, w) == CONTACT_IMPULSES:
            save_impulse3(ctx.work, x.p, at + BLOCK_ROWS, w)
            d = solve_torsional_rolling(ctx, c, get(x.p, at, w), x, w)
            change = wp.max(change, max_abs3(d))
            change2 = change2 + wp.dot(d, d)
        change = change * get(ctx.work.contact_mass, ContactMass.SIZE * c + ContactMass.CHANGE_WEIGHT, w)
        put(ctx.work.contact_impulse_change, c, w, change)
        worst = wp.max(worst, change)
        if change > threshold:
            newly_active += activate_trees(ctx.work, c, w)
        i += 1
    return worst, change2, newly_active


@wp.func
def save_impulse3(work: wp.ref[Scratch], p: array2, at: int, w: int):
    """Save three impulses from p[at …] on as those before the sweep, and return them."""
    old = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w))
    put(work.p_old, at, w, old[0])
    put(work.p_old, at + 1, w, old[1])
    put(work.p_old, at + 2, w, old[2])
    return old


@wp.func
def extrapolate_active(layout: wp.ref[Layout], work: wp.ref[Scratch], beta: real, z: array2, p: array2, w: int):
    """Accelerate (`extrapolate`) the impulses of active contacts and the coordinates they touch by β."""
    extrapolate_indexed_blocks(
        p,
        work.p_old,
        work.p_direction,
        beta,
        work.active_contacts,
        layout.contact_p_start,
        CONTACT_IMPULSES,
        layout.max_contact_rows,
        w,
    )
    extrapolate_indexed_blocks(z, work.z_old, work.z_direction, beta, work.touched_dofs, 0, 1, 1, w)


@wp.func
def restart_acceleration(layout: wp.ref[Layout], work: wp.ref[Scratch], z: array2, p: array2, w: int):
    """Restart the acceleration: zero search directions, and take present impulses and coordinates as those before the
    sweep."""
    clear(work.p_direction, layout.impulses, w)
    clear(work.z_direction, layout.z_size, w)
    copy_indexed_blocks(
        p, work.p_old, work.active_contacts, layout.contact_p_start, CONTACT_IMPULSES, layout.max_contact_rows, w
    )
    copy_indexed_blocks(z, work.z_old, work.touched_dofs, 0, 1, 1, w)
