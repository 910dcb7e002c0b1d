"""What is drawn on demand: contacts with their forces, joints, centre of mass and support, and the operator's pull."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.drawing.batches import rotated
from sharnir.rotations import Array
from sharnir.sensors.support_polygon import convex_hull_2d
from sharnir.viewer.setup import Setup

THIN = 0.004  # of a line or a shaft, over the radius of all that is drawn
LINE = 3.0  # pixels
LIFT = 0.01  # of the polygon of support over the ground, over that radius
ARROW = 1.5  # length of an arrow as large as the weight, over that radius; none is longer than 1
FORCE, PULL, CENTER, SUPPORT = (220, 50, 47), (38, 139, 210), (181, 137, 0), (133, 153, 0)
NOTHING = np.zeros((0, 2, 3), dtype=np.float32)


class Layers:
    """Each is on or off."""

    def __init__(self, server: Any, setup: Setup) -> None:
        self.contacts = self.joints = self.balance = self.solid = False
        self._setup, self._scene = setup, server.scene
        self._radius = setup.drawing.radius
        weight = 9.81 * float(np.sqrt(setup.balance.mass.sum() * setup.balance.all_mass))  # of a pile, more than of one
        self._force_scale = ARROW * self._radius / max(weight, 1e-9)
        scene, size = server.scene, THIN * self._radius
        arrow = {"shaft_radius": 2 * size, "head_radius": 5 * size, "head_length": 12 * size}
        line = {"thickness": LINE, "thickness_units": "screen", "visible": False}
        self._arrows = scene.add_arrows("/contacts/forces", NOTHING, FORCE, visible=False, **arrow)
        self._points = scene.add_point_cloud(
            "/contacts/points", np.zeros((0, 3)), (0, 0, 0), point_size=6 * size, point_shape="circle", visible=False
        )
        self._pull = scene.add_arrows("/pull", NOTHING, PULL, visible=False, **arrow)
        ends = setup.joints.ends
        self._lines = scene.add_line_segments("/joints", ends, setup.joints.color[:, None].repeat(2, 1), **line)
        self._center = scene.add_icosphere("/center", 8 * size, CENTER, visible=False)
        self._plumb = scene.add_line_segments("/plumb", np.zeros((1, 2, 3)), CENTER, **line)
        self._support = scene.add_line_segments("/support", np.zeros((1, 2, 3)), SUPPORT, **line)

    def show(self, frame: Any, position: Array, turn: Array) -> None:
        """Move what is on."""
        self._show_contacts(frame)
        self._show_joints(position, turn)
        self._show_balance(frame, position, turn)
        self._pull.visible = bool(frame["pulled"])
        if frame["pulled"]:
            self._pull.points = frame["pull"][None].astype(np.float32)

    def _show_contacts(self, frame: Any) -> None:
        count = int(frame["contacts"]) if self.contacts else 0
        self._arrows.visible = self._points.visible = count > 0
        if count == 0:
            return
        point, force = frame["point"][:count], frame["force"][:count]
        up = np.where(self._setup.balance.shape_link[frame["pair"][:count, 1]] < 0, -1.0, 1.0)[:, None]
        arrow = up * force * self._force_scale  # on what moves
        length = np.linalg.norm(arrow, axis=1)
        acting = length > 1e-3 * self._radius
        arrow *= np.minimum(1.0, self._radius / np.maximum(length, 1e-12))[:, None]
        ends = np.stack([point, point + arrow], axis=1)[acting]
        self._points.points = point
        self._arrows.visible = bool(acting.any())
        if acting.any():
            self._arrows.points = ends.astype(np.float32)

    def _show_joints(self, position: Array, turn: Array) -> None:
        joints = self._setup.joints
        self._lines.visible = self.joints and len(joints.link) > 0
        if self._lines.visible:
            ends = [position[joints.link] + rotated(turn[joints.link], joints.ends[:, k]) for k in (0, 1)]
            self._lines.points = np.stack(ends, axis=1)

    def _show_balance(self, frame: Any, position: Array, turn: Array) -> None:
        """Centre of mass of the heaviest mechanism, its plumb line and the polygon of the points it stands on."""
        balance = self._setup.balance
        on = self.balance and len(balance.link) > 0
        self._center.visible = on
        feet = self._feet(frame) if on else np.zeros((0, 3))
        self._plumb.visible = on and len(feet) > 0
        self._support.visible = on and len(feet) > 2
        if not on:
            return
        places = position[balance.link] + rotated(turn[balance.link], balance.center)
        center = balance.mass @ places / balance.mass.sum()
        self._center.position = center
        if len(feet):
            ground = np.array([center[0], center[1], feet[:, 2].mean()])
            self._plumb.points = np.stack([center, ground])[None]
        if len(feet) > 2:
            rim = convex_hull_2d(feet) + np.array([0.0, 0.0, LIFT * self._radius])
            self._support.points = np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)

    def _feet(self, frame: Any) -> Array:
        """[n, 3] points where the mechanism stands on the world."""
        balance, count = self._setup.balance, int(frame["contacts"])
        links = balance.shape_link[frame["pair"][:count]]
        ours = np.isin(links, balance.link).any(axis=1) & (links < 0).any(axis=1)
        loaded = np.linalg.norm(frame["force"][:count], axis=1) > 0
        return np.asarray(frame["point"][:count][ours & loaded])
