"""Where contacts are at the end of a step: what their way has beyond the speed of their rows (M-60).

Rows are linear in velocities, a body carried round on an arc is not: a grasped object would creep outward by half of
(ω dt)² r a step. The difference, a speed called bend, is found from where the step leads; rows seek so much less.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot
from sharnir.dynamics.momenta import rotation_vector, turned_by
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import CAPSULE, CYLINDER, SPHERE
from sharnir.impulse.data import State, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.assembly import displaced
from sharnir.impulse.rows.belts import is_belt, run_of_belts
from sharnir.impulse.rows.contact_frame import contact_count, contact_speed, frame_of
from sharnir.kernels.columns import get, get3, get33, item3, item_int, put, put3
from sharnir.kernels.types import array2, column, real, vec3

SLIDING = wp.constant(real(0.999))  # of the friction there is
ALONG_AXIS = wp.constant(real(0.999))  # a cylinder stands on its flat end


@wp.func
def centre_of(tree: Tree, ws: Workspace, plan: Plan, shape: int, x: vec3, inward: vec3, off: real, w: int):
    """Centre of the curve on which a shape rolls at a point x, `off` outside its surface; x where it is flat."""
    kind = plan.surfaces.geo.kind[shape]
    centre = x
    if kind == SPHERE or kind == CAPSULE:
        centre = x + inward * (plan.surfaces.geo.size[shape][0] + off)
    elif kind == CYLINDER:
        link = plan.surfaces.geo.link[shape]
        R = plan.surfaces.geo.rot[shape]
        origin = plan.surfaces.geo.pos[shape]
        if link >= 0:
            B = get33(ws.R, link, w)
            origin = pivot(tree, ws, link, w) + get3(ws.x, link, w) + B * origin
            R = B * R
        axis = column(R, 2)
        if wp.abs(wp.dot(axis, inward)) < ALONG_AXIS:
            centre = origin + axis * wp.dot(x - origin, axis)
    return centre


@wp.func
def way_against(tree: Tree, ws: Workspace, a: int, b: int, x: vec3, centre: vec3, w: int):
    """How far the surface of link b at x goes against link a in the step whose displacements are in the workspace, in
    the axes of a: as its centre goes, and as it rolls about that."""
    Oa = pivot(tree, ws, a, w)
    Ob = pivot(tree, ws, b, w)
    apart = displaced(tree, ws, b, centre - Ob, w) + Ob - displaced(tree, ws, a, centre - Oa, w) - Oa
    ua = vec3()
    sa = real(1.0)
    if a >= 0:
        ua = -get3(ws.Qu, a, w)
        sa = get(ws.Qs, a, w)
    way = apart + turned_by(ua, sa, apart)
    arm = x - centre
    if wp.dot(arm, arm) > real(0.0):
        ub = vec3()
        sb = real(1.0)
        if b >= 0:
            ub = get3(ws.Qu, b, w)
            sb = get(ws.Qs, b, w)
        turn = rotation_vector(ub * sa + ua * sb + wp.cross(ua, ub), sa * sb - wp.dot(ua, ub))
        way = way + wp.cross(turn, arm)
    return way


@wp.func
def bend_contact(tree: Tree, ws: Workspace, plan: Plan, state: State, work: Work, c: int, z: array2, dt: real, w: int):
    """Bend of contact c in the step whose displacements are in the workspace, the speeds its rows then seek, and how
    far its end was missed, where it bears."""
    normal, t1, t2 = frame_of(state, work, c, w)
    x = item3(state.touch.point, 3 * c, w)
    off = real(0.5) * get(work.contact_gap, c, w)
    first = item_int(state.touch.shape, 2 * c, w)
    second = item_int(state.touch.shape, 2 * c + 1, w)
    a = plan.surfaces.geo.link[first]
    b = plan.surfaces.geo.link[second]
    centre = centre_of(tree, ws, plan, second, x, normal, off, w)
    sign = real(1.0)
    if wp.length_sq(centre - x) == real(0.0):  # the second is flat: seen from there the first rolls
        centre = centre_of(tree, ws, plan, first, x, -normal, off, w)
        link = a
        a = b
        b = link
        sign = real(-1.0)
    way = way_against(tree, ws, a, b, x, centre, w) * (sign / dt)
    if is_belt(plan, state, c, w):
        way = way + run_of_belts(ws, plan, state, c, normal, w) / dt
    s = contact_speed(plan, work, c, 0, 0, z, w)
    bend = vec3(wp.dot(way, normal), wp.dot(way, t1), wp.dot(way, t2)) - s
    change = bend - get3(work.contact_bend, c, w)
    put3(work.contact_bend, c, w, bend)
    k = int(0)
    while k < 3:
        put(work.contact_target, 3 * c + k, w, get(work.contact_target, 3 * c + k, w) - change[k])
        k += 1
    at = plan.first_contact + CONTACT_P * c
    missed = real(0.0)
    if get(work.p, at, w) > real(0.0):
        most = SLIDING * get(work.contact_mu, 3 * c, w) * get(work.p, at, w)
        rub = vec3(real(0.0), get(work.p, at + 1, w), get(work.p, at + 2, w))
        if wp.length_sq(rub) > most * most:  # it slides: where to across the normal does not matter
            change = vec3(change[0], real(0.0), real(0.0))
        missed = dt * wp.length(change)
    put(work.contact_missed, c, w, missed)


@wp.func
def most_missed(work: Work, w: int):
    """How far the end of a contact that bears was missed, at most."""
    worst = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        worst = wp.max(worst, get(work.contact_missed, c, w))
        c += 1
    return worst
