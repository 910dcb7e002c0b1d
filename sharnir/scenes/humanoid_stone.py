"""The anthropomorphic robot before a stone on a table in a furnished room. What it does there: `skybot.lift_stone`."""

from __future__ import annotations

import numpy as np

from sharnir.scenes.room import add_room, add_stone
from sharnir.scenes.skybot import add_skybot, standing
from sharnir.spec.elements import Material
from sharnir.spec.scene import Scene

FRICTION, GRIP, MASS = 0.9, 0.8, 6.0  # of the floor, of stone and table, kg of the stone
VARIED = 0.1  # share by which a seed changes them at most
MOVED = (0.01, 0.02, 0.1)  # m forward, m aside and rad, by which a seed moves the stone at most


def humanoid_stone(seed: int = 0) -> Scene:
    """An anthropomorphic robot of 110 kg and 48 motors stands before a table with a stone on it.

    seed: of the initial pose, of friction on the floor and of the stone, and of the stone's mass, each up to 10 % off,
    and of where the stone lies, up to 1 cm, 2 cm and 0.1 rad off.
    """
    random = np.random.default_rng(seed)
    floor, rough, mass = (1.0 + VARIED * random.uniform(-1.0, 1.0, 3)) * (FRICTION, GRIP, MASS)
    scene = Scene(name="humanoid_stone")
    add_room(scene, floor)
    add_skybot(scene, standing(random), Material(friction=floor))
    add_stone(scene, mass, rough, random.uniform(-1.0, 1.0, 3) * MOVED)
    return scene
