"""Rows of contacts: what two bodies do to each other where they touch (M-54..M-58).

A contact has a normal row, two tangents and, where materials ask for it, spin about the normal and rolling about the
tangents. Each row is two halves, one per body, whitened over the ancestors of that body; the world has none.
"""

from __future__ import annotations

import warp as wp

from sharnir.collide.touching import (
    PROPERTIES,
    RESTITUTION,
    ROLLING,
    SLIDING,
    SPINNING,
    STATIC,
    THRESHOLD,
    find_rounds,
    store_touching,
)
from sharnir.constraints.plan import CONTACT_P, Plan
from sharnir.constraints.tolerances import NOTHING, REDUNDANT
from sharnir.constraints.walks import put_wrenches, walk_rows
from sharnir.constraints.work import CONTACT_K, TOUCHING, State, Work
from sharnir.dynamics.forces import pivot
from sharnir.dynamics.momenta import link_velocities, whitened_momentum
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.maths import (
    array2,
    get,
    get3,
    get33,
    get_int,
    item,
    item3,
    item_int,
    mat33,
    put,
    put3,
    put_int,
    real,
    row_product,
    set_item,
    set_item3,
    set_item_int,
    three_add,
    three_dot,
    vec3,
)

CLOSED_GAP = wp.constant(real(1.0e-6))  # m
STICKING = wp.constant(real(1.0e-4))  # m/s, slower than this does not count as sliding


@wp.func
def contact_count(work: Work, w: int):
    """How many points there are rows for."""
    return get_int(work.touching, 0, w)


@wp.func
def tangents(normal: vec3):
    """Two unit vectors across the normal."""
    side = vec3(real(0.0), real(1.0), real(0.0))
    if wp.abs(normal[1]) > real(0.9):
        side = vec3(real(0.0), real(0.0), real(1.0))
    t1 = wp.normalize(wp.cross(side, normal))
    return t1, wp.cross(normal, t1)


@wp.func
def properties_of(plan: Plan, state: State, c: int, w: int):
    """Where the table has the pair of materials that meet in contact c."""
    a = plan.surfaces.material[item_int(state.touch.shape, 2 * c, w)]
    b = plan.surfaces.material[item_int(state.touch.shape, 2 * c + 1, w)]
    return (a * plan.surfaces.materials + b) * PROPERTIES


@wp.func
def frame_of(state: State, work: Work, c: int, w: int):
    """Normal and tangents of contact c."""
    return item3(state.touch.normal, 3 * c, w), get3(work.contact_side, 2 * c, w), get3(work.contact_side, 2 * c + 1, w)


@wp.func
def prepare_contacts(
    tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work,
    scale: real, dt: real, w: int,
):  # fmt: skip
    """Points that were found to touch or that may touch within the step: rows, blocks, speeds sought, and impulses to
    start from, those of the step before times `scale`."""
    put_int(work.touching, 0, w, 0)
    if plan.surfaces.any == 1:
        if plan.surfaces.rounds == 1:
            link_velocities(tree, ws, state.v, w)
            store_touching(work.places, state.touch, find_rounds(tree, ws, plan.surfaces, work.places, dt, w), w)
        if plan.surfaces.looks_back == 1:
            momenta_before(tree, ws, state, work, w)
        count = item_int(state.touch.count, 0, w)
        put_int(work.touching, 0, w, count)
        set_item(state.report, TOUCHING, w, real(item_int(state.touch.count, 1, w)))
        used = int(plan.contact_space)
        last = int(0)  # place among the contacts of the step before
        c = int(0)
        while c < count:
            used = whiten_contact(tree, ws, plan, state, work, c, used, w)
            block_of_contact(plan, work, c, 0, w)
            seek_contact(ws, plan, state, work, c, ws.z, dt, w)
            last = recall_contact(plan, state, work, c, last, scale, w)
            c += 1


