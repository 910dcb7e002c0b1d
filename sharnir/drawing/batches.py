"""What is drawn, gathered by form: all boxes are one batch, all balls another, equal surfaces one each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from sharnir.drawing.meshes import ball_mesh, box_mesh, capsule_mesh, cylinder_mesh
from sharnir.drawing.pieces import Piece, Poses, extent, pieces
from sharnir.drawing.visuals import seen_pieces, shown_by_visuals
from sharnir.enums import ShapeKind
from sharnir.errors import fail
from sharnir.model.model import Ints, Model
from sharnir.rotations import Array, matrix_to_quat

DIGITS = 6  # to which forms of capsules count as equal


class Batch(NamedTuple):
    """Pieces of one form, [n] of them."""

    vertices: Array  # [·, 3] of the form
    faces: Ints  # [·, 3]
    flat: bool  # faces with edges, not a smooth surface
    link: Ints  # [n] -1 for the world
    position: Array  # [n, 3] m, body frame
    turn: Array  # [n, 4] quaternion (w, x, y, z), body frame
    scale: Array  # [n, 3]
    color: Array  # [n, 3] 0 to 255
    opacity: float

    def placed(self, position: Array, turn: Array) -> tuple[Array, Array]:
        """Positions [n, 3] and quaternions [n, 4] in the world, from those of the bodies and, last, the world's."""
        q = turn[self.link]
        return position[self.link] + rotated(q, self.position), multiplied(q, self.turn)


class Ground(NamedTuple):
    """A half-space: its plane."""

    position: Array
    turn: Array  # (w, x, y, z)


class Drawing(NamedTuple):
    """All that is drawn of a model."""

    seen: list[Batch]
    solid: list[Batch]  # shapes that touch
    grounds: list[Ground]
    center: Array  # [3] m, of all that has an end
    radius: float  # m
    notes: list[str]  # what cannot be shown, and why


def drawing(model: Model, poses: Poses) -> Drawing:
    """Of a model whose bodies are there at first."""
    shapes = pieces(model)
    visuals, notes = seen_pieces(model)
    hidden = shown_by_visuals(shapes, visuals)
    seen = [*(p for p in shapes if p.link not in hidden), *visuals]
    center, radius = extent(seen, poses)
    grounds = [Ground(p.pose.x, wxyz(p.pose.R)) for p in seen if p.kind == ShapeKind.HALF_SPACE]
    return Drawing(batches(seen), batches(shapes), grounds, center, radius, notes)


def batches(drawn: list[Piece]) -> list[Batch]:
    """Pieces by form and opacity."""
    groups: dict[Any, list[tuple[Piece, Array]]] = defaultdict(list)
    for piece in drawn:
        if piece.kind != ShapeKind.HALF_SPACE:
            form, scale = form_of(piece)
            groups[form, round(piece.opacity, 3)].append((piece, scale))
    return [batch(members) for members in groups.values()]


def form_of(piece: Piece) -> tuple[Any, Array]:
    """What tells a piece's form from others, and its scale."""
    radius, length, _ = (float(x) for x in piece.size)
    if piece.surface is not None:
        return tuple(array.tobytes() for array in piece.surface), np.ones(3)
    if piece.kind == ShapeKind.BOX:
        return ShapeKind.BOX, piece.size
    if piece.kind == ShapeKind.SPHERE:
        return ShapeKind.SPHERE, np.full(3, radius)
    if piece.kind == ShapeKind.CYLINDER:
        return ShapeKind.CYLINDER, np.array([radius, radius, length])
    if piece.kind == ShapeKind.CAPSULE:
        return (ShapeKind.CAPSULE, round(length / radius, DIGITS)), np.full(3, radius)
    raise fail(
        "drawing", "the shape has no form", ShapeKind(piece.kind).name, "SPHERE, BOX, CYLINDER, CAPSULE, a surface"
    )


def batch(members: list[tuple[Piece, Array]]) -> Batch:
    piece = members[0][0]
    vertices, faces = surface_of(piece)
    return Batch(
        vertices, faces, piece.surface is not None or piece.kind == ShapeKind.BOX,
        np.array([p.link for p, _ in members], dtype=np.int32), np.array([p.pose.x for p, _ in members]),
        np.array([wxyz(p.pose.R) for p, _ in members]), np.array([scale for _, scale in members]),
        np.array([p.color for p, _ in members], dtype=np.uint8), piece.opacity,
    )  # fmt: skip


def surface_of(piece: Piece) -> tuple[Array, Ints]:
    """Of a piece's form at scale 1."""
    if piece.surface is not None:
        return piece.surface
    if piece.kind == ShapeKind.CAPSULE:
        return capsule_mesh(1.0, float(piece.size[1] / piece.size[0]))
    meshes: dict[int, Any] = {
        ShapeKind.BOX: box_mesh,
        ShapeKind.SPHERE: ball_mesh,
        ShapeKind.CYLINDER: cylinder_mesh,
    }
    mesh: tuple[Array, Ints] = meshes[piece.kind]()
    return mesh


def wxyz(R: Array) -> Array:
    """A rotation as viser takes it."""
    return np.roll(matrix_to_quat(R), 1)


def quaternions(R: Array) -> Array:
    """[n, 4] (w, x, y, z) of rotation matrices [n, 3, 3], by the largest of the four components (Shepperd)."""
    diagonal, trace = np.diagonal(R, axis1=1, axis2=2), np.trace(R, axis1=1, axis2=2)
    squares = np.column_stack([trace, 2 * diagonal - trace[:, None]]) + 1  # 4 w², 4 x², …
    k = np.argmax(squares, axis=1)
    w = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    products = np.empty((len(R), 4, 4))  # 4 of each component with each
    products[:, 0, 1:] = products[:, 1:, 0] = w
    products[:, 1:, 1:] = R + R.transpose(0, 2, 1)
    products[:, range(4), range(4)] = squares
    q = products[np.arange(len(R)), k]
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def multiplied(a: Array, b: Array) -> Array:
    """[n, 4] products of quaternions (w, x, y, z): first b, then a."""
    w = a[:, :1] * b[:, :1] - np.einsum("ni,ni->n", a[:, 1:], b[:, 1:])[:, None]
    return np.concatenate([w, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])], axis=1)


def rotated(q: Array, x: Array) -> Array:
    """[n, 3] vectors turned by quaternions (w, x, y, z)."""
    t = 2 * np.cross(q[:, 1:], x)
    return np.asarray(x + q[:, :1] * t + np.cross(q[:, 1:], t))
