"""A recording as one page that needs nothing else: shapes, poses and events, drawn by the browser."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from sharnir.drawing.batches import Batch, Drawing, Ground, drawing
from sharnir.drawing.pieces import Poses
from sharnir.errors import fail
from sharnir.model.model import Ints, Reals
from sharnir.recording.read.recording import Recording
from sharnir.regular_files import name_of

FRAMES = 6000  # states, at most; more are thinned
EVENTS = 2000
GROUND = 12.0  # edge of a drawn half-space, over the radius of all else
GROUND_COLOR = (222, 224, 228)
SMOOTH = 0.7  # cosine of the angle between faces up to which a surface that is not flat has no edge


def write_page(recording: Recording, path: Path) -> list[str]:
    """Write it; a sentence for everything that it does not show."""
    data, notes = page_data(recording)
    try:
        path.write_text(page_of(data), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise fail(f"page {name_of(path)}", "cannot be written", str(error), "a writable file") from None
    return notes


def page_text(recording: Recording) -> str:
    """The page."""
    return page_of(page_data(recording)[0])


def page_of(data: dict[str, Any]) -> str:
    """The page that is told this."""
    text = json.dumps(data).replace("<", "\\u003c")
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8").replace("/*DATA*/", text, 1)


def page_data(recording: Recording) -> tuple[dict[str, Any], list[str]]:
    """What the page is told, and a sentence for everything that is not shown."""
    model, h = recording.model, recording.header
    drawn = drawing(model, Poses(*recording.poses(recording.start)))
    every = max(1, -(-len(recording.times) // FRAMES))
    shown = np.unique([*range(0, len(recording.times), every), len(recording.times) - 1])
    return {
        "name": model.name,
        "words": f"{h['solver']}, step {float(h['dt']):g} s, recorded {h['began']} by sharnir {h['sharnir']}",
        "bodies": model.nb,
        "times": encoded(recording.times[shown], np.float64),
        "poses": encoded(recording.body_poses[shown], np.float32),
        "forms": forms(drawn),
        "pieces": [*pieces(drawn.seen), *(ground(g, len(drawn.seen), drawn.radius) for g in drawn.grounds)],
        "events": [list(event) for event in recording.events[:EVENTS]],
        "center": drawn.center.tolist(),
        "radius": drawn.radius,
    }, drawn.notes


def forms(drawn: Drawing) -> list[str]:
    """Triangles of every batch, and last of the plane of a half-space: corner and normal of each corner."""
    square = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]])
    plane = triangles(square, np.array([[0, 1, 2], [0, 2, 3]]), flat=True)
    return [encoded(x, np.float32) for x in (*(triangles(b.vertices, b.faces, b.flat) for b in drawn.seen), plane)]


def pieces(batches: list[Batch]) -> list[dict[str, Any]]:
    """All that is drawn, with the number of its form."""
    out = []
    for number, batch in enumerate(batches):
        for link, x, turn, scale, color in zip(*batch[3:8], strict=True):
            pose = [*x.tolist(), *np.roll(turn, -1).tolist()]
            more = {"scale": scale.tolist(), "color": color.tolist(), "opacity": batch.opacity, "cell": 0.0}
            out.append({"form": number, "body": int(link), "pose": pose, **more})
    return out


def ground(plane: Ground, form: int, radius: float) -> dict[str, Any]:
    """A half-space. radius: m, of all else."""
    pose = [*plane.position.tolist(), *np.roll(plane.turn, -1).tolist()]
    edge, cell = GROUND * radius, 10.0 ** np.round(np.log10(radius)) / 2
    return {
        "form": form, "body": -1, "pose": pose, "scale": [edge, edge, 1.0], "color": GROUND_COLOR, "opacity": 1.0,
        "cell": cell / edge,
    }  # fmt: skip


def triangles(vertices: Reals, faces: Ints, flat: bool) -> Reals:
    """[3 m, 6] corners and normals of m triangles. flat: each has the normal of its plane; else those of faces around
    a corner are averaged, but across edges."""
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    shown = np.repeat(normals, 3, axis=0)
    if not flat:
        shown = averaged(vertices, faces, normals)
    return np.concatenate([corners.reshape(-1, 3), shown], axis=1)


def averaged(vertices: Reals, faces: Ints, normals: Reals) -> Reals:
    """[3 m, 3] of every corner, the mean of the normals of all faces there that lie almost in the same plane."""
    _, place = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    around: dict[int, list[int]] = {}
    for face, corners in enumerate(place.reshape(-1)[faces].tolist()):
        for corner in corners:
            around.setdefault(corner, []).append(face)
    out = []
    for face, corners in enumerate(place.reshape(-1)[faces].tolist()):
        for corner in corners:
            near = normals[around[corner]]
            mean = near[near @ normals[face] >= SMOOTH].sum(axis=0)
            out.append(mean / max(np.linalg.norm(mean), 1e-30))
    return np.array(out)


def encoded(values: Reals, kind: Any) -> str:
    """Numbers as text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
