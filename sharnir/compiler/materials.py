"""Materials as arrays: every one that differs, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.compiler.checks import number
from sharnir.errors import described, fail, shown
from sharnir.rotations import Array
from sharnir.spec.elements import Material

RULES = ("geometric", "average", "product", "least", "largest")  # where two differ, the later one decides


def material_values(element: str, material: Any) -> tuple[float, ...]:
    """Friction sliding and static, rolling, spinning, restitution, threshold, rule."""
    if not isinstance(material, Material):
        raise fail(element, "material is something else", described(material), "a Material")
    where = f"{element}, material"
    friction = number(where, "friction", material.friction, least=0)
    static = friction
    if material.static_friction is not None:
        static = number(where, "static_friction", material.static_friction, least=friction)
    rolling = number(where, "rolling", material.rolling, least=0)
    spinning = number(where, "spinning", material.spinning, least=0)
    restitution = number(where, "restitution", material.restitution, least=0)
    if restitution > 1:
        raise fail(where, "restitution is out of range", material.restitution, "0 to 1")
    threshold = number(where, "threshold", material.threshold, least=0)
    if material.combine not in RULES:
        raise fail(where, "combine is unknown", shown(material.combine), ", ".join(RULES))
    return friction, static, rolling, spinning, restitution, threshold, float(RULES.index(material.combine))


def material_arrays(values: list[tuple[float, ...]]) -> dict[str, Any]:
    """Material of every shape, and the materials."""
    kinds, index = np.unique(np.array(values, dtype=float).reshape(-1, 7), axis=0, return_inverse=True)
    return {
        "shape_material": index.reshape(-1).astype(np.int32),
        "material": kinds[:, :6].copy(),
        "material_rule": kinds[:, 6].astype(np.int32),
    }


def combined(rule: int, a: Array, b: Array) -> Array:
    """Coefficients of a pair."""
    if RULES[rule] == "geometric":
        return np.sqrt(a * b)
    if RULES[rule] == "average":
        return (a + b) / 2
    if RULES[rule] == "product":
        return a * b
    return np.minimum(a, b) if RULES[rule] == "least" else np.maximum(a, b)
