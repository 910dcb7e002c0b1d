"""Materials as arrays: each distinct one once, and the combined coefficients of every two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sharnir.checks import number
from sharnir.errors import ModelError, described, fail, shown, unknown
from sharnir.rotations import Array
from sharnir.spec.elements import Material
from sharnir.spec.pairs import MaterialPair

COMBINE_RULES = ("geometric", "average", "product", "least", "largest")  # where two differ, the later one decides
COEFFICIENTS = ("friction", "static_friction", "rolling", "spinning", "restitution", "threshold")
THRESHOLD = COEFFICIENTS.index("threshold")


def material_arrays(given: Sequence[tuple[str, Any]], pairs: Sequence[MaterialPair]) -> dict[str, Any]:
    """Material of every shape, the materials, and the coefficients of all pairs of them. given: of every shape, how
    errors name it and its material."""
    values = [material_values(element, material) for element, material in given]
    names = {m.name: v for (_, m), v in zip(given, values, strict=True) if m.name is not None}
    for (element, m), v in zip(given, values, strict=True):
        if m.name is not None and names[m.name] != v:
            problem = f"material {m.name!r} is described in two ways"
            raise fail(element, problem, shown(m), "the same values wherever a material has this name")
    check_material_pairs(pairs, list(names))
    named_index = {name: k for k, name in enumerate(dict.fromkeys(n for p in pairs for n in (p.first, p.second)))}
    rows = [(*v, named_index.get(m.name, -1)) for (_, m), v in zip(given, values, strict=True)]
    distinct, index = np.unique(np.array(rows, dtype=float).reshape(-1, 8), axis=0, return_inverse=True)
    table = combine_all(distinct[:, :6], distinct[:, 6].astype(np.int32))
    for pair in pairs:
        i, j = (int(np.flatnonzero(distinct[:, 7] == named_index[name])[0]) for name in (pair.first, pair.second))
        table[i, j] = table[j, i] = pair_values(pair, table[i, j])
    return {
        "shape_material": index.reshape(-1).astype(np.int32),
        "material": distinct[:, :6].copy(),
        "material_table": table,
    }


def material_values(element: str, material: Any) -> tuple[float, ...]:
    """COEFFICIENTS and rule."""
    if not isinstance(material, Material):
        raise fail(element, "material is something else", described(material), "a Material")
    where = f"{element}, material"
    if material.name is not None and (not isinstance(material.name, str) or not material.name):
        raise fail(where, "name is not text", shown(material.name), "a non-empty name, or none")
    values = {name: check_coefficient(where, material, name) for name in COEFFICIENTS if name != "static_friction"}
    values["static_friction"] = values["friction"]
    if material.static_friction is not None:
        values["static_friction"] = check_coefficient(where, material, "static_friction", values["friction"])
    if material.combine not in COMBINE_RULES:
        raise fail(where, "combine is unknown", shown(material.combine), ", ".join(COMBINE_RULES))
    return *(values[name] for name in COEFFICIENTS), float(COMBINE_RULES.index(material.combine))


def check_coefficient(where: str, element: Material | MaterialPair, name: str, least: float = 0.0) -> float:
    """One of COEFFICIENTS, judged."""
    value = number(where, name, getattr(element, name), least=least)
    if name == "restitution" and value > 1:
        raise fail(where, "restitution is out of range", element.restitution, "0 to 1")
    return value


def combine_all(material: Array, rule: Array) -> Array:
    """[materials, materials, 6] what materials [materials, 6] make of each other by their rules [materials]."""
    count = len(material)
    a = np.broadcast_to(material[:, None], (count, count, 6))
    b = a.swapaxes(0, 1)
    of_pair = np.maximum(rule[:, None], rule)
    table = np.zeros((count, count, 6))
    for k in range(len(COMBINE_RULES)):
        here = of_pair == k
        table[here] = combine(COMBINE_RULES[k], a[here], b[here])
    table[:, :, THRESHOLD] = np.maximum(a, b)[:, :, THRESHOLD]
    return table


def combine(rule: str, a: Array, b: Array) -> Array:
    """Coefficients of pairs by a combine rule."""
    if rule == "geometric":
        return np.sqrt(a * b)
    if rule == "average":
        return (a + b) / 2
    if rule == "product":
        return a * b
    return np.minimum(a, b) if rule == "least" else np.maximum(a, b)


def describe_material_pair(pair: MaterialPair) -> str:
    """As errors name it."""
    return f"material pair {shown(pair.first)} and {shown(pair.second)}"


def check_material_pairs(pairs: Sequence[MaterialPair], names: list[str]) -> None:
    """Materials that pairs speak of exist, and every pair is given once."""
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        element, ends = describe_material_pair(pair), (pair.first, pair.second)
        for name in ends:
            if name not in names:
                raise ModelError(f"{element}: {unknown('material', name, names)}")
        if frozenset(ends) in seen:
            raise fail(element, "is given twice", "another one for the same names", "one for two materials")
        seen.add(frozenset(ends))


def pair_values(pair: MaterialPair, combined: Array) -> Array:
    """COEFFICIENTS of a pair, those left out as the rules combine them."""
    where = describe_material_pair(pair)
    given = {name for name in COEFFICIENTS if getattr(pair, name) is not None}
    if not given:
        raise fail(where, "gives no coefficient", "none", f"one or more of {', '.join(COEFFICIENTS)}")
    values = dict(zip(COEFFICIENTS, combined.tolist(), strict=True))
    values |= {name: check_coefficient(where, pair, name) for name in given}
    if "static_friction" in given:
        check_coefficient(where, pair, "static_friction", values["friction"])
    elif "friction" in given:
        values["static_friction"] = values["friction"]
    return np.array([values[name] for name in COEFFICIENTS])
