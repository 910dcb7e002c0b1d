"""Contact matching (M-84) on hand-made lists: by features, else by the nearest point; and what is carried over."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, Rows, integers, put, read, run, zeros

from sharnir.collision.buffers import ContactCount
from sharnir.impulse.data import StepContext
from sharnir.impulse.rows.contact_frame import shape_pair_of
from sharnir.impulse.rows.contact_matching import (
    find_pair_from,
    find_pair_start,
    match_contact,
    store_contacts,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
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
def match_kernel(ctx: StepContext, warm_factor: real, chord_scale: real):
    cursor = int(0)  # noqa: RUF046, UP018
    for c in range(ctx.state.contacts.count[ContactCount.STORED, 0]):
        cursor = find_pair_from(ctx.state, shape_pair_of(ctx.layout, ctx.state, c, 0), cursor, 0)
        match_contact(ctx, c, cursor, warm_factor, chord_scale, 0)


@wp.kernel
def store_kernel(ctx: StepContext):
    store_contacts(ctx.layout, ctx.state, ctx.work, 0)


@wp.kernel
def first_kernel(ctx: StepContext, pair: wp.array(dtype=int), out: array2):
    for i in range(pair.shape[0]):
        out[i, 0] = real(find_pair_start(ctx.state, pair[i], 0))


def make_rows(points: int, loops: bool = False) -> Rows:
    """Structs with room for some contacts; which bodies they are of does not matter here."""
    joints = [((2, 1, 0), SPHERICAL)] if loops else []
    rows = Rows(np.random.default_rng(0), trees=(6,), contacts=[(0, -1)] * points, joints=joints)
    rows.ctx.layout.contact_model.geo.count = SHAPES
    return rows


def set_contacts(rows: Rows, points: list[Point]) -> None:
    """Contacts of this step."""
    contacts, n = rows.ctx.state.contacts, len(points)
    put(contacts.count, [n, n])
    put(contacts.shape, np.array([p.shapes for p in points]).reshape(-1))
    put(contacts.feature, [p.feature for p in points])
    put(contacts.point, np.array([p.x for p in points], dtype=float).reshape(-1))
    put(contacts.normal, np.array([p.normal for p in points], dtype=float).reshape(-1))
    normals = np.array([p.normal for p in points], dtype=float).reshape(-1, 3)
    t1 = np.cross([0.0, 1.0, 0.0], normals)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    put(rows.ctx.work.contact_tangents, np.concatenate([t1, np.cross(normals, t1)], axis=1).reshape(-1))
    put(rows.ctx.work.contact_count, [n])


def matched(before: list[Point], now: list[Point]) -> list[int | None]:
    """For each contact of now the one of before whose impulse it inherits: that is its number and one."""
    rows = make_rows(max(len(before), len(now)))
    set_contacts(rows, before)
    p = np.zeros((rows.contacts, 6))
    p[: len(before), 0] = np.arange(len(before)) + 1
    put(rows.ctx.work.p, p.reshape(-1))
    run(store_kernel, rows.ctx)
    put(rows.ctx.state.prev_contact_keys, [len(before)])
    set_contacts(rows, now)
    run(match_kernel, rows.ctx, 1.0, 0.0)
    out = rows.contact_impulses(read(rows.ctx.work.p))[: len(now), 0]
    return [None if x < 0.5 else round(x) - 1 for x in out]


def matched_in_python(before: list[Point], now: list[Point]) -> list[int | None]:
    def is_gone(k: int) -> bool:
        return all((p.shapes, p.feature) != (before[k].shapes, before[k].feature) for p in now)

    def is_new(c: int) -> bool:
        return all((p.shapes, p.feature) != (now[c].shapes, now[c].feature) for p in before)

    def distance2(k: int, c: int) -> float:
        alike = before[k].shapes == now[c].shapes and np.dot(before[k].normal, now[c].normal) > 0.9
        return float(np.sum(np.subtract(before[k].x, now[c].x) ** 2)) if alike else np.inf

    out: list[int | None] = []
    for c in range(len(now)):
        if not is_new(c):
            out.append([(p.shapes, p.feature) for p in before].index((now[c].shapes, now[c].feature)))
            continue
        candidates = [(distance2(k, c), k) for k in range(len(before)) if is_gone(k)]
        nearest, k = min(candidates, default=(np.inf, -1))
        others = [distance2(k, o) for o in range(len(now)) if o != c and is_new(o)] if k >= 0 else []
        out.append(k if np.isfinite(nearest) and nearest <= min(others, default=np.inf) else None)
    return out


A, B = (1, 4), (2, 3)


def test_equal_features_match_in_any_order():
    before = [Point(A, 9, (0, 0, 0)), Point(A, 7, (1, 0, 0)), Point(B, 7, (0, 0, 0))]
    now = [Point(A, 7, (0, 0, 0)), Point(A, 9, (1, 0, 0)), Point(B, 7, (5, 0, 0))]
    assert matched(before, now) == [1, 0, 2]  # whatever their positions


def test_new_features_match_the_nearest_point_of_the_same_shapes():
    before = [Point(A, 1, (0, 0, 0)), Point(A, 2, (1, 0, 0)), Point(B, 1, (1, 0.01, 0))]
    now = [Point(A, 5, (0.9, 0, 0)), Point(A, 6, (0.2, 0, 0))]
    assert matched(before, now) == [1, 0]


def test_no_contact_is_matched_twice():
    """Of two new contacts near one that is gone the nearer matches it; of two at equal distance, the first."""
    before = [Point(A, 1, (0, 0, 0))]
    assert matched(before, [Point(A, 5, (0.3, 0, 0)), Point(A, 6, (0.1, 0, 0))]) == [None, 0]
    assert matched(before, [Point(A, 5, (0.1, 0, 0)), Point(A, 6, (-0.1, 0, 0))]) == [0, None]
    kept = [Point(A, 1, (9, 0, 0)), Point(A, 6, (0, 0, 0))]
    assert matched(before, kept) == [0, None]  # features come before positions


def test_contacts_with_different_normals_do_not_match():
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


def test_the_first_contact_of_a_pair_is_found_by_bisection():
    rows, out = make_rows(8), zeros(4)
    set_contacts(
        rows, [Point((0, 3), f, (0, 0, 0)) for f in range(3)] + [Point((1, 4), f, (0, 0, 0)) for f in range(4)]
    )
    run(store_kernel, rows.ctx)
    put(rows.ctx.state.prev_contact_keys, [7])
    run(first_kernel, rows.ctx, integers([3, 14, 9, 99]), out)
    assert read(out).tolist() == [0, 3, 3, 7]


def test_impulses_carry_over_in_world_axes_and_chord_velocities_rotate_with_the_normal():
    rows, rng, angle = make_rows(1), np.random.default_rng(3), 0.2
    set_contacts(rows, [Point(A, 1, (0, 0, 0))])
    p, chord = np.abs(rng.normal(size=6)), rng.normal(size=3)
    put(rows.ctx.work.p, p)
    put(rows.ctx.work.contact_chord, chord)
    put(rows.ctx.work.contact_row_count, [6])
    run(store_kernel, rows.ctx)
    put(rows.ctx.state.prev_contact_keys, [1])
    set_contacts(rows, [Point(A, 1, (0, 0, 0), (np.sin(angle), 0.0, np.cos(angle)))])
    run(match_kernel, rows.ctx, 0.5, 2.0)
    c, s = np.cos(angle), np.sin(angle)
    rotation = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])  # (n, t₁, t₂) of before in those of now: t₁ is along x
    expected = 0.5 * np.concatenate([rotation @ p[:3], rotation @ p[3:]])
    expected[0] = max(expected[0], 0)
    np.testing.assert_allclose(read(rows.ctx.work.p)[:6], expected, atol=1e-12)
    np.testing.assert_allclose(read(rows.ctx.work.contact_chord)[:3], 2.0 * chord, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_chord_velocities_are_extrapolated_by_the_order_of_the_joints(order):
    """Polynomials of that degree are predicted exactly from the fourth step on (M-66)."""
    rows, rng = make_rows(1, loops=True), np.random.default_rng(order)
    coefficients = rng.normal(size=(order + 1, 3))
    put(rows.ctx.state.joint_chord, [float(order)], 18)
    for step in range(6):
        chord = sum(a * float(step) ** k for k, a in enumerate(coefficients))
        set_contacts(rows, [Point(A, 1, (0, 0, 0))])
        run(match_kernel, rows.ctx, 1.0, 1.0)
        if step > 3:
            np.testing.assert_allclose(read(rows.ctx.work.contact_chord)[:3], chord, rtol=1e-10)
        put(rows.ctx.work.contact_chord, chord)
        run(store_kernel, rows.ctx)
        put(rows.ctx.state.prev_contact_keys, [1])