@wp.func
def whiten_contact(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, used: int, w: int):
    """Both halves of the rows of contact c, from place `used` of W on; returns the place after them."""
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
    side = int(0)
    while side < 2:
        link = plan.surfaces.geo.link[item_int(state.touch.shape, 2 * c + side, w)]
        length = int(0)
        first = int(0)
        if link >= 0:
            length = plan.link_length[link]
            first = plan.link_first[link]
            sign = wp.where(side == 0, real(-1.0), real(1.0))
            r = x - pivot(tree, ws, link, w)
            none = vec3()
            put_wrenches(work.wrench, 0, rows, normal * sign, wp.cross(r, normal) * sign, none, none, w)
            put_wrenches(work.wrench, 1, rows, t1 * sign, wp.cross(r, t1) * sign, none, none, w)
            put_wrenches(work.wrench, 2, rows, t2 * sign, wp.cross(r, t2) * sign, none, none, w)
            if rows == 6:
                put_wrenches(work.wrench, 3, rows, none, normal * sign, none, none, w)
                put_wrenches(work.wrench, 4, rows, none, t1 * sign, none, none, w)
                put_wrenches(work.wrench, 5, rows, none, t2 * sign, none, none, w)
            walk_rows(tree, ws, work.wrench, link, -1, work.W, used, length, rows, w)
        at = 6 * c + 3 * side
        put_int(work.contact_at, at, w, used)
        put_int(work.contact_at, at + 1, w, length)
        put_int(work.contact_at, at + 2, w, first)
        used = used + rows * length
        side += 1
    return used


@wp.func
def contact_speed(plan: Plan, work: Work, c: int, row: int, held: int, z: array2, w: int):
    """Speeds of three rows of contact c from `row` on: what the second body has against the first."""
    s = vec3()
    if held == 1:
        o = plan.lines + CONTACT_P * c + row
        start = plan.dense_contact + (CONTACT_P * c + row) * plan.width
        s = three_dot(work.W, start, plan.width, plan.index, plan.every, z, w)
        s = s + vec3(get(work.offset, o, w), get(work.offset, o + 1, w), get(work.offset, o + 2, w))
    else:
        at = 6 * c
        side = int(0)
        while side < 2:
            length = get_int(work.contact_at, at + 1, w)
            if length > 0:
                start = get_int(work.contact_at, at, w) + row * length
                s = s + three_dot(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), z, w)
            at += 3
            side += 1
    return s


@wp.func
def push_contact(plan: Plan, work: Work, c: int, row: int, held: int, p: vec3, z: array2, w: int):
    """z += Wᵀ p of three rows of contact c from `row` on."""
    if held == 1:
        start = plan.dense_contact + (CONTACT_P * c + row) * plan.width
        three_add(work.W, start, plan.width, plan.index, plan.every, p, z, w)
    else:
        at = 6 * c
        side = int(0)
        while side < 2:
            length = get_int(work.contact_at, at + 1, w)
            if length > 0:
                start = get_int(work.contact_at, at, w) + row * length
                three_add(work.W, start, length, plan.index, get_int(work.contact_at, at + 2, w), p, z, w)
            at += 3
            side += 1


@wp.func
def row_block(plan: Plan, work: Work, c: int, i: int, j: int, held: int, w: int):
    """W_i·W_j of two rows of contact c."""
    total = real(0.0)
    if held == 1:
        start = plan.dense_contact + CONTACT_P * c * plan.width
        total = row_product(work.W, start + i * plan.width, start + j * plan.width, plan.width, w)
    else:
        a = get_int(work.contact_at, 6 * c, w)
        na = get_int(work.contact_at, 6 * c + 1, w)
        b = get_int(work.contact_at, 6 * c + 3, w)
        nb = get_int(work.contact_at, 6 * c + 4, w)
        total = row_product(work.W, a + i * na, a + j * na, na, w) + row_product(work.W, b + i * nb, b + j * nb, nb, w)
    return total


@wp.func
def block_of_contact(plan: Plan, work: Work, c: int, held: int, w: int):
    """What the solve of contact c needs of its block W Wᵀ."""
    nn = row_block(plan, work, c, 0, 0, held, w)
    tt = row_block(plan, work, c, 1, 1, held, w)
    ss = row_block(plan, work, c, 2, 2, held, w)
    nt = row_block(plan, work, c, 0, 1, held, w)
    ns = row_block(plan, work, c, 0, 2, held, w)
    ts = row_block(plan, work, c, 1, 2, held, w)
    if held == 0:
        shared = shared_block(plan, work, c, w)
        nn = nn + real(2.0) * shared[0, 0]
        tt = tt + real(2.0) * shared[1, 1]
        ss = ss + real(2.0) * shared[2, 2]
        nt = nt + shared[0, 1] + shared[1, 0]
        ns = ns + shared[0, 2] + shared[2, 0]
        ts = ts + shared[1, 2] + shared[2, 1]
    K = mat33(nn, nt, ns, nt, tt, ts, ns, ts, ss)
    inverse = mat33()
    if wp.determinant(K) > REDUNDANT * nn * tt * ss:
        inverse = wp.inverse(K)
    at = CONTACT_K * c
    i = int(0)
    while i < 9:
        put(work.contact_K, at + i, w, inverse[i / 3, i % 3])
        i += 1
    put(work.contact_K, at + 9, w, inverse_of(nn))
    put(work.contact_K, at + 10, w, inverse_of(largest_of(tt, ts, ss)))
    put(work.contact_K, at + 11, w, nt)
    put(work.contact_K, at + 12, w, ns)
    if get_int(work.contact_rows, c, w) == 6:
        # half of a shared ancestor's part is left out: the step is then shorter than it could be, never too long
        spin = row_block(plan, work, c, 3, 3, held, w)
        tt = row_block(plan, work, c, 4, 4, held, w)
        ss = row_block(plan, work, c, 5, 5, held, w)
        ts = row_block(plan, work, c, 4, 5, held, w)
        twice = wp.where(held == 0 and shares(plan, work, c, w), real(2.0), real(1.0))
        put(work.contact_K, at + 13, w, inverse_of(twice * spin))
        put(work.contact_K, at + 14, w, inverse_of(twice * largest_of(tt, ts, ss)))


