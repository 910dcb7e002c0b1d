"""Which shapes of a model may touch, and with what coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.collision.broad_phase import broad_on
from sharnir.collision.filters import filter_of
from sharnir.collision.pipeline import RESTITUTION, ROLLING, SLIDING, SPINNING, STATIC, Surfaces
from sharnir.collision.shapes_upload import geometry_on
from sharnir.enums import CAPSULE, HALF_SPACE, HEIGHT_FIELD, MESH, SPHERE
from sharnir.kernels.types import np_real, real, vec3

if TYPE_CHECKING:
    from sharnir.model.model import Model

MARGIN = 0.002  # m, of contact that is seen before it happens, whatever the speed


def surfaces_on(model: Model, device: str) -> tuple[Surfaces, bool]:
    """The model's surfaces on a device, and whether any of them resists spin or rolling."""
    out = Surfaces()
    out.geo = geometry_on(model, device)
    table, may = model.material_table, filter_of(model)
    out.any, out.materials, out.margin = int(may.any()), len(table), real(MARGIN)
    out.rounds = int(np.isin(model.shape_kind, (SPHERE, CAPSULE, HALF_SPACE)).all())
    out.solids = int(not np.isin(model.shape_kind, (HEIGHT_FIELD, MESH)).any())
    out.looks_back = int(((table[:, :, RESTITUTION] > 0) | (table[:, :, STATIC] > table[:, :, SLIDING])).any())
    out.broad = broad_on(model.shape_kind, may, device)
    out.material = wp.array(model.shape_material, dtype=int, device=device)
    out.table = wp.array(table.reshape(-1).astype(np_real), dtype=real, device=device)
    out.sprocket = wp.array(model.shape_sprocket, dtype=int, device=device)
    out.run = wp.array(model.shape_run.astype(np_real), dtype=vec3, device=device)
    out.drift = wp.array(model.shape_drift.astype(np_real), dtype=vec3, device=device)
    return out, bool((table[:, :, [ROLLING, SPINNING]] > 0).any())
