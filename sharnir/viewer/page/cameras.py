"""Where browsers look from: each chooses to be free, to follow a body, or to see by a camera of the scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.drawing.batches import rotated
from sharnir.rotations import Array
from sharnir.viewer.setup import Eye, Setup

FREE = "free"
BODIES = 200  # that can be chosen to be followed
AHEAD = 1.0  # m, from a camera to the point it looks at


class Cameras:
    """What each browser chose, by its number."""

    def __init__(self, server: Any, setup: Setup) -> None:
        self._server = server
        eyes = {f"camera {eye.name}": eye for eye in setup.eyes}
        bodies = {f"follow {name}": link for link, name in enumerate(setup.bodies[:BODIES])}
        self._choices: dict[str, Eye | int | None] = {FREE: None, **eyes, **bodies}
        self._chosen: dict[int, Eye | int] = {}
        server.on_client_connect(self._came)
        server.on_client_disconnect(self._left)

    def _came(self, client: Any) -> None:
        choice = client.gui.add_dropdown("View", tuple(self._choices), initial_value=FREE, order=0.5)
        choice.on_update(lambda _: self._choose(client, choice.value))

    def _left(self, client: Any) -> None:
        self._chosen.pop(client.client_id, None)

    def _choose(self, client: Any, name: str) -> None:
        chosen = self._choices.get(name)
        if chosen is None:
            self._chosen.pop(client.client_id, None)
            client.camera.up_direction = (0.0, 0.0, 1.0)
        else:
            self._chosen[client.client_id] = chosen

    def show(self, position: Array, turn: Array) -> None:
        """Move the cameras that are bound to something; position, turn: of the bodies and, last, the world."""
        if not self._chosen:
            return
        clients = self._server.get_clients()
        for number, chosen in list(self._chosen.items()):
            if number in clients:
                camera = clients[number].camera
                with clients[number].atomic():
                    if isinstance(chosen, Eye):
                        see_by(camera, chosen, position, turn)
                    else:
                        self._follow(number, camera, position[chosen])

    def _follow(self, number: int, camera: Any, place: Array) -> None:
        """Keep a camera as far from a body as it was last turned to."""
        seen = np.array(camera.position) - np.array(camera.look_at)
        camera.look_at = place
        camera.position = place + seen


def see_by(camera: Any, eye: Eye, position: Array, turn: Array) -> None:
    """Put a browser's camera where one of the scene is."""
    q = turn[[eye.link]]
    x, up = (rotated(q, eye.pose.R[None, :, k])[0] for k in (0, 2))
    place = position[eye.link] + rotated(q, eye.pose.x[None])[0]
    camera.fov = eye.angle
    camera.up_direction = up
    camera.position = place
    camera.look_at = place + AHEAD * x
