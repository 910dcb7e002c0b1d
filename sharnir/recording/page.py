"""A recording as one page that needs nothing else: shapes, poses and events, drawn by the browser."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sharnir.errors import fail
from sharnir.kinds import BOX, CYLINDER, HALF_SPACE
from sharnir.model import Reals
from sharnir.recording.reading import Recording
from sharnir.rotations import matrix_to_quat
from sharnir.viewer.meshes import capsule_mesh
from sharnir.viewer.pieces import Piece, Poses, extent, pieces

FRAMES = 6000  # states, at most; more are thinned
EVENTS = 2000
AROUND = 24  # corners of a round section
GROUND = 12.0  # edge of a drawn half-space, over the radius of all else


def write_page(recording: Recording, path: Path) -> None:
    """Write it."""
    text = json.dumps(page_data(recording)).replace("<", "\\u003c")
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8").replace("/*DATA*/", text, 1)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise fail(f"page {path}", "cannot be written", str(error), "a writable file") from None


def page_data(recording: Recording) -> dict[str, Any]:
    """What the page is told."""
    model, drawn = recording.model, pieces(recording.model)
    every = max(1, -(-len(recording.times) // FRAMES))
    shown = np.unique([*range(0, len(recording.times), every), len(recording.times) - 1])
    center, radius = extent(drawn, Poses(*recording.poses(recording.start)))
    h = recording.header
    return {
        "name": model.name,
        "words": f"{h['solver']}, step {float(h['dt']):g} s, recorded {h['began']} by sharnir {h['sharnir']}",
        "bodies": model.nb,
        "times": encoded(recording.times[shown], np.float64),
        "poses": encoded(recording.body_poses[shown], np.float32),
        "pieces": [piece_data(piece, radius) for piece in drawn],
        "events": [list(event) for event in recording.events[:EVENTS]],
        "center": center.tolist(),
        "radius": radius,
    }


def piece_data(piece: Piece, radius: float) -> dict[str, Any]:
    """A piece as triangles, in its body's frame. radius: m, of all that is drawn."""
    corners, normals = triangles(piece, radius)
    pose = [*piece.pose.x.tolist(), *matrix_to_quat(piece.pose.R).tolist()]
    cell = 10.0 ** np.round(np.log10(radius)) / 2 if piece.kind == HALF_SPACE else 0.0
    values = np.concatenate([corners, normals], axis=1)
    color = (222, 224, 228) if piece.kind == HALF_SPACE else piece.color
    return {"body": piece.link, "color": color, "pose": pose, "cell": cell, "triangles": encoded(values, np.float32)}


def triangles(piece: Piece, radius: float) -> tuple[Reals, Reals]:
    """Corners [3 m, 3] (m) and normals [3 m, 3] of m triangles."""
    if piece.kind == HALF_SPACE:
        edge = GROUND * radius / 2
        corners = edge * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=float)
        return corners, np.tile([0.0, 0.0, 1.0], (6, 1))
    if piece.surface is not None:
        vertices, faces = piece.surface
        return flat(vertices[faces])
    if piece.kind == BOX:
        return flat(box(piece.size))
    if piece.kind == CYLINDER:
        return cylinder(*piece.size[:2].tolist())
    size, length, _ = piece.size.tolist()  # a ball is a capsule without length
    vertices, faces = capsule_mesh(size, length, AROUND, AROUND // 3)
    axis = np.clip(vertices[:, 2], -length / 2, length / 2)
    normals = (vertices - np.column_stack([0 * axis, 0 * axis, axis])) / size
    return vertices[faces].reshape(-1, 3), normals[faces].reshape(-1, 3)


def flat(corners: Reals) -> tuple[Reals, Reals]:
    """Triangles [m, 3, 3] with the normals of their planes."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    return corners.reshape(-1, 3), np.repeat(normals, 3, axis=0)


def box(size: Reals) -> Reals:
    """[12, 3, 3] triangles of a box, seen from outside."""
    out = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            middle, u = side * np.eye(3)[axis], u if side > 0 else -u
            corners = [middle + 0.5 * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            out += [[corners[i] for i in (0, 1, 2)], [corners[i] for i in (0, 2, 3)]]
    return np.array(out) * size


def cylinder(radius: float, length: float) -> tuple[Reals, Reals]:
    """Triangles of a cylinder along z: its side is smooth, its ends are flat."""
    turn = 2 * np.pi * np.arange(AROUND + 1) / AROUND
    rim = np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    up = np.array([0.0, 0.0, length / 2])
    corners, normals = [], []
    for a, b in pairwise(rim):
        low_a, low_b, high_a, high_b = radius * a - up, radius * b - up, radius * a + up, radius * b + up
        corners += [low_a, low_b, high_b, low_a, high_b, high_a, up, high_a, high_b, -up, low_b, low_a]
        normals += [a, b, b, a, b, a, *[[0.0, 0.0, 1.0]] * 3, *[[0.0, 0.0, -1.0]] * 3]
    return np.array(corners), np.array(normals)


def encoded(values: Reals, kind: Any) -> str:
    """Numbers as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
