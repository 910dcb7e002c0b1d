"""What a scene shows of its bodies besides their shapes: pieces with colours of their own, meshes from files."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np

from sharnir.compiler.shapes import dimensions, shape_kind, shape_pose
from sharnir.drawing.pieces import Color, Piece, grid, reach
from sharnir.geometry.convex_hull import convex_hull
from sharnir.model.model import Model
from sharnir.model.poses import Pose
from sharnir.rotations import quat_to_matrix
from sharnir.spec.elements import ConvexHull, HeightField, Mesh, Shape, Visual

if TYPE_CHECKING:
    from sharnir.io.seen_meshes import SeenMeshes

COVERS = 0.7  # of the reach of a body's shapes: visuals that reach as far stand for it
SURFACE = -1  # kind of a piece that is nothing but triangles


def seen_pieces(model: Model) -> tuple[list[Piece], list[str]]:
    """Pieces of all visuals, and a sentence for each that cannot be shown."""
    out, notes = [], []
    with seen_meshes(model) as meshes:
        for link, visual in model.visuals:
            try:
                out.append(seen_piece(link, visual, meshes))
            except ValueError as error:
                name = model.body_names[link] if link >= 0 else "world"
                notes.append(f"{name}: {error}")
    return out, notes


def seen_meshes(model: Model) -> AbstractContextManager[SeenMeshes | None]:
    """What reads the files of a model's visuals; where there are none, nothing has to be imported."""
    if all(visual.file is None for _, visual in model.visuals):
        return nullcontext()
    from sharnir.io.seen_meshes import SeenMeshes

    return SeenMeshes(None if model.scene is None else model.scene.roots)


def seen_piece(link: int, visual: Visual, meshes: SeenMeshes | None) -> Piece:
    """A visual as a piece. Raises ValueError where its file holds no mesh."""
    color, opacity = color_of(visual), float(np.clip(visual.color[3], 0.0, 1.0))
    if visual.shape is not None:
        return shape_piece(link, visual.shape, color, opacity)
    turn = quat_to_matrix(np.array(visual.orientation, dtype=float))
    assert meshes is not None
    vertices, faces = meshes.surface(str(visual.file))
    surface = (vertices * np.array(visual.scale, dtype=float), faces)
    pose = Pose(turn, np.array(visual.position, dtype=float))
    return Piece(link, SURFACE, np.zeros(3), pose, color, surface, opacity)


def shape_piece(link: int, shape: Shape, color: Color, opacity: float) -> Piece:
    """A shape that is only seen."""
    kind, pose = shape_kind("visual", shape), shape_pose("visual", shape)
    surface = None
    if isinstance(shape, ConvexHull):
        hull = convex_hull(np.array(shape.points, dtype=float))
        if hull is None:
            raise ValueError("a shape is not shown: its points lie in one plane")
        fans = [np.stack([np.full(len(f) - 2, f[0]), f[1:-1], f[2:]], axis=1) for f in hull.faces]
        surface = hull.vertices + hull.center, np.concatenate(fans).astype(np.int32)
    elif isinstance(shape, HeightField):
        surface = grid(np.array(shape.heights, dtype=float), np.array(shape.size, dtype=float))
    elif isinstance(shape, Mesh):
        surface = np.array(shape.vertices, dtype=float), np.array(shape.faces, dtype=np.int32)
    return Piece(link, kind, dimensions("visual", shape), pose, color, surface, opacity)


def color_of(visual: Visual) -> Color:
    """Its colour, 0 to 255."""
    red, green, blue = (int(c) for c in np.clip(np.array(visual.color[:3], dtype=float) * 255, 0, 255).round())
    return red, green, blue


def shown_by_visuals(shapes: list[Piece], visuals: list[Piece]) -> set[int]:
    """Links whose visuals stand for them: their shapes are drawn only on demand."""

    def extents(pieces: list[Piece]) -> dict[int, float]:
        out: dict[int, float] = {}
        for piece in pieces:
            far = float(np.linalg.norm(piece.pose.x)) + reach(piece)
            out[piece.link] = max(out.get(piece.link, 0.0), far)
        return out

    solid, seen = extents(shapes), extents(visuals)
    return {link for link, far in seen.items() if link >= 0 and far >= COVERS * solid.get(link, 0.0)}
