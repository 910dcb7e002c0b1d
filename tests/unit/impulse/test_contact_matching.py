"""Contact matching (M-84) on hand-made lists: by features, else by the nearest point; and what is carried over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import warp as wp
from engine_parts import QUICK, Parts, Rows, empty, integers, put, run, seen

from sharnir.impulse.rows.contact_matching import find_pair_start, match_contact, store_contacts
from sharnir.kernels.types import array2, real

wp.set_module_options(QUICK)
SHAPES = 10
UP = (0.0, 0.0, 1.0)
SPHERICAL = 6


class Point(NamedTuple):
    """A contact of two shapes, the smaller first."""

    shapes: tuple[int, int]
    feature: int
    x: tuple[float, float, float]
    normal: tuple[float, float, float] = UP


@wp.kernel
def match_kernel(s: Parts, scale: real, bend: real):
    last = int(0)  # noqa: RUF046, UP018
    for c in range(s.state.contacts.count[0, 0]):
        last = match_contact(s.plan, s.state, s.work, c, last, scale, bend, 0)


@wp.kernel
def keep_kernel(s: Parts):
    store_contacts(s.plan, s.state, s.work, 0)


@wp.kernel
def first_kernel(s: Parts, pair: wp.array(dtype=int), out: array2):
    for i in range(pair.shape[0]):
        out[i, 0] = real(find_pair_start(s.state, pair[i], 0))


def room(points: int, loops: bool = False) -> Rows:
    """Structs with room for some contacts; which bodies they are of does not matter here."""
    joints = [((2, 1, 0), SPHERICAL)] if loops else []
    rows = Rows(np.random.default_rng(0), trees=(6,), contacts=[(0, -1)] * points, joints=joints)
    rows.parts.plan.contact_model.geo.count = SHAPES
    return rows


def show(rows: Rows, points: list[Point]) -> None:
    """Contacts of this step."""
    touch, n = rows.parts.state.contacts, len(points)
    put(touch.count, [n, n])
    put(touch.shape, np.array([p.shapes for p in points]).reshape(-1))
    put(touch.feature, [p.feature for p in points])
    put(touch.point, np.array([p.x for p in points], dtype=float).reshape(-1))
    put(touch.normal, np.array([p.normal for p in points], dtype=float).reshape(-1))
    normals = np.array([p.normal for p in points], dtype=float).reshape(-1, 3)
    t1 = np.cross([0.0, 1.0, 0.0], normals)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    put(rows.parts.work.contact_tangents, np.concatenate([t1, np.cross(normals, t1)], axis=1).reshape(-1))
    put(rows.parts.work.contact_count, [n])


def matched(before: list[Point], now: list[Point]) -> list[int | None]:
    """For each contact of now the one of before whose impulse it inherits: that is its number and one."""
    rows = room(max(len(before), len(now)))
    show(rows, before)
    p = np.zeros((rows.contacts, 6))
    p[: len(before), 0] = np.arange(len(before)) + 1
    put(rows.parts.work.p, p.reshape(-1))
    run(keep_kernel, rows.parts)
    put(rows.parts.state.prev_contact_keys, [len(before)])
    show(rows, now)
    run(match_kernel, rows.parts, 1.0, 0.0)
    out = rows.contact_impulses(seen(rows.parts.work.p))[: len(now), 0]
    return [None if x < 0.5 else round(x) - 1 for x in out]


def matched_in_python(before: list[Point], now: list[Point]) -> list[int | None]:
    def gone(k: int) -> bool:
        return all((p.shapes, p.feature) != (before[k].shapes, before[k].feature) for p in now)

    def new(c: int) -> bool:
        return all((p.shapes, p.feature) != (now[c].shapes, now[c].feature) for p in before)

    def way(k: int, c: int) -> float:
        alike = before[k].shapes == now[c].shapes and np.dot(before[k].normal, now[c].normal) > 0.9
        return float(np.sum(np.subtract(before[k].x, now[c].x) ** 2)) if alike else np.inf

    out: list[int | None] = []
    for c in range(len(now)):
        if not new(c):
            out.append([(p.shapes, p.feature) for p in before].index((now[c].shapes, now[c].feature)))
            continue
        ways = [(way(k, c), k) for k in range(len(before)) if gone(k)]
        least, k = min(ways, default=(np.inf, -1))
        others = [way(k, o) for o in range(len(now)) if o != c and new(o)] if k >= 0 else []
        out.append(k if np.isfinite(least) and least <= min(others, default=np.inf) else None)
    return out


A, B = (1, 4), (2, 3)


def test_the_same_features_are_the_same_contact_in_any_order():
    before = [Point(A, 9, (0, 0, 0)), Point(A, 7, (1, 0, 0)), Point(B, 7, (0, 0, 0))]
    now = [Point(A, 7, (0, 0, 0)), Point(A, 9, (1, 0, 0)), Point(B, 7, (5, 0, 0))]
    assert matched(before, now) == [1, 0, 2]  # wherever they are


def test_renamed_features_go_to_the_nearest_point_of_the_same_shapes():
    before = [Point(A, 1, (0, 0, 0)), Point(A, 2, (1, 0, 0)), Point(B, 1, (1, 0.01, 0))]
    now = [Point(A, 5, (0.9, 0, 0)), Point(A, 6, (0.2, 0, 0))]
    assert matched(before, now) == [1, 0]


def test_nothing_is_inherited_twice():
    """Of two new contacts near one that is gone the nearer inherits it, and of two that are as near the first."""
    before = [Point(A, 1, (0, 0, 0))]
    assert matched(before, [Point(A, 5, (0.3, 0, 0)), Point(A, 6, (0.1, 0, 0))]) == [None, 0]
    assert matched(before, [Point(A, 5, (0.1, 0, 0)), Point(A, 6, (-0.1, 0, 0))]) == [0, None]
    kept = [Point(A, 1, (9, 0, 0)), Point(A, 6, (0, 0, 0))]
    assert matched(before, kept) == [0, None]  # features come before places


def test_contacts_that_look_another_way_are_strangers():
    before = [Point(A, 1, (0, 0, 0), UP)]
    assert matched(before, [Point(A, 2, (0, 0, 0), (0.6, 0.0, 0.8))]) == [None]
    assert matched(before, [Point(A, 2, (0, 0, 0), (0.28, 0.0, 0.96))]) == [0]


@pytest.mark.parametrize("seed", range(10))
def test_random_lists_are_matched_as_in_python(seed):
    rng = np.random.default_rng(seed)

    def points() -> list[Point]:
        out = [Point((int(a), int(a) + 1 + int(b)), int(f), tuple(rng.normal(size=3)))
               for a, b, f in rng.integers(0, [2, 2, 7], (14, 3))]  # fmt: skip
        return sorted({(p.shapes, p.feature): p for p in out}.values(), key=lambda p: p.shapes)

    before, now = points(), points()
    found = matched(before, now)
    expected = matched_in_python(before, now)
    once = [k for k in found if k is not None]
    assert len(once) == len(set(once))
    assert found == expected


def test_the_first_contact_of_a_pair_is_found_by_halving():
    rows, out = room(8), empty(4)
    show(rows, [Point((0, 3), f, (0, 0, 0)) for f in range(3)] + [Point((1, 4), f, (0, 0, 0)) for f in range(4)])
    run(keep_kernel, rows.parts)
    put(rows.parts.state.prev_contact_keys, [7])
    run(first_kernel, rows.parts, integers([3, 14, 9, 99]), out)
    assert seen(out).tolist() == [0, 3, 3, 7]


def test_impulses_are_carried_over_in_world_axes_and_bends_turn_with_the_normal():
    rows, rng, angle = room(1), np.random.default_rng(3), 0.2
    show(rows, [Point(A, 1, (0, 0, 0))])
    p, bend = np.abs(rng.normal(size=6)), rng.normal(size=3)
    put(rows.parts.work.p, p)
    put(rows.parts.work.contact_chord, bend)
    run(keep_kernel, rows.parts)
    put(rows.parts.state.prev_contact_keys, [1])
    show(rows, [Point(A, 1, (0, 0, 0), (np.sin(angle), 0.0, np.cos(angle)))])
    run(match_kernel, rows.parts, 0.5, 2.0)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])  # (n, t₁, t₂) of before in those of now: t₁ is along x
    expected = 0.5 * np.concatenate([turn @ p[:3], turn @ p[3:]])
    expected[0] = max(expected[0], 0)
    np.testing.assert_allclose(seen(rows.parts.work.p)[:6], expected, atol=1e-12)
    np.testing.assert_allclose(seen(rows.parts.work.contact_chord)[:3], 2.0 * bend, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_bends_are_extrapolated_by_the_order_of_the_joints(order):
    """Bends that are a polynomial of that degree are foreseen from the fourth step on (M-66)."""
    rows, rng = room(1, loops=True), np.random.default_rng(order)
    coefficients = rng.normal(size=(order + 1, 3))
    put(rows.parts.state.joint_chord, [float(order)], 18)
    for step in range(6):
        bend = sum(a * float(step) ** k for k, a in enumerate(coefficients))
        show(rows, [Point(A, 1, (0, 0, 0))])
        run(match_kernel, rows.parts, 1.0, 1.0)
        if step > 3:
            np.testing.assert_allclose(seen(rows.parts.work.contact_chord)[:3], bend, rtol=1e-10)
        put(rows.parts.work.contact_chord, bend)
        run(keep_kernel, rows.parts)
        put(rows.parts.state.prev_contact_keys, [1])
