"""The page: what viser draws of a frame. Lives in the viewer's process and knows nothing of a simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sharnir.drawing.batches import Batch, Ground, quaternions
from sharnir.rotations import Array
from sharnir.viewer.commands import Command, Kind
from sharnir.viewer.page.layers import Layers
from sharnir.viewer.setup import Setup

EYE = np.array([0.7, -1.3, 0.85])  # from where a page looks at first, over the radius of what it shows
GROUND = 12.0  # edge of a drawn half-space, over that radius
LINES, SECTIONS = (215, 215, 215), (150, 150, 150)  # colours of its grid
THROUGH = 0.5  # opacity of bodies whose inside is shown
FINE = 4000  # triangles of a form from which on viser may draw a coarser one far away
Send = Callable[[int | None, Command], bool]


class Page:
    """A scene in viser. send: passes a command of a browser on."""

    def __init__(self, server: Any, setup: Setup, send: Send) -> None:
        self._server, self._setup, self._send = server, setup, send
        self._seen = self._add(setup.drawing.seen, "seen")
        self._solid = self._add(setup.drawing.solid, "solid", wireframe=True)
        self.layers = Layers(server, setup)
        self._add_surroundings()

    def show(self, frame: Any) -> None:
        """Move all that moves."""
        position, turn = poses(frame)
        with self._server.atomic():
            for batch, handle in self._seen:
                place(batch, handle, position, turn)
            if self.layers.solid:
                for batch, handle in self._solid:
                    place(batch, handle, position, turn)
            self.layers.show(frame, position, turn)

    def see_through(self) -> None:
        """Whether bodies hide what is inside them: not while joints or balance are shown."""
        share = THROUGH if self.layers.joints or self.layers.balance else 1.0
        for batch, handle in self._seen:
            opacity = share * batch.opacity
            handle.opacity = None if opacity >= 1 else opacity

    def show_solid(self, visible: bool) -> None:
        """Whether shapes that touch are drawn."""
        self.layers.solid = visible
        for _, handle in self._solid:
            handle.visible = visible

    def _add(self, batches: list[Batch], name: str, wireframe: bool = False) -> list[tuple[Batch, Any]]:
        nb = len(self._setup.bodies)
        start, turn = np.zeros((nb + 1, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (nb + 1, 1))
        out = []
        for k, batch in enumerate(batches):
            position, wxyz = batch.placed(start, turn)
            handle = self._server.scene.add_batched_meshes_simple(
                f"/{name}/{k}", batch.vertices, batch.faces, wxyz, position, batched_scales=batch.scale,
                batched_colors=batch.color if not wireframe else (30, 30, 30), wireframe=wireframe,
                flat_shading=batch.flat and not wireframe, opacity=None if batch.opacity >= 1 else batch.opacity,
                lod="auto" if len(batch.faces) > FINE else "off", visible=not wireframe,
                cast_shadow=not wireframe, receive_shadow=not wireframe,
            )  # fmt: skip
            if not wireframe:
                handle.on_drag("left", modifier="shift")(self._dragged(batch))
            out.append((batch, handle))
        return out

    def _dragged(self, batch: Batch) -> Callable[[Any], None]:
        """What a drag of a piece asks for: the body it belongs to is pulled."""

        def drag(event: Any) -> None:
            link = int(batch.link[event.instance_index or 0])
            if link < 0:
                return
            if event.phase == "start":
                values = (*event.start_position, *event.end_position)
                self._send(event.client_id, Command(Kind.GRAB, link, tuple(float(x) for x in values)))
            elif event.phase == "update":
                self._send(event.client_id, Command(Kind.PULL, 0, tuple(float(x) for x in event.end_position)))
            else:
                self._send(event.client_id, Command(Kind.LET_GO))

        return drag

    def _add_surroundings(self) -> None:
        """Ground, light and the first point of view."""
        scene, drawing = self._server.scene, self._setup.drawing
        camera, radius = self._server.initial_camera, drawing.radius
        camera.look_at, camera.position = drawing.center, drawing.center + radius * EYE
        camera.near = 0.01 * radius
        scene.configure_default_lights(cast_shadow=True)
        scene.add_frame("/axes", axes_length=0.2 * radius, axes_radius=0.005 * radius, origin_color=SECTIONS)
        floor = Ground(np.array([0.0, 0.0, drawing.center[2] - radius]), np.array([1.0, 0.0, 0.0, 0.0]))
        for k, ground in enumerate(drawing.grounds or [floor]):
            section, edge = 10.0 ** np.round(np.log10(radius)), GROUND * radius
            scene.add_grid(
                f"/ground/{k}", edge, edge, cell_size=section / 5, section_size=section, cell_color=LINES,
                section_color=SECTIONS, plane_color=LINES, plane_opacity=0.4 if drawing.grounds else 0.0,
                position=ground.position, wxyz=ground.turn,
            )  # fmt: skip


def poses(frame: Any) -> tuple[Array, Array]:
    """[nb + 1, 3] positions and [nb + 1, 4] quaternions (w, x, y, z) of the bodies and, last, of the world."""
    position = np.concatenate([frame["position"], np.zeros((1, 3))])
    return position, np.concatenate([quaternions(frame["rotation"]), [[1.0, 0.0, 0.0, 0.0]]])


def place(batch: Batch, handle: Any, position: Array, turn: Array) -> None:
    """Move the pieces of a batch with their bodies."""
    if (batch.link >= 0).any():
        handle.batched_positions, handle.batched_wxyzs = batch.placed(position, turn)
