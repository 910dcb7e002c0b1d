"""Contact reduction: at most MAX_PAIR_CONTACTS contacts of a pair, the deepest one and those farthest apart."""

from __future__ import annotations

import warp as wp

from sharnir.collision.shapes import ContactList, ContactPoint, WorldSphere, read_contact, write_contact
from sharnir.kernels.columns import get, get3
from sharnir.kernels.types import real, vec3

MAX_PAIR_CONTACTS = 8  # contacts of a pair, at most
REDUCTION_DEPTH_WEIGHT = wp.constant(real(4.0))  # weight of depth against distance from the middle
TOL_CLEARLY_DEEPER = wp.constant(real(1.0e-5))  # relative to the sphere's radius: gaps that differ by less are equal
TOL_SAME_CONTACT = wp.constant(real(1.0e-3))  # relative to the sphere's radius: contacts nearer to each other are one


@wp.func
def copy_contact(contacts: ContactList, source: int, target: int, w: int):
    """Copy contact `source` to `target`."""
    write_contact(contacts, target, read_contact(contacts, source, w), w)


@wp.func
def contact_dissimilarity(contacts: ContactList, k: int, normal: vec3, point: vec3, sphere: WorldSphere, w: int):
    """Squared distance (m²) of stored contact k from another: of positions, plus of normals times the sphere's
    radius."""
    d = get3(contacts.point, k, w) - point
    e = (get3(contacts.normal, k, w) - normal) * sphere.radius
    return wp.dot(d, d) + wp.dot(e, e)


@wp.func
def find_deepest(contacts: ContactList, first: int, n: int, w: int):
    """Index of the contact with the smallest gap among those from `first` to n."""
    best = int(first)
    k = int(first + 1)
    while k < n:
        if get(contacts.gap, k, w) < get(contacts.gap, best, w):
            best = k
        k += 1
    return best


@wp.func
def score_contact(contacts: ContactList, k: int, sphere: WorldSphere, w: int):
    """Score of a contact, m: distance from the sphere's center plus weighted depth; larger is kept."""
    return wp.length(get3(contacts.point, k, w) - sphere.center) - REDUCTION_DEPTH_WEIGHT * get(contacts.gap, k, w)


@wp.func
def find_least_useful(contacts: ContactList, first: int, n: int, sphere: WorldSphere, w: int):
    """Contact to drop: of the two most similar ones the one with the lower score, but never the deepest of all if it is
    clearly deeper than the other."""
    deepest_contact = find_deepest(contacts, first, n, w)
    tie = TOL_CLEARLY_DEEPER * sphere.radius
    worst = int(first)
    min_distance2 = real(1.0e30)
    i = int(first)
    while i < n:
        normal = get3(contacts.normal, i, w)
        point = get3(contacts.point, i, w)
        j = int(i + 1)
        while j < n:
            d = contact_dissimilarity(contacts, j, normal, point, sphere, w)
            if d < min_distance2:
                min_distance2 = d
                worst = j
                lower = get(contacts.gap, i, w) - get(contacts.gap, j, w)
                j_better = score_contact(contacts, i, sphere, w) < score_contact(contacts, j, sphere, w) and not (
                    i == deepest_contact and lower < -tie
                )
                if j_better or (j == deepest_contact and lower > tie):
                    worst = i
            j += 1
        i += 1
    return worst


@wp.func
def insert_contact(contacts: ContactList, first: int, n: int, contact: ContactPoint, sphere: WorldSphere, w: int):
    """Insert a contact into those from `first` to n, of which at most MAX_PAIR_CONTACTS are kept; returns the new n.
    There must be room for one more. Of duplicates the deeper one is kept."""
    k = int(first)
    duplicate = int(-1)
    while k < n and duplicate < 0:
        if (
            contact_dissimilarity(contacts, k, contact.normal, contact.point, sphere, w)
            < TOL_SAME_CONTACT * TOL_SAME_CONTACT * sphere.radius * sphere.radius
        ):
            duplicate = k
        k += 1
    if duplicate >= 0:
        if contact.gap < get(contacts.gap, duplicate, w):
            write_contact(contacts, duplicate, contact, w)
    else:
        write_contact(contacts, n, contact, w)
        n += 1
        if n - first > MAX_PAIR_CONTACTS:
            dropped = find_least_useful(contacts, first, n, sphere, w)
            n -= 1
            if dropped < n:
                copy_contact(contacts, n, dropped, w)
    return n
