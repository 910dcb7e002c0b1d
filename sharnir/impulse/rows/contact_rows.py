"""Contact rows: whitened Jacobians, target velocities and friction coefficients (M-54..M-57).

A contact has a normal row, two tangential rows and, where its materials ask for it, a torsional row about the normal
and two rolling rows about the tangents.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import ContactCount
from sharnir.collision.pipeline import export_contacts, find_round_contacts
from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.momenta import link_velocities
from sharnir.dynamics.tree import Tree
from sharnir.enums import MaterialProperty
from sharnir.impulse.data import Context, Scratch, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.rows.belts import find_belt_motion, has_belt, whiten_belt_contact
from sharnir.impulse.rows.contact_frame import (
    contact_frame_of,
    contact_velocity,
    make_tangents,
    material_pair_of,
    shape_pair_of,
)
from sharnir.impulse.rows.contact_mass import compute_contact_mass
from sharnir.impulse.rows.contact_matching import find_pair_from, match_contact
from sharnir.impulse.rows.flat_contact import friction_arm
from sharnir.impulse.rows.whitened_rows import ContactArms, make_row_block, whiten_contact_pair
from sharnir.impulse.slots import BLOCK_ROWS, SIDES, Half, Impact, Mu, ReportItem, StatusReal
from sharnir.kernels.columns import get, get3, get33, item, item3, item_int, put, put3, put_int, set_item
from sharnir.kernels.types import VEC3, real, vec3

# m: wider gaps are closed; loaded contacts with less stay as they are
MAX_RESTING_GAP = wp.constant(real(1.0e-6))
MAX_STICK_SPEED = wp.constant(real(1.0e-4))  # m/s: slower slip counts as sticking (static friction)


@wp.func
def find_contacts(ctx: Context, dt: real, w: int):
    """Detect contacts, unless a collision kernel has done so before the step."""
    if ctx.layout.detects_contacts == 1:
        link_velocities(ctx.tree, ctx.here, ctx.state.v, w)
        export_contacts(
            ctx.work.collision,
            ctx.state.contacts,
            find_round_contacts(ctx.tree, ctx.here, ctx.layout.contact_model, ctx.work.collision, dt, w),
            w,
        )


@wp.func
def found_contact_count(layout: wp.ref[Layout], state: wp.ref[State], w: int):
    """How many contacts detection found (touching, or possibly within the step)."""
    count = int(0)
    if layout.contact_model.has_pairs == 1:
        count = item_int(state.contacts.count, ContactCount.STORED, w)
    return count


@wp.func
def store_contact_count(layout: wp.ref[Layout], state: wp.ref[State], work: wp.ref[Scratch], w: int):
    """Store and report the number of contacts: from here on all of them have rows."""
    put_int(work.contact_count, 0, w, found_contact_count(layout, state, w))
    if layout.contact_model.has_pairs == 1:
        set_item(
            state.report, ReportItem.CONTACT_POINTS, w, real(item_int(state.contacts.count, ContactCount.FOUND, w))
        )


@wp.func
def assemble_contact(ctx: Context, c: int, match_cursor: int, chord_scale: real, dt: real, w: int):
    """Assemble contact c: rows, effective mass, target velocities and warm-start impulses, those of the previous step
    times the warm-start factor. chord_scale: factor of the predicted chord term; match_cursor, and returned: see
    `match_contact`."""
    warm_factor = get(ctx.work.status_real, StatusReal.WARM_FACTOR, w)
    match_cursor = find_pair_from(ctx.state, shape_pair_of(ctx.layout, ctx.state, c, w), match_cursor, w)
    whiten_contact(ctx, c, match_cursor, w)
    compute_contact_mass(ctx.layout, ctx.state, ctx.work, c, 0, w)
    match_contact(ctx, c, match_cursor, warm_factor, chord_scale, w)
    set_contact_targets(ctx, c, dt, w)
    return match_cursor


@wp.func
def whiten_contact(ctx: Context, c: int, first_before: int, w: int):
    """Whiten the rows of contact c in two halves, one per body. Where both bodies belong to one tree the shared
    ancestors are in the first half only: two halves that cancel would lose digits. first_before: of its shape pair
    among the previous contacts."""
    normal = item3(ctx.state.contacts.normal, VEC3 * c, w)
    t1, t2 = make_tangents(normal)
    put3(ctx.work.contact_tangents, 2 * c, w, t1)
    put3(ctx.work.contact_tangents, 2 * c + 1, w, t2)
    pair = material_pair_of(ctx.layout, ctx.state, c, w)
    x = item3(ctx.state.contacts.point, VEC3 * c, w)
    rows = int(BLOCK_ROWS)
    if ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.ROLLING_FRICTION] > real(
        0.0
    ) or ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.TORSIONAL_FRICTION] > real(0.0):
        rows = wp.static(CONTACT_IMPULSES)
    put_int(ctx.work.contact_row_count, c, w, rows)
    first = item_int(ctx.state.contacts.shape, 2 * c, w)
    second = item_int(ctx.state.contacts.shape, 2 * c + 1, w)
    a = ctx.layout.contact_model.geo.link[first]
    b = ctx.layout.contact_model.geo.link[second]
    arms = ContactArms()
    arms.normal = normal
    arms.t1 = t1
    arms.t2 = t2
    arms.a = a
    arms.ra = x - pivot_of(ctx.tree, ctx.here, a, w)
    arms.b = b
    arms.rb = x - pivot_of(ctx.tree, ctx.here, b, w)
    na = row_length_of(ctx.layout, a)
    nb = int(0)
    start = ctx.layout.contact_W_start + ctx.layout.contact_W_stride * c
    if has_belt(ctx.layout, ctx.state, c, w):
        belt_a = find_belt_motion(ctx.here, ctx.layout, first, normal, w)
        belt_b = find_belt_motion(ctx.here, ctx.layout, second, -normal, w)
        if belt_a.sprocket >= 0:
            na = ctx.layout.belt_row_length[first]
        nb = whiten_belt_contact(ctx, arms, belt_a, belt_b, make_row_block(start, na, 0, rows), w)
        put3(ctx.work.contact_arm, c, w, vec3())
    else:
        arms.drawn = friction_arm(ctx, c, first_before, normal, w)
        put3(ctx.work.contact_arm, c, w, arms.drawn)
        nb = row_length_of(ctx.layout, b) - row_length_of(ctx.layout, common_ancestor(ctx.tree, a, b))
        whiten_contact_pair(ctx, arms, make_row_block(start, na, nb, rows), w)
    store_contact_half(ctx, 2 * c, first, start, na, w)
    store_contact_half(ctx, 2 * c + 1, second, start + rows * na, nb, w)


@wp.func
def store_contact_half(ctx: Context, half: int, shape: int, start: int, length: int, w: int):
    """Store where the rows of one body's half are: start in W, entries a row, start of their coordinates in `index`,
    root of the tree."""
    put_int(ctx.work.contact_halves, Half.SIZE * half, w, start)
    put_int(ctx.work.contact_halves, Half.SIZE * half + Half.LENGTH, w, length)
    link = ctx.layout.contact_model.geo.link[shape]
    first = int(0)
    if ctx.layout.contact_model.sprocket[shape] >= 0:
        first = ctx.layout.belt_index_start[shape]
    elif link >= 0:
        first = ctx.layout.link_index_start[link]
    put_int(ctx.work.contact_halves, Half.SIZE * half + Half.INDEX_START, w, first)
    put_int(ctx.work.contact_trees, half, w, root_of_shape(ctx.layout, shape))


@wp.func
def row_length_of(layout: wp.ref[Layout], link: int):
    """Velocity coordinates between a link and its root; 0 for the world."""
    length = int(0)
    if link >= 0:
        length = layout.link_row_length[link]
    return length


@wp.func
def common_ancestor(tree: wp.ref[Tree], a: int, b: int):
    """Nearest common ancestor of two links; −1, the world, if there is none."""
    while a != b:
        if a > b:
            a = tree.parent[a]
        else:
            b = tree.parent[b]
    return a


@wp.func
def set_contact_targets(ctx: Context, c: int, dt: real, w: int):
    """Set the target velocities and friction coefficients of contact c: it may close its gap, no more. Static friction
    applies below MAX_STICK_SPEED."""
    pair = material_pair_of(ctx.layout, ctx.state, c, w)
    gap = item(ctx.state.contacts.gap, c, w)
    surface_velocity = vec3()
    side = int(0)
    while side < SIDES:
        s = item_int(ctx.state.contacts.shape, 2 * c + side, w)
        velocity = ctx.layout.contact_model.surface_velocity[s]
        if ctx.layout.contact_model.geo.link[s] >= 0:
            velocity = get33(ctx.here.R, ctx.layout.contact_model.geo.link[s], w) * velocity
        surface_velocity = surface_velocity + velocity * wp.where(side == 0, real(1.0), real(-1.0))
        side += 1
    normal, t1, t2 = contact_frame_of(ctx.state, ctx.work, c, w)
    put(ctx.work.contact_gap, c, w, gap)
    chord = get3(ctx.work.contact_chord, c, w)
    resting_gap = wp.where(
        get(ctx.work.p, ctx.layout.contact_p_start + CONTACT_IMPULSES * c, w) > real(0.0), MAX_RESTING_GAP, real(0.0)
    )
    put(ctx.work.contact_target, BLOCK_ROWS * c, w, -wp.max(gap - resting_gap, real(0.0)) / dt - chord[0])
    if ctx.layout.contact_model.has_restitution == 1:
        bounces = ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.RESTITUTION] > real(0.0)
        struck = wp.where(bounces and resting_gap == real(0.0), real(1.0), real(0.0))
        put(ctx.work.impact, Impact.SIZE * c + Impact.IS_STRUCK, w, struck)
    put(ctx.work.contact_target, BLOCK_ROWS * c + 1, w, wp.dot(surface_velocity, t1) - chord[1])
    put(ctx.work.contact_target, BLOCK_ROWS * c + 2, w, wp.dot(surface_velocity, t2) - chord[2])
    mu = ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.SLIDING_FRICTION]
    static = ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.STATIC_FRICTION]
    if static > mu:
        before = contact_velocity(ctx, c, 0, 0, ctx.work.z_before, w)
        slip = vec3(real(0.0), before[1] - wp.dot(surface_velocity, t1), before[2] - wp.dot(surface_velocity, t2))
        if wp.length(slip) < MAX_STICK_SPEED:
            mu = static
    put(ctx.work.contact_mu, Mu.SIZE * c, w, mu)
    put(
        ctx.work.contact_mu,
        Mu.SIZE * c + Mu.SPIN,
        w,
        ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.TORSIONAL_FRICTION],
    )
    put(
        ctx.work.contact_mu,
        Mu.SIZE * c + Mu.ROLL,
        w,
        ctx.layout.contact_model.material_pair_table[pair + MaterialProperty.ROLLING_FRICTION],
    )


@wp.func
def root_of_shape(layout: wp.ref[Layout], shape: int):
    """Root link of the tree that carries a shape; −1 for the world."""
    link = layout.contact_model.geo.link[shape]
    if link < 0:  # a belt round what is fixed moves its sprocket
        link = layout.contact_model.sprocket[shape]
    root = int(-1)
    if link >= 0:
        root = layout.link_root[link]
    return root
