"""Upload of the contact model: shapes, filters, materials and belts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.collision.broad_phase import upload_broad_phase
from sharnir.collision.contact_model import ContactModel
from sharnir.collision.filters import build_collision_filter
from sharnir.collision.shapes_upload import upload_geometry
from sharnir.enums import MaterialProperty, ShapeKind
from sharnir.kernels.types import np_real, real, vec3

if TYPE_CHECKING:
    from sharnir.model.model import Model

SPECULATIVE_DISTANCE = 0.002  # m, gap up to which contacts are found at any speed (speculative contacts)


def upload_contact_model(model: Model, device: str) -> tuple[ContactModel, bool]:
    """Upload a model's contact model to a device; also returns whether any pair of materials has torsional or rolling
    friction."""
    out = ContactModel()
    out.geo = upload_geometry(model, device)
    table, collision_filter = model.material_table, build_collision_filter(model)
    out.has_pairs, out.material_count, out.speculative_margin = (
        int(collision_filter.any()),
        len(table),
        real(SPECULATIVE_DISTANCE),
    )
    out.only_round = int(np.isin(model.shape_kind, (ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.HALF_SPACE)).all())
    out.only_convex = int(not np.isin(model.shape_kind, (ShapeKind.HEIGHT_FIELD, ShapeKind.MESH)).any())
    out.needs_velocity_before = int(
        (
            (table[:, :, MaterialProperty.RESTITUTION] > 0)
            | (table[:, :, MaterialProperty.STATIC_FRICTION] > table[:, :, MaterialProperty.SLIDING_FRICTION])
        ).any()
    )
    out.has_restitution = int((table[:, :, MaterialProperty.RESTITUTION] > 0).any())
    out.broad_phase = upload_broad_phase(model.shape_kind, collision_filter, device)
    out.material = wp.array(model.shape_material, dtype=int, device=device)
    out.material_pair_table = wp.array(table.reshape(-1).astype(np_real), dtype=real, device=device)
    out.sprocket = wp.array(model.shape_sprocket, dtype=int, device=device)
    out.belt_lever = wp.array(model.shape_run.astype(np_real), dtype=vec3, device=device)
    out.surface_velocity = wp.array(model.shape_drift.astype(np_real), dtype=vec3, device=device)
    return out, bool((table[:, :, [MaterialProperty.ROLLING_FRICTION, MaterialProperty.TORSIONAL_FRICTION]] > 0).any())
