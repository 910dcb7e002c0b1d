"""An anthropomorphic robot of the size and mass of Skybot F-850: 110 kg, 1.81 m, 48 geared DC motors.

`body.py` its trunk, legs and arms, `hand.py` its hands, `motors.py` its nameplates, `servos.py` the loops that hold its
joints, `whole_body.py` what moves them together, `turn_valve.py` what it does with a valve. Upright with hanging arms
all angles are zero; x forward, y left, z up. Angles have the same sign on both sides: positive raises an arm or a leg
aside and turns toes outward.
"""

from __future__ import annotations

from sharnir.scenes.skybot.body import HEIGHT, add_skybot, standing

__all__ = ["HEIGHT", "add_skybot", "standing"]
