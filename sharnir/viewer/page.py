"""The page that shows a model, served by viser."""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np

from sharnir.errors import ModelError, fail
from sharnir.kinds import BOX, CAPSULE, CYLINDER, SPHERE
from sharnir.model import Model, index
from sharnir.rotations import Array, matrix_to_quat
from sharnir.viewer.meshes import capsule_mesh
from sharnir.viewer.pieces import STILL_COLOR, Piece, Poses, extent, pieces

HOST = "127.0.0.1"
EYE = np.array([0.8, -1.5, 1.0])  # from where a page looks at first, over the radius of what it shows
GROUND = 12.0  # edge of a drawn half-space, over that radius
LINES = (210, 210, 210)  # colour of its grid


class Page:
    """A model in a browser. `playing` and `wants_reset` are what its buttons say; they are read, and obeyed, elsewhere.

    port: of 127.0.0.1, or 0 for any that is free. The first browser that comes starts the motion.
    """

    def __init__(self, model: Model, poses: Poses, port: int) -> None:
        viser = require_viser()
        self._server = started(viser, model.name, port)
        self.url = f"http://{HOST}:{self._server.get_port()}"
        self.playing = self.wants_reset = False
        self._untouched = True
        self._draw(model, poses)
        self._add_buttons()
        self._server.on_client_connect(self._came)

    def show(self, poses: Poses) -> None:
        """Move the bodies."""
        with self._server.atomic():
            for frame, x, R in zip(self._frames, poses.position, poses.rotation, strict=True):
                frame.position, frame.wxyz = x, wxyz(R)

    def say(self, text: str) -> None:
        """Show some words."""
        self._words.content = text

    def play(self, playing: bool) -> None:
        """Start or pause."""
        self.playing, self._untouched = playing, False
        self._button.label = "Pause" if playing else "Play"

    def browsers(self) -> list[Any]:
        """Those that look at the page, from where it tells them to at first, as viser's clients."""
        eye = self._server.initial_camera.position
        return [b for b in self._server.get_clients().values() if np.allclose(b.camera.position, eye, rtol=1e-3)]

    def close(self) -> None:
        """Stop serving."""
        with hushed():
            self._server.stop()

    def _add_buttons(self) -> None:
        gui = self._server.gui
        self._button = gui.add_button("Play")
        self._button.on_click(lambda _: self.play(not self.playing))
        gui.add_button("Reset").on_click(lambda _: setattr(self, "wants_reset", True))
        self._words = gui.add_markdown("")

    def _came(self, _: Any) -> None:
        if self._untouched:
            self.play(True)

    def _draw(self, model: Model, poses: Poses) -> None:
        scene, drawn = self._server.scene, pieces(model)
        center, radius = extent(drawn, poses)
        camera = self._server.initial_camera
        camera.look_at, camera.position = center, center + radius * EYE
        camera.near = 0.01 * radius
        scene.add_frame("/axes", axes_length=0.2 * radius, axes_radius=0.005 * radius, origin_color=STILL_COLOR)
        roots = [f"/{i} {name.replace('/', '|')}" for i, name in enumerate(model.body_names)]
        self._frames = [scene.add_frame(root, show_axes=False) for root in roots]
        for k, piece in enumerate(drawn):
            add_piece(scene, f"{roots[piece.link] if piece.link >= 0 else '/world'}/{k}", piece, radius)
        self.show(poses)


def add_piece(scene: Any, name: str, piece: Piece, scale: float) -> None:
    """Draw a piece. scale: m, radius of all that is drawn."""
    where = {"position": piece.pose.x, "wxyz": wxyz(piece.pose.R)}
    radius, length, _ = (float(x) for x in piece.size)
    if piece.kind == SPHERE:
        scene.add_icosphere(name, radius, piece.color, **where)
    elif piece.kind == BOX:
        scene.add_box(name, piece.color, piece.size, **where)
    elif piece.kind == CYLINDER:
        scene.add_cylinder(name, radius, length, piece.color, **where)
    elif piece.kind == CAPSULE:
        scene.add_mesh_simple(name, *capsule_mesh(radius, length), color=piece.color, **where)
    elif piece.surface is not None:
        scene.add_mesh_simple(name, *piece.surface, color=piece.color, **where)
    else:
        section, edge = 10.0 ** np.round(np.log10(scale)), GROUND * scale
        scene.add_grid(
            name, edge, edge, cell_size=section / 5, section_size=section, cell_color=LINES, section_color=STILL_COLOR,
            plane_color=LINES, plane_opacity=0.4, **where,
        )  # fmt: skip


def wxyz(R: Array) -> Array:
    """A rotation as viser takes it."""
    return np.roll(matrix_to_quat(R), 1)


def require_viser() -> Any:
    """viser, or a word about how to get it."""
    try:
        import viser
    except ImportError:
        raise ModelError("view: viser is missing; allowed: pip install 'sharnir[view]'") from None
    return viser


def started(viser: Any, title: str, port: int) -> Any:
    """A server on that port and no other: viser itself would go on to the next one that is free."""
    port = index("view", "port", port, 65536, "ports")
    taken = fail("view", "port cannot be served", str(port), "one that is free, or 0 for any")
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except OSError:
            raise taken from None
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # a browser's unused connection is no trouble
    with hushed():
        server = viser.ViserServer(HOST, port, label=title, verbose=False)
        if port not in (0, server.get_port()):  # somebody took it in between
            server.stop()
            raise taken
    return server


@contextmanager
def hushed() -> Iterator[None]:
    """Without viser's greetings: the command says what there is to say."""
    with redirect_stdout(io.StringIO()):
        yield
