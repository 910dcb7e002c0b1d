"""The anthropomorphic robot before a valve in a furnished room. What it does there: `skybot.turn_valve`."""

from __future__ import annotations

import numpy as np

from sharnir.scenes.room import add_room, add_valve
from sharnir.scenes.skybot import add_skybot, standing
from sharnir.spec.elements import Material
from sharnir.spec.scene import Scene

FRICTION, GRIP, TORQUE = 0.9, 0.8, 6.0  # of the floor, of the rim, N m of the stem
VARIED = 0.1  # share by which a seed changes them at most


def humanoid_valve(seed: int = 0, torque: float = TORQUE) -> Scene:
    """An anthropomorphic robot of 110 kg and 48 motors stands before a valve in a furnished room.

    seed: of the initial pose and of friction on the floor, at the rim and in the stem, each up to 10 % off.
    torque: N m, of dry friction in the stem, before that.
    """
    random = np.random.default_rng(seed)
    floor, rim, stem = (1.0 + VARIED * random.uniform(-1.0, 1.0, 3)) * (FRICTION, GRIP, torque)
    scene = Scene(name="humanoid_valve")
    add_room(scene, floor)
    add_skybot(scene, standing(random), Material(friction=floor))
    add_valve(scene, stem, rim)
    return scene
