"""Prints µs per pair of the narrow phase on the CPU: `PYTHONPATH=tests python` and the path of this file."""

from __future__ import annotations

import time

import numpy as np
from narrow_pairs import Hulls, Narrow, Shapes
from narrow_reference import random_hulls, rotations

from sharnir.enums import ShapeKind

PAIRS, REPEAT, MARGIN = 500, 40, 0.01
UP = np.eye(3)


def _about_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _on_top(kind_a: int, size_a: list, kind_b: int, size_b: list, height: float, turn: bool = True) -> tuple:
    """B lies on A, anyhow turned about the vertical and shifted a little."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, size=PAIRS)
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros(PAIRS), np.ones(PAIRS)
    R = np.array([[c, -s, o], [s, c, o], [o, o, i]]).transpose(2, 0, 1) if turn else UP
    x = np.column_stack([rng.uniform(-0.2, 0.2, size=(PAIRS, 2)), np.full(PAIRS, height)])
    return Shapes.of(kind_a, size_a, UP, np.zeros((PAIRS, 3))), Shapes.of(kind_b, size_b, R, x)


def _laid(pair: tuple) -> tuple:
    """Shapes with an axis laid down."""
    for S in pair:
        if S.kind[0] in (ShapeKind.CAPSULE, ShapeKind.CYLINDER):
            S.R[:] = S.R @ _about_x(np.pi / 2)
    return pair


def scenes(hulls: Hulls) -> dict[str, tuple[Shapes, Shapes]]:
    """Touching pairs of every kind that matters."""
    rng = np.random.default_rng(0)
    edge = np.sqrt(0.5)
    ground = np.array([[3, -1, -2], [-1, 3, -2], [0, 0, 0]], dtype=float)
    crossed = _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.BOX, [0.5, 0.5, 0.5], 2 * edge - 0.002, turn=False)
    crossed[0].R[:] = _about_x(np.pi / 4)
    crossed[1].R[:] = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) @ _about_x(np.pi / 4)
    ends = rotations(rng, PAIRS)[:, :, 2]
    hull = Shapes.of(
        ShapeKind.HULL, np.zeros(3), rotations(rng, PAIRS), np.zeros((PAIRS, 3)), rng.integers(0, 40, PAIRS)
    )
    other = Shapes.of(ShapeKind.HULL, np.zeros(3), rotations(rng, PAIRS), ends * 0.9, rng.integers(0, 40, PAIRS))
    box_on_triangle = _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.BOX, [0.3, 0.3, 0.3], 0.299)
    triangle = Shapes.of(ShapeKind.TRIANGLE, np.zeros(3), ground, np.zeros((PAIRS, 3)))
    return {
        "sphere on sphere": _on_top(ShapeKind.SPHERE, [0.5, 0, 0], ShapeKind.SPHERE, [0.5, 0, 0], 0.95),
        "sphere on box": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.SPHERE, [0.5, 0, 0], 0.999),
        "capsule across capsule": _laid(
            _on_top(ShapeKind.CAPSULE, [0.5, 0.5, 0], ShapeKind.CAPSULE, [0.5, 0.5, 0], 0.9)
        ),
        "capsule lying on box": _laid(_on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.CAPSULE, [0.3, 0.3, 0], 0.799)),
        "box on box, flat": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.BOX, [0.4, 0.4, 0.4], 0.899),
        "box on box, hovering": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.BOX, [0.4, 0.4, 0.4], 0.905),
        "box on box, edges crossed": crossed,
        "box and box, beyond the margin": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.BOX, [0.4, 0.4, 0.4], 1.0),
        "cylinder standing on box": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.CYLINDER, [0.3, 0.4, 0], 0.899),
        "cylinder hovering over box": _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.CYLINDER, [0.3, 0.4, 0], 0.905),
        "cylinder lying on box": _laid(
            _on_top(ShapeKind.BOX, [0.5, 0.5, 0.5], ShapeKind.CYLINDER, [0.3, 0.4, 0], 0.799)
        ),
        "hull in hull": (hull, other),
        "box on half-space": _on_top(ShapeKind.HALF_SPACE, [0, 0, 0], ShapeKind.BOX, [0.4, 0.4, 0.4], 0.399),
        "box on triangle": (triangle, box_on_triangle[1]),
        "sphere on triangle": (triangle, _on_top(ShapeKind.BOX, [1, 1, 1], ShapeKind.SPHERE, [0.3, 0, 0], 0.299)[1]),
    }


def timings(device: str = "cpu") -> dict[str, tuple[float, float]]:
    """µs per pair, the best of five, and points per pair."""
    hulls = random_hulls(np.random.default_rng(0))
    out = {}
    for name, (A, B) in scenes(hulls).items():
        launch = Narrow(hulls, A, B, MARGIN, REPEAT, device)
        points = launch.run()
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            launch.command.launch()
            best = min(best, time.perf_counter() - start)
        out[name] = best / (PAIRS * REPEAT) * 1e6, float(points.count.mean())
    return out


if __name__ == "__main__":
    for name, (micro, points) in timings().items():
        print(f"{name:32s} {micro:7.3f} µs {points:5.2f} points")