@wp.func
def inverse_of(weight: real):
    return wp.where(weight > NOTHING, real(1.0) / weight, real(0.0))


@wp.func
def largest_of(a: real, b: real, c: real):
    """Largest eigenvalue of [a b; b c]."""
    spread = real(0.5) * (a - c)
    return real(0.5) * (a + c) + wp.sqrt(spread * spread + b * b)


@wp.func
def shares(plan: Plan, work: Work, c: int, w: int):
    """Whether both bodies of a contact belong to one tree: the last entries of their halves are then the same."""
    na = get_int(work.contact_at, 6 * c + 1, w)
    nb = get_int(work.contact_at, 6 * c + 4, w)
    same = bool(False)
    if na > 0 and nb > 0:
        a = plan.index[get_int(work.contact_at, 6 * c + 2, w) + na - 1]
        same = a == plan.index[get_int(work.contact_at, 6 * c + 5, w) + nb - 1]
    return same


@wp.func
def shared_block(plan: Plan, work: Work, c: int, w: int):
    """Products of the rows of one half with those of the other over the ancestors both bodies have."""
    out = mat33()
    if shares(plan, work, c, w):
        at = 6 * c
        na = get_int(work.contact_at, at + 1, w)
        nb = get_int(work.contact_at, at + 4, w)
        fa = get_int(work.contact_at, at + 2, w) + na
        fb = get_int(work.contact_at, at + 5, w) + nb
        k = int(0)
        while k < wp.min(na, nb) and plan.index[fa - k - 1] == plan.index[fb - k - 1]:
            k += 1
        i = int(0)
        while i < 3:
            a = get_int(work.contact_at, at, w) + (i + 1) * na - k
            j = int(0)
            while j < 3:
                b = get_int(work.contact_at, at + 3, w) + (j + 1) * nb - k
                out[i, j] = row_product(work.W, a, b, k, w)
                j += 1
            i += 1
    return out


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
    put(work.contact_target, 3 * c, w, -wp.max(gap, real(0.0)) / dt)
    put(work.contact_target, 3 * c + 1, w, wp.dot(drift, t1))
    put(work.contact_target, 3 * c + 2, w, wp.dot(drift, t2))
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
def pair_of(plan: Plan, state: State, c: int, w: int):
    """A number for the two shapes of contact c, growing with c."""
    return item_int(state.touch.shape, 2 * c, w) * plan.surfaces.geo.count + item_int(state.touch.shape, 2 * c + 1, w)


@wp.func
def only_closed(work: Work, w: int):
    """Contacts with a gap do not act now."""
    c = int(0)
    while c < contact_count(work, w):
        if get(work.contact_gap, c, w) > CLOSED_GAP:
            put(work.contact_target, 3 * c, w, real(-wp.inf))
        c += 1


@wp.func
def recall_contact(plan: Plan, state: State, work: Work, c: int, last: int, scale: real, w: int):
    """Impulses of contact c ← those the same features had in the step before, from place `last` of its contacts on,
    which are in the same order; returns the place of this pair."""
    pair = pair_of(plan, state, c, w)
    feature = item_int(state.touch.feature, c, w)
    count = item_int(state.touched, 0, w)
    while last < count and item_int(state.touched, 1 + 2 * last, w) < pair:
        last += 1
    f = vec3()
    n = vec3()
    k = int(last)
    while k < count and item_int(state.touched, 1 + 2 * k, w) == pair:
        if item_int(state.touched, 2 + 2 * k, w) == feature:
            f = item3(state.touched_p, 6 * k, w) * scale
            n = item3(state.touched_p, 6 * k + 3, w) * scale
            k = count
        k += 1
    normal, t1, t2 = frame_of(state, work, c, w)
    at = plan.first_contact + CONTACT_P * c
    put(work.p, at, w, wp.max(wp.dot(f, normal), real(0.0)))
    put(work.p, at + 1, w, wp.dot(f, t1))
    put(work.p, at + 2, w, wp.dot(f, t2))
    put(work.p, at + 3, w, wp.dot(n, normal))
    put(work.p, at + 4, w, wp.dot(n, t1))
    put(work.p, at + 5, w, wp.dot(n, t2))
    return last


