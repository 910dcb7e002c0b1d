"""Bounds of joint coordinates: pairs (lower, upper), and what the three of a rotation mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sharnir.checks import is_number, number
from sharnir.enums import LimitKind
from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.rotations import Array
from sharnir.spec.joints import Free, Joint, Spherical

ANGLE_LIMIT_KINDS = {
    "twist": LimitKind.TWIST,
    "euler": LimitKind.EULER,
    "cone": LimitKind.CONE,
    "angle": LimitKind.ANGLE,
}


def joint_limits(element: str, joint: Joint) -> dict[str, Any]:
    """Lower and upper bounds [nv], infinite where there are none, and their kinds [nv] (sharnir.enums)."""
    bounds = check_limit_pairs(element, joint)
    kinds = np.where(np.isfinite(bounds).any(axis=1), LimitKind.COORDINATE, LimitKind.NONE).astype(np.int32)
    meaning = check_angle_limit_kind(element, joint)
    if isinstance(joint, (Spherical, Free)):
        if kinds[-3:].any():
            kinds[-3:] = meaning
            check_angles(element, bounds[-3:], meaning)
    elif meaning != LimitKind.TWIST:
        allowed = "no limit_angles; those of a Spherical or Free joint"
        raise fail(element, "limit_angles means nothing here", shown(joint.limit_angles), allowed)
    return {"limit_lower": bounds[:, 0], "limit_upper": bounds[:, 1], "limit_angles": kinds}


def check_angle_limit_kind(element: str, joint: Joint) -> int:
    """Check and return the meaning (LimitKind) of a ball's three pairs of bounds."""
    if not isinstance(joint.limit_angles, str) or joint.limit_angles not in ANGLE_LIMIT_KINDS:
        raise ModelError(f"{element}: {unknown('limit_angles', joint.limit_angles, ANGLE_LIMIT_KINDS)}")
    return ANGLE_LIMIT_KINDS[joint.limit_angles]


def check_limit_pairs(element: str, joint: Joint) -> Array:
    """[nv, 2] lower and upper bounds of a joint, checked."""
    value, size = joint.limits, joint.nv
    if value is None:
        return np.tile([-np.inf, np.inf], (size, 1))
    pairs = (value,) if size == 1 and _is_list(value, 2) and all(is_number(v) for v in value) else value
    if not _is_list(pairs, size) or not all(_is_list(pair, 2) for pair in pairs):
        allowed = {0: "nothing: there are no coordinates", 1: "a pair (lower, upper)"}
        problem = "limits has the wrong shape"
        raise fail(element, problem, shown(value), allowed.get(size, f"{size} pairs (lower, upper)"))
    return np.array([check_bounds(element, pair) for pair in pairs]).reshape(size, 2)


def _is_list(value: Any, size: int) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and len(value) == size


def check_bounds(element: str, pair: Any, field: str = "limits") -> tuple[float, float]:
    """Check a pair (lower, upper) and return it."""
    allowed = "(lower, upper) with lower ≤ upper, lower < inf and upper > -inf"
    if not _is_list(pair, 2):
        raise fail(element, f"{field} has the wrong shape", shown(pair), allowed)
    lower, upper = (number(element, f"{field} component", x, infinite=(-np.inf, np.inf)) for x in pair)
    if not lower <= upper or lower == np.inf or upper == -np.inf:
        raise fail(element, f"{field} leave nothing", shown(pair), allowed)
    return lower, upper


def check_angles(element: str, bounds: Array, meaning: int) -> None:
    """The three pairs of a rotation must be within the range of the angles they bound."""
    if meaning == LimitKind.ANGLE and not (np.ptp(np.abs(bounds)) == 0 and 0 < bounds[0, 1] == -bounds[0, 0] < np.pi):
        raise fail(element, "limits are no angle", shown(bounds.tolist()), "three pairs (-s, s) of one s, 0 < s < π")
    for k, axis in enumerate("xyz"):
        given = f"{axis} pair {shown(tuple(bounds[k].tolist()))}"
        if meaning == LimitKind.CONE and k < 2:
            if bounds[k, 0] != -bounds[k, 1] or not 0 < bounds[k, 1] < np.pi:
                raise fail(element, "limits are no cone", given, "x and y pairs (-s, s) with 0 < s < π")
            continue
        most = np.nextafter(np.pi / 2, 0) if meaning == LimitKind.EULER and k == 1 else np.pi
        if np.abs(bounds[k][np.isfinite(bounds[k])]).max(initial=0.0) > most:
            allowed = "bounds between -π/2 and π/2" if most < 2 else "bounds from -π to π"
            raise fail(element, "limits of an angle are out of range", given, f"{allowed}, or none: -inf and inf")
