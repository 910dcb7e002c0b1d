"""Solving one contact: normal, circular cone of friction, spin and rolling (M-56..M-58)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, STARTED, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P
from sharnir.impulse.rows.contact_frame import contact_count, contact_speed, normal_speed, push_contact, push_normal
from sharnir.impulse.solve.coulomb_cone import within_cone
from sharnir.kernels.columns import get, get3, get_int, put, put_int
from sharnir.kernels.types import array2, real, vec3


@wp.func
def rub_contact(plan: Plan, work: Work, c: int, held: int, old: vec3, z: array2, p: array2, w: int):
    """Within the cone: the change of impulses from the old ones."""
    at = plan.first_contact + CONTACT_P * c
    s = contact_speed(plan, work, c, 0, held, z, w) - get3(work.contact_target, c, w)
    new = within_cone(work.contact_K, CONTACT_K * c, get(work.contact_mu, 3 * c, w), old, s, w)
    d = new - old
    put(p, at, w, new[0])
    put(p, at + 1, w, new[1])
    put(p, at + 2, w, new[2])
    push_contact(plan, work, c, 0, held, d, z, w)
    return d


@wp.func
def sweep_contact(plan: Plan, work: Work, c: int, held: int, z: array2, p: array2, w: int):
    """Within the cone, then spin and rolling within what the normal impulse allows. Returns the largest change of an
    impulse, more where what it moves is light."""
    at = plan.first_contact + CONTACT_P * c
    d = rub_contact(plan, work, c, held, vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w)), z, p, w)
    worst = largest(d)
    if get_int(work.contact_rows, c, w) == 6:
        worst = wp.max(worst, largest(sweep_turning(plan, work, c, get(p, at, w), held, z, p, w)))
    return worst * get(work.contact_K, CONTACT_K * c + 15, w)


@wp.func
def largest(d: vec3):
    return wp.max(wp.max(wp.abs(d[0]), wp.abs(d[1])), wp.abs(d[2]))


@wp.func
def sweep_turning(plan: Plan, work: Work, c: int, normal: real, held: int, z: array2, p: array2, w: int):
    """Spin about the normal and rolling about the tangents, bounded by the normal impulse: the change of impulses."""
    at = plan.first_contact + CONTACT_P * c + 3
    old = vec3(get(p, at, w), get(p, at + 1, w), get(p, at + 2, w))
    new = turning_answer(work, c, normal, old, contact_speed(plan, work, c, 3, held, z, w), w)
    d = new - old
    put(p, at, w, new[0])
    put(p, at + 1, w, new[1])
    put(p, at + 2, w, new[2])
    push_contact(plan, work, c, 3, held, d, z, w)
    return d


@wp.func
def turning_answer(work: Work, c: int, normal: real, old: vec3, s: vec3, w: int):
    """Angular impulses of contact c that had `old` and turns by s, under a normal impulse."""
    most = get(work.contact_mu, 3 * c + 1, w) * normal
    spin = wp.clamp(old[0] - s[0] * get(work.contact_K, CONTACT_K * c + 13, w), -most, most)
    step = get(work.contact_K, CONTACT_K * c + 14, w)
    a = old[1] - s[1] * step
    b = old[2] - s[2] * step
    size = wp.sqrt(a * a + b * b)
    most = get(work.contact_mu, 3 * c + 2, w) * normal
    scale = real(1.0)
    if size > most:
        scale = most / size
    return vec3(spin, a * scale, b * scale)


@wp.func
def sweep_contacts(plan: Plan, work: Work, held: int, z: array2, p: array2, w: int):
    worst = real(0.0)
    c = int(0)
    while c < contact_count(work, w):
        change = sweep_contact(plan, work, c, held, z, p, w)
        put(work.contact_change, c, w, change)
        worst = wp.max(worst, change)
        c += 1
    return worst


@wp.func
def start_contacts(plan: Plan, work: Work, z: array2, w: int):
    """z += Wᵀ p of the impulses that contacts start a step with, once."""
    if get_int(work.flow, STARTED, w) == 0:
        apply_contacts(plan, work, z, work.p, w)
        put_int(work.flow, STARTED, w, 1)


@wp.func
def apply_contacts(plan: Plan, work: Work, z: array2, p: array2, w: int):
    """z += Wᵀ p of all contacts."""
    c = int(0)
    while c < contact_count(work, w):
        at = plan.first_contact + CONTACT_P * c
        row = int(0)
        while row < get_int(work.contact_rows, c, w):
            three = vec3(get(p, at + row, w), get(p, at + row + 1, w), get(p, at + row + 2, w))
            push_contact(plan, work, c, row, 0, three, z, w)
            row += 3
        c += 1


@wp.func
def sweep_normal(plan: Plan, work: Work, c: int, wanted: real, give: real, held: int, z: array2, p: array2, w: int):
    """The normal row of contact c alone, one-sided, to a speed; give: share of its weight by which it yields to its
    impulse."""
    at = plan.first_contact + CONTACT_P * c
    s = normal_speed(plan, work, c, held, z, w)
    before = get(p, at, w)
    inverse = get(work.contact_K, CONTACT_K * c + 9, w)
    after = wp.max((before + (wanted - s) * inverse) / (real(1.0) + give), real(0.0))
    if after != before:
        put(p, at, w, after)
        push_normal(plan, work, c, held, after - before, z, w)
    return wp.abs(after - before)
