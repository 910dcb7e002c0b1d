"""Which shapes of a model may touch, and with what coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.collide.broad import broad_on
from sharnir.collide.geometry_on import geometry_on
from sharnir.collide.touching import PROPERTIES, RESTITUTION, ROLLING, SLIDING, SPINNING, STATIC, THRESHOLD, Surfaces
from sharnir.compiler.materials import combined
from sharnir.kinds import CAPSULE, HALF_SPACE, SPHERE
from sharnir.maths import np_real, real, vec3

if TYPE_CHECKING:
    from sharnir.model import Model, Reals

MARGIN = 0.002  # m, of contact that is seen before it happens, whatever the speed


def excluded_links(model: Model) -> list[tuple[int, int]]:
    """Pairs of links that never touch: parent and child, whether their joint carries the tree or closes a loop."""
    tree = [(int(parent), i) for i, parent in enumerate(model.parent)]
    loops = [(int(min(pair)), int(max(pair))) for pair in model.loop_link]
    return sorted({pair for pair in (*tree, *loops) if pair[0] >= 0})


def any_pair(model: Model) -> bool:
    """Whether any two shapes may touch."""
    kinds = {
        (int(link), *map(int, filter_)) for link, filter_ in zip(model.shape_link, model.shape_filter, strict=True)
    }
    excluded = set(excluded_links(model))
    return any(
        a[0] < b[0] and (a[0], b[0]) not in excluded and a[1] & b[2] and b[1] & a[2] for a in kinds for b in kinds
    )


def material_table(model: Model) -> Reals:
    """[materials, materials, PROPERTIES] of pairs."""
    count = len(model.material)
    table = np.zeros((count, count, PROPERTIES))
    for i, a in enumerate(model.material):
        for j, b in enumerate(model.material):
            table[i, j] = combined(max(model.material_rule[i], model.material_rule[j]), a, b)
            table[i, j, THRESHOLD] = max(a[THRESHOLD], b[THRESHOLD])
    return table


def surfaces_on(model: Model, device: str) -> tuple[Surfaces, bool]:
    """The model's surfaces on a device, and whether any of them resists spin or rolling."""
    out = Surfaces()
    out.geo = geometry_on(model, device)
    table = material_table(model)
    out.any, out.materials, out.margin = int(any_pair(model)), len(table), real(MARGIN)
    out.rounds = int(np.isin(model.shape_kind, (SPHERE, CAPSULE, HALF_SPACE)).all())
    out.looks_back = int(((table[:, :, RESTITUTION] > 0) | (table[:, :, STATIC] > table[:, :, SLIDING])).any())
    excluded = np.array(excluded_links(model), dtype=np.int32).reshape(-1, 2)
    out.broad = broad_on(model.shape_kind, model.shape_link, *model.shape_filter.T, excluded, device)
    out.material = wp.array(model.shape_material, dtype=int, device=device)
    out.table = wp.array(table.reshape(-1).astype(np_real), dtype=real, device=device)
    out.drift = wp.array(model.shape_drift.astype(np_real), dtype=vec3, device=device)
    return out, bool((table[:, :, [ROLLING, SPINNING]] > 0).any())
