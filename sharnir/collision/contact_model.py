"""Contact model of a model on a device: its shapes, which pairs may collide, and properties of pairs of materials."""

from __future__ import annotations

import warp as wp

from sharnir.collision.broad_phase import BroadPhase
from sharnir.collision.shapes import Geometry
from sharnir.enums import MaterialProperty
from sharnir.kernels.types import real, vec3
from sharnir.kernels.vector_ops import indices

PROPERTIES_PER_PAIR = len(MaterialProperty)


@wp.struct
class ContactModel:
    """Contact model of a model: its shapes, which pairs may collide, and materials."""

    geo: Geometry
    has_pairs: int  # 1 if any two shapes may collide
    only_round: int  # 1 if all shapes are spheres, capsules and half-spaces
    only_convex: int  # 1 if there are no height fields and no meshes
    # 1 if velocities before the step matter: for restitution, or static friction above sliding friction
    needs_velocity_before: int
    has_restitution: int  # 1 if any pair of materials bounces
    broad_phase: BroadPhase
    speculative_margin: real  # m, gap up to which contacts are found besides what motion asks for
    material_count: int
    material: indices  # [shape]
    material_pair_table: wp.array(dtype=real)  # [PROPERTIES_PER_PAIR material²] of pairs of materials
    sprocket: indices  # [shape] link of the sprocket whose belt runs round it, -1 for none
    belt_lever: wp.array(dtype=vec3)  # [shape] m, sprocket radius times its axis, link axes
    # [shape] velocity of the surface relative to its body (conveyor), link axes, m/s
    surface_velocity: wp.array(dtype=vec3)
