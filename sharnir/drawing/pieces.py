"""What is drawn of a model: coloured pieces in body frames, and how large the whole is. Knows nothing of a browser."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sharnir.enums import JointType, ShapeKind
from sharnir.model.model import Ints, Model
from sharnir.model.poses import Pose
from sharnir.rotations import Array, frame_matrix

Color = tuple[int, int, int]
PALETTE: tuple[Color, ...] = (
    (78, 121, 167), (242, 142, 43), (89, 161, 79), (225, 87, 89), (118, 183, 178), (237, 201, 72), (176, 122, 161),
    (156, 117, 95),
)  # fmt: skip
STILL_COLOR: Color = (125, 115, 100)  # of what belongs to the world
SURROUNDINGS = 0.35  # share of their radius that is in view at first
WALL = 0.6  # opacity of solids that belong to the world: what they hold is seen
LONE = 0.05  # m, radius of the ball that stands for a body without shapes and without joints
BALL_OF_ARM, ROD_OF_ARM = 0.1, 0.04  # radii of ball and rods that stand for a body, over its longest arm


class Piece(NamedTuple):
    """A shape at a pose in a body's frame, or in the world's."""

    link: int  # -1 for the world
    kind: int  # ShapeKind
    size: Array  # [3] m, as Model.shape_size
    pose: Pose
    color: Color
    surface: tuple[Array, Ints] | None = None  # of what is drawn by triangles: vertices [n, 3] m, triangles [m, 3]
    opacity: float = 1.0


class Poses(NamedTuple):
    """Where the bodies are."""

    position: Array  # [nb, 3] m
    rotation: Array  # [nb, 3, 3] axes of the body frames, as columns


def pieces(model: Model) -> list[Piece]:
    """All shapes of a model; bodies without one that nothing else shows are a ball in the centre of mass with rods to
    their joints."""
    body = [Pose(R, x).inverse() for R, x in zip(model.body_rot, model.body_pos, strict=True)]
    out = []
    for k, link in enumerate(model.shape_link.tolist()):
        pose = Pose(model.shape_rot[k], model.shape_pos[k])
        in_body = body[link] @ pose if link >= 0 else pose
        kind, size = int(model.shape_kind[k]), model.shape_size[k]
        clear = WALL if link < 0 and kind not in (ShapeKind.HALF_SPACE, ShapeKind.HEIGHT_FIELD, ShapeKind.MESH) else 1.0
        out.append(Piece(link, kind, size, in_body, color_of(link), surface_of(model, k), clear))
    shown = {*model.shape_link.tolist(), *(link for link, _ in model.visuals)}
    for link in sorted(set(range(model.nb)) - shown):
        out += stand_in(model, link, body[link])
    return out


def surface_of(model: Model, shape: int) -> tuple[Array, Ints] | None:
    """Vertices and triangles, seen from outside, of a hull, height field or mesh in its own frame; None of others."""
    kind, data = model.shape_kind[shape], int(model.shape_data[shape])
    if kind == ShapeKind.HULL:
        first, end = model.hull_vertex_start[data : data + 2]
        faces = range(*model.hull_face_start[data : data + 2])
        return model.hull_vertex[first:end], np.concatenate([fan(model, face) for face in faces]) - first
    if kind == ShapeKind.HEIGHT_FIELD:
        heights = model.field_height[model.field_start[data] : model.field_start[data + 1]]
        return grid(heights.reshape(model.field_shape[data]), model.shape_size[shape])
    if kind == ShapeKind.MESH:
        used, corners = np.unique(
            model.mesh_corner[slice(*model.mesh_triangle_start[data : data + 2])], return_inverse=True
        )
        return model.mesh_vertex[used], corners.reshape(-1, 3).astype(np.int32)
    return None


def fan(model: Model, face: int) -> Ints:
    """A hull's face as triangles about its first corner."""
    corners = model.hull_corner[slice(*model.hull_corner_start[face : face + 2])]
    return np.stack([np.full(len(corners) - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)


def grid(heights: Array, size: Array) -> tuple[Array, Ints]:
    """Vertices and triangles of a height field; size: m, along x and y."""
    rows, columns = heights.shape
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(size, heights.shape, strict=False))
    vertices = np.column_stack([np.repeat(x, columns), np.tile(y, rows), heights.reshape(-1)])
    i, j = (k.reshape(-1) for k in np.mgrid[: rows - 1, : columns - 1])
    a = (i * columns + j).astype(np.int32)
    b, c, d = a + columns, a + columns + 1, a + 1
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def color_of(link: int) -> Color:
    """One colour for each body, from the palette in turn."""
    return PALETTE[link % len(PALETTE)] if link >= 0 else STILL_COLOR


def stand_in(model: Model, link: int, body: Pose) -> list[Piece]:
    """A ball and rods for a body without shapes. body: the link frame in the body frame."""
    center, ends = model.com[link], joint_points(model, link)
    arms = [end - center for end in ends]
    longest = max((float(np.linalg.norm(arm)) for arm in arms), default=0.0)
    radius = BALL_OF_ARM * longest or LONE
    ball = Pose(np.eye(3), center)
    out = [Piece(link, ShapeKind.SPHERE, np.array([radius, 0.0, 0.0]), body @ ball, color_of(link))]
    for arm in arms:
        length = float(np.linalg.norm(arm))
        if length > radius:
            size = np.array([ROD_OF_ARM * longest, length, 0.0])
            rod = Pose(frame_matrix(arm, None), center + arm / 2)
            out.append(Piece(link, ShapeKind.CYLINDER, size, body @ rod, color_of(link)))
    return out


def joint_points(model: Model, link: int) -> list[Array]:
    """Where a body's joints are, m, link frame; a free joint is nowhere."""
    held = model.joint_kind != JointType.FREE
    return [model.joint_pos[k, side] for k, side in np.argwhere((model.joint_link == link) & held[:, None])]


def placed(piece: Piece, poses: Poses) -> Pose:
    """A piece's pose in the world."""
    if piece.link < 0:
        return piece.pose
    return Pose(poses.rotation[piece.link], poses.position[piece.link]) @ piece.pose


def reach(piece: Piece) -> float:
    """The radius of a ball about a piece's middle that holds it, m."""
    radius, length, _ = piece.size
    if piece.surface is not None:
        return float(np.linalg.norm(piece.surface[0], axis=1).max())
    if piece.kind == ShapeKind.BOX:
        return float(np.linalg.norm(piece.size)) / 2
    return float(radius + length / 2)


def extent(drawn: list[Piece], poses: Poses) -> tuple[Array, float]:
    """A point and a radius, m, to look at: about all that moves, with some of what it stands in."""
    ended = [p for p in drawn if p.kind != ShapeKind.HALF_SPACE]
    moving = [p for p in ended if p.link >= 0] or ended
    if not ended:
        return np.zeros(3), 1.0
    center, radius = about(moving, poses)
    return center, max(radius, SURROUNDINGS * about(ended, poses)[1])


def about(drawn: list[Piece], poses: Poses) -> tuple[Array, float]:
    """Middle and radius, m, of a ball about pieces."""
    balls = [(placed(p, poses).x, reach(p)) for p in drawn]
    low = np.min([x - r for x, r in balls], axis=0)
    high = np.max([x + r for x, r in balls], axis=0)
    return (low + high) / 2, float(np.linalg.norm(high - low)) / 2
