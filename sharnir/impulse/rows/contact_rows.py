"""Rows of contacts: what two bodies do to each other where they touch (M-54..M-58).

A contact has a normal row, two tangents and, where materials ask for it, spin about the normal and rolling about the
tangents.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.pipeline import (
    RESTITUTION,
    ROLLING,
    SLIDING,
    SPINNING,
    STATIC,
    THRESHOLD,
    find_rounds,
    store_touching,
)
from sharnir.dynamics.forces import pivot
from sharnir.dynamics.momenta import link_velocities
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.data import TOUCHING, State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.belts import is_belt, pull_of, walk_belts
from sharnir.impulse.rows.contact_frame import contact_speed, frame_of, properties_of, tangents
from sharnir.impulse.rows.contact_mass import block_of_contact
from sharnir.impulse.rows.contact_matching import recall_contact
from sharnir.impulse.rows.whitened_rows import walk_contact
from sharnir.kernels.columns import get, get3, get33, item, item3, item_int, put, put3, put_int, set_item
from sharnir.kernels.types import array2, real, vec3

TOUCHES = wp.constant(real(1.0e-6))  # m: wider gaps are closed; points that bear and are nearer stay as they are
STICKING = wp.constant(real(1.0e-4))  # m/s, slower than this does not count as sliding


@wp.func
def find_contacts(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, dt: real, w: int):
    """Points that touch or may touch within the step, unless a kernel of its own has found them."""
    if plan.finds == 1:
        link_velocities(tree, ws, state.v, w)
        store_touching(work.places, state.touch, find_rounds(tree, ws, plan.surfaces, work.places, dt, w), w)


@wp.func
def touching_count(plan: Plan, state: State, w: int):
    """How many points were found to touch or may touch within the step."""
    count = int(0)
    if plan.surfaces.any == 1:
        count = item_int(state.touch.count, 0, w)
    return count


@wp.func
def count_contacts(plan: Plan, state: State, work: Work, w: int):
    """From here on there are rows for all of them."""
    put_int(work.touching, 0, w, touching_count(plan, state, w))
    if plan.surfaces.any == 1:
        set_item(state.report, TOUCHING, w, real(item_int(state.touch.count, 1, w)))


@wp.func
def prepare_contact(
    tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, last: int, scale: real, bend: real,
    dt: real, w: int,
):  # fmt: skip
    """Rows, block and speeds sought of contact c, and impulses to start from, those of the step before times `scale`;
    its bends times `bend` are expected. last, and returned: see `recall_contact`."""
    whiten_contact(tree, ws, plan, state, work, c, w)
    block_of_contact(plan, state, work, c, 0, w)
    last = recall_contact(plan, state, work, c, last, scale, bend, w)
    seek_contact(ws, plan, state, work, c, ws.z, dt, w)
    return last


@wp.func
def whiten_contact(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, w: int):
    """Both halves of the rows of contact c. Where both bodies belong to one tree, what they share is in the first half:
    rows of halves that cancel would lose their digits."""
    normal = item3(state.touch.normal, 3 * c, w)
    t1, t2 = tangents(normal)
    put3(work.contact_side, 2 * c, w, t1)
    put3(work.contact_side, 2 * c + 1, w, t2)
    pair = properties_of(plan, state, c, w)
    x = item3(state.touch.point, 3 * c, w)
    rows = int(3)
    if plan.surfaces.table[pair + ROLLING] > real(0.0) or plan.surfaces.table[pair + SPINNING] > real(0.0):
        rows = 6
    put_int(work.contact_rows, c, w, rows)
    first = item_int(state.touch.shape, 2 * c, w)
    second = item_int(state.touch.shape, 2 * c + 1, w)
    a = plan.surfaces.geo.link[first]
    b = plan.surfaces.geo.link[second]
    ra = x - pivot(tree, ws, a, w)
    rb = x - pivot(tree, ws, b, w)
    na = length_of_walk(plan, a)
    nb = int(0)
    start = plan.contact_space + plan.contact_stride * c
    if is_belt(plan, state, c, w):
        pull_a = pull_of(ws, plan, first, normal, w)
        pull_b = pull_of(ws, plan, second, -normal, w)
        if pull_a.sprocket >= 0:
            na = plan.belt_length[first]
        nb = walk_belts(tree, ws, normal, t1, t2, a, ra, b, rb, pull_a, pull_b, work.W, start, na, rows, w)
    else:
        nb = length_of_walk(plan, b) - length_of_walk(plan, meeting(tree, a, b))
        walk_contact(tree, ws, normal, t1, t2, a, ra, b, rb, work.W, start, na, nb, rows, w)
    put_half(plan, work, 2 * c, first, start, na, w)
    put_half(plan, work, 2 * c + 1, second, start + rows * na, nb, w)


@wp.func
def put_half(plan: Plan, work: Work, half: int, shape: int, start: int, length: int, w: int):
    put_int(work.contact_at, 3 * half, w, start)
    put_int(work.contact_at, 3 * half + 1, w, length)
    link = plan.surfaces.geo.link[shape]
    first = int(0)
    if plan.surfaces.sprocket[shape] >= 0:
        first = plan.belt_first[shape]
    elif link >= 0:
        first = plan.link_first[link]
    put_int(work.contact_at, 3 * half + 2, w, first)
    put_int(work.contact_root, half, w, root_of_shape(plan, shape))


@wp.func
def length_of_walk(plan: Plan, link: int):
    """Entries of a walk from a link to its root; 0 for the world."""
    length = int(0)
    if link >= 0:
        length = plan.link_length[link]
    return length


@wp.func
def meeting(tree: Tree, a: int, b: int):
    """The link, or the world, −1, that walks up from two links meet in."""
    while a != b:
        if a > b:
            a = tree.parent[a]
        else:
            b = tree.parent[b]
    return a


@wp.func
def seek_contact(
    ws: Workspace, plan: Plan, state: State, work: Work, c: int, free: array2,
    dt: real, w: int,
):  # fmt: skip
    """Speeds sought of contact c and its coefficients. A point that would be reached in this step, `free` of impulses,
    and that comes faster than the threshold, leaves with −k_r of its present speed (M-58), halfway between those before
    and after the forces of the step; another one may close its gap, no more."""
    pair = properties_of(plan, state, c, w)
    gap = item(state.touch.gap, c, w)
    bounce = real(0.0)
    e = plan.surfaces.table[pair + RESTITUTION]
    if e > real(0.0):
        before = contact_speed(plan, work, c, 0, 0, work.zv, w)
        ahead = contact_speed(plan, work, c, 0, 0, free, w)
        now = (before + ahead) * real(0.5)
        if now[0] < -plan.surfaces.table[pair + THRESHOLD] and gap + dt * ahead[0] < real(0.0):
            bounce = -e * now[0]
        put3(work.contact_now, c, w, now)
        put3(work.contact_kick, c, w, ahead - now)
    drift = vec3()
    side = int(0)
    while side < 2:
        s = item_int(state.touch.shape, 2 * c + side, w)
        velocity = plan.surfaces.drift[s]
        if plan.surfaces.geo.link[s] >= 0:
            velocity = get33(ws.R, plan.surfaces.geo.link[s], w) * velocity
        drift = drift + velocity * wp.where(side == 0, real(1.0), real(-1.0))
        side += 1
    normal, t1, t2 = frame_of(state, work, c, w)
    put(work.contact_gap, c, w, gap)
    put(work.bounce, c, w, bounce)
    bend = get3(work.contact_bend, c, w)
    close = wp.where(get(work.p, plan.first_contact + CONTACT_P * c, w) > real(0.0), TOUCHES, real(0.0))
    put(work.contact_target, 3 * c, w, -wp.max(gap - close, real(0.0)) / dt - bend[0])
    put(work.contact_target, 3 * c + 1, w, wp.dot(drift, t1) - bend[1])
    put(work.contact_target, 3 * c + 2, w, wp.dot(drift, t2) - bend[2])
    mu = plan.surfaces.table[pair + SLIDING]
    static = plan.surfaces.table[pair + STATIC]
    if static > mu:
        before = contact_speed(plan, work, c, 0, 0, work.zv, w)
        slip = vec3(real(0.0), before[1] - wp.dot(drift, t1), before[2] - wp.dot(drift, t2))
        if wp.length(slip) < STICKING:
            mu = static
    put(work.contact_mu, 3 * c, w, mu)
    put(work.contact_mu, 3 * c + 1, w, plan.surfaces.table[pair + SPINNING])
    put(work.contact_mu, 3 * c + 2, w, plan.surfaces.table[pair + ROLLING])


@wp.func
def root_of_shape(plan: Plan, shape: int):
    """Root link of the tree of the body of a shape; −1 for the world."""
    link = plan.surfaces.geo.link[shape]
    if link < 0:  # a belt round what is fixed moves its sprocket
        link = plan.surfaces.sprocket[shape]
    root = int(-1)
    if link >= 0:
        root = plan.link_root[link]
    return root
