"""Support polygon of a robot, centre of pressure, and distances of points to the polygon's edge. All seen from above: z
is up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.errors import unknown
from sharnir.rotations import Array

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


MAX_SUPPORT_GAP = 1e-4  # m: largest gap of a contact that counts as support
MIN_SUPPORT_COSINE = 0.5  # least cosine between the vertical and the normal of a supporting contact


def support_polygon(sim: Simulation, feet: Sequence[str]) -> Array:
    """[n, 2] m, corners of the smallest convex polygon about the points where something below touched the feet, bodies
    by name, in the last step, counter-clockwise; fewer than three where they stand on a line or a point, none in the
    air."""
    points, _ = find_support_points(sim, feet)
    return convex_hull_2d(points[:, :2]) if len(points) > 2 else points[:, :2]


def center_of_pressure(sim: Simulation, feet: Sequence[str]) -> Array | None:
    """[2] m, mean of the points that bore the feet in the last step, weighted by their loads; None if nothing did."""
    points, loads = find_support_points(sim, feet)
    return np.asarray(loads @ points[:, :2] / loads.sum()) if loads.sum() > 0 else None


def find_support_points(sim: Simulation, feet: Sequence[str]) -> tuple[Array, Array]:
    """Points [n, 3] (m) where other bodies touch the feet from below, and their upward forces [n] (N)."""
    for foot in feet:
        if foot not in sim.model.body_names:
            raise unknown("body", foot, sim.model.body_names)
    points, loads = [], []
    for contact in sim.contacts():
        first, second = (body in feet for body in contact.bodies)
        sign = 1.0 if second else -1.0
        load = sign * float(contact.force[2])
        if (
            first != second
            and sign * contact.normal[2] > MIN_SUPPORT_COSINE
            and (load > 0 or contact.gap <= MAX_SUPPORT_GAP)
        ):
            points.append(contact.point)
            loads.append(max(load, 0.0))
    return np.array(points).reshape(-1, 3), np.array(loads)


def center_of_mass(sim: Simulation, shares: Array) -> Array:
    """[3] m, of links by their shares [nb] of the mass in question."""
    used = np.flatnonzero(shares)
    position = sim.seen("position").reshape(-1, 3)[used]
    return np.asarray(shares[used] @ (position + _com_offsets(sim, used)))


def center_of_mass_velocity(sim: Simulation, shares: Array) -> Array:
    """[3] m/s, of the centre of mass of links by their shares [nb] of the mass in question."""
    used = np.flatnonzero(shares)
    velocity = sim.seen("velocity").reshape(-1, 6)[used]
    return np.asarray(shares[used] @ (velocity[:, :3] + np.cross(velocity[:, 3:], _com_offsets(sim, used))))


def _com_offsets(sim: Simulation, links: Any) -> Array:
    """[n, 3] m, from the origins of bodies' frames to their centres of mass, world axes."""
    m = sim.inner
    R = sim.seen("rotation").reshape(-1, 3, 3)[links] @ m.body_rot[links].transpose(0, 2, 1)
    return np.einsum("kij,kj->ki", R, m.com[links] - m.body_pos[links])


def distance_inside(polygon: Array, point: Array) -> float:
    """m, from a point [2] inside a convex polygon to its nearest edge; outside, minus the distance to the polygon."""
    if len(polygon) < 3:
        return -float(np.linalg.norm(point[:2] - nearest_on_edges(polygon, point))) if len(polygon) else -np.inf
    starts, edges = polygon, np.roll(polygon, -1, axis=0) - polygon
    inward = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    least = float(np.einsum("ij,ij->i", inward, point[:2] - starts).min())
    return least if least >= 0 else -float(np.linalg.norm(point[:2] - nearest_on_edges(polygon, point)))


def nearest_on_edges(polygon: Array, point: Array) -> Array:
    """[2] the point of a polygon's edges nearest to one."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    squares = np.maximum(np.einsum("ij,ij->i", edges, edges), np.finfo(float).tiny)
    share = np.clip(np.einsum("ij,ij->i", edges, point[:2] - polygon) / squares, 0.0, 1.0)
    candidates = polygon + share[:, None] * edges
    return np.asarray(candidates[int(np.argmin(np.linalg.norm(candidates - point[:2], axis=1)))])


def centroid(polygon: Array) -> Array:
    """[2] the centroid of a polygon's area; of fewer than three corners, their mean."""
    if len(polygon) < 3:
        return np.asarray(polygon.mean(axis=0))
    following = np.roll(polygon, -1, axis=0)
    areas = polygon[:, 0] * following[:, 1] - following[:, 0] * polygon[:, 1]
    return np.asarray(areas @ (polygon + following) / (3 * areas.sum()))


def move_inside(polygon: Array, point: Array, margin: float) -> Array:
    """[2] a point moved straight towards the centroid as far as needed to be `margin` (m) inside the polygon; the
    centroid where no point is."""
    point, center = np.asarray(point, dtype=float)[:2], centroid(polygon)
    largest = distance_inside(polygon, center)
    if largest <= margin:
        return center
    low, high = 0.0, 1.0  # share of the way from the middle
    if distance_inside(polygon, point) >= margin:
        return point
    for _ in range(50):
        half = 0.5 * (low + high)
        low, high = (
            (half, high) if distance_inside(polygon, center + half * (point - center)) >= margin else (low, half)
        )
    return np.asarray(center + low * (point - center))


def convex_hull_2d(points: Array) -> Array:
    """Corners of the smallest convex polygon about points, seen from above, counter-clockwise (Andrew)."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]

    def chain(points: Array) -> list[Array]:
        out: list[Array] = []
        for p in points:
            while len(out) > 1 and orientation_2d(out[-2], out[-1], p) <= 0:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array([*chain(ordered), *chain(ordered[::-1])])


def orientation_2d(a: Array, b: Array, c: Array) -> float:
    """> 0 where a, b, c turn left, seen from above: z of (b − a) × (c − a)."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