@wp.func
def keep_contacts(plan: Plan, state: State, work: Work, w: int):
    """Impulses of the contacts, for the step to come."""
    count = contact_count(work, w)
    set_item_int(state.touched, 0, w, count)
    c = int(0)
    while c < count:
        set_item_int(state.touched, 1 + 2 * c, w, pair_of(plan, state, c, w))
        set_item_int(state.touched, 2 + 2 * c, w, item_int(state.touch.feature, c, w))
        f, n = impulse_of_contact(plan, state, work, c, w)
        set_item3(state.touched_p, 6 * c, w, f)
        set_item3(state.touched_p, 6 * c + 3, w, n)
        set_item3(state.touched_at, 7 * c, w, item3(state.touch.point, 3 * c, w))
        set_item3(state.touched_at, 7 * c + 3, w, item3(state.touch.normal, 3 * c, w))
        set_item(state.touched_at, 7 * c + 6, w, item(state.touch.gap, c, w))
        c += 1


@wp.func
def impulse_of_contact(plan: Plan, state: State, work: Work, c: int, w: int):
    """Impulse and angular impulse on the second body, world axes."""
    normal, t1, t2 = frame_of(state, work, c, w)
    at = plan.first_contact + CONTACT_P * c
    f = normal * get(work.p, at, w) + t1 * get(work.p, at + 1, w) + t2 * get(work.p, at + 2, w)
    n = normal * get(work.p, at + 3, w) + t1 * get(work.p, at + 4, w) + t2 * get(work.p, at + 5, w)
    return f, n


@wp.func
def bounces(work: Work, w: int):
    """1 if anything is about to bounce."""
    any = int(0)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.bounce, c, w) > real(0.0):
            any = 1
        c += 1
    return any


@wp.func
def momenta_before(tree: Tree, ws: Workspace, state: State, work: Work, w: int):
    """zv: of the momenta before the forces of this step."""
    i = int(0)
    while i < tree.links:
        put3(ws.C, 2 * i, w, item3(state.P, 6 * i, w))
        put3(ws.C, 2 * i + 1, w, item3(state.P, 6 * i + 3, w))
        i += 1
    d = int(0)
    while d < tree.dof[tree.links]:
        set_item(state.v_next, d, w, tree.armature[d] * item(state.v, d, w))
        d += 1
    whitened_momentum(tree, ws, state.v_next, work.zv, w)


@wp.func
def beyond_impact(plan: Plan, work: Work, c: int, w: int):
    """What the speed of contact c in the step has beyond the one right after an impact: half of the step's forces, and
    the way from tangent to chord momenta."""
    bend = contact_speed(plan, work, c, 0, 0, work.base, w) - contact_speed(plan, work, c, 0, 0, work.zP, w)
    return get3(work.contact_kick, c, w) + bend


@wp.func
def impact_work(plan: Plan, work: Work, z: array2, w: int):
    """Σ p·s of bouncing contacts (J), with the speeds s after and before the impact; half the sum of both is the energy
    that the impacts add."""
    after = real(0.0)
    before = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        if get(work.bounce, c, w) > real(0.0):
            at = plan.first_contact + CONTACT_P * c
            p = vec3(get(work.p, at, w), get(work.p, at + 1, w), get(work.p, at + 2, w))
            after = after + wp.dot(p, contact_speed(plan, work, c, 0, 0, z, w) - beyond_impact(plan, work, c, w))
            before = before + wp.dot(p, get3(work.contact_now, c, w))
        c += 1
    return after, before


@wp.func
def aim_bounces(plan: Plan, work: Work, share: real, dt: real, w: int):
    """Let what bounces leave with a share of its speed."""
    c = int(0)
    while c < contact_count(work, w):
        bounce = get(work.bounce, c, w)
        if bounce > real(0.0):
            beyond = beyond_impact(plan, work, c, w)
            closing = -wp.max(get(work.contact_gap, c, w), real(0.0)) / dt
            put(work.contact_target, 3 * c, w, wp.max(share * bounce + beyond[0], closing))
        c += 1
