"""Who may touch whom, and what the surfaces do: MuJoCo's rules written out in groups, masks, pairs and materials.

MuJoCo's contacts are soft. Ours are rigid: of `solref` only the bounce is kept, which its damping ratio ζ < 1 leaves,
e = exp(−π ζ / √(1 − ζ²)); `solimp` and the time constant, which say how far surfaces sink in, mean nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from sharnir.io.convert.overlaps import Bools, Pair, overlapping_links
from sharnir.io.convert.source import Source
from sharnir.rotations import Array
from sharnir.spec.elements import Material, Shape
from sharnir.spec.import_report import CHANGED
from sharnir.spec.pairs import ContactPair, MaterialPair
from sharnir.spec.scene import WORLD

GROUPS = 31  # bits of groups and masks


class Surface(NamedTuple):
    """What MuJoCo mixes where two geoms meet."""

    friction: tuple[float, float, float]
    dimensions: int
    priority: int
    solmix: float
    solref: tuple[float, float]


def add_contacts(source: Source, exclude_overlapping: bool) -> None:
    """Groups, masks and materials of all shapes, and the pairs that these do not say. exclude_overlapping: links that
    overlap at the start do not touch, nor does a link that is fixed to the world and those jointed to it."""
    if not source.shapes:
        return
    may = bits_allow(source)
    _set_groups(source)
    _set_materials(source)
    _add_pairs(source, may, exclude_overlapping)
    used = {shape.material.name for g in source.shapes for shape in shapes_of(source, g)}
    pairs = source.scene.material_pairs
    source.scene.material_pairs = [p for p in pairs if p.first in used and p.second in used]


def shapes_of(source: Source, g: int) -> Sequence[Shape]:
    """The shapes a geom became: one, or the parts of a mesh."""
    carrier, numbers = source.shapes[g]
    there = source.scene.shapes if carrier == 0 else source.body(carrier).shapes
    return there[numbers.start : numbers.stop]


def bits_allow(source: Source) -> Bools:
    """[geoms, geoms] whether the bits of two geoms let them touch: one's type meets the other's affinity."""
    m = source.model
    one = (m.geom_contype[:, None].astype(np.int64) & m.geom_conaffinity[None, :].astype(np.int64)) != 0
    return np.asarray(one | one.T)


def _set_groups(source: Source) -> None:
    """A bit for every kind of geom that differs, and a mask of the kinds it touches."""
    m = source.model
    kinds = {g: (int(m.geom_contype[g]), int(m.geom_conaffinity[g])) for g in source.shapes}
    order = list(dict.fromkeys(kinds.values()))
    if len(order) > GROUPS:
        reason = f"there are more than {GROUPS} kinds of contype and conaffinity; all geoms of the others touch all"
        source.report.add("geom", "contype and conaffinity", reason)
    number = {kind: min(k, GROUPS - 1) for k, kind in enumerate(order)}
    for g, (contype, affinity) in kinds.items():
        mask = sum(1 << k for k in {number[o] for o in order if contype & o[1] or o[0] & affinity})
        for shape in shapes_of(source, g):
            shape.group, shape.mask = 1 << number[kinds[g]], mask


# materials


def _surface(source: Source, g: int) -> Surface:
    m = source.model
    friction = tuple(float(x) for x in m.geom_friction[g])
    solref = tuple(float(x) for x in m.geom_solref[g])
    return Surface(friction, int(m.geom_condim[g]), int(m.geom_priority[g]), float(m.geom_solmix[g]), solref)  # type: ignore[arg-type]


def _set_materials(source: Source) -> None:
    """A material for every surface that differs; pairs of materials where the larger coefficient is not MuJoCo's."""
    surfaces = {g: _surface(source, g) for g in source.shapes}
    names = {s: f"surface {k}" for k, s in enumerate(dict.fromkeys(surfaces.values()))}
    made = {s: _material(names[s], mixed(s, s)) for s in names}
    for g, surface in surfaces.items():
        for shape in shapes_of(source, g):
            shape.material = made[surface]
    for a, b in combinations(names, 2):
        wanted = mixed(a, b)
        expected = {k: max(getattr(made[a], k), getattr(made[b], k)) for k in wanted}
        if wanted != expected:
            source.scene.add(MaterialPair(first=names[a], second=names[b], **wanted))


def _material(name: str, values: dict[str, float]) -> Material:
    return Material(name=name, combine="largest", **values)


def mixed(a: Surface, b: Surface) -> dict[str, float]:
    """Our coefficients where two surfaces meet."""
    if a.priority != b.priority:
        a = b = a if a.priority > b.priority else b
    friction = tuple(max(pair) for pair in zip(a.friction, b.friction, strict=True))
    total = a.solmix + b.solmix
    share = a.solmix / total if total > 0 else 0.5
    both = np.array([a.solref, b.solref])
    solref = share * both[0] + (1 - share) * both[1] if (both[:, 0] > 0).all() else both.min(axis=0)
    return coefficients(friction, max(a.dimensions, b.dimensions), solref)  # type: ignore[arg-type]


def coefficients(friction: tuple[float, float, float], dimensions: int, solref: Array) -> dict[str, float]:
    """Coefficients of a contact of 1, 3, 4 or 6 dimensions."""
    sliding, spinning, rolling = friction
    return {
        "friction": sliding if dimensions > 1 else 0.0, "spinning": spinning if dimensions > 3 else 0.0,
        "rolling": rolling if dimensions > 4 else 0.0, "restitution": bounce(solref),
    }  # fmt: skip


def bounce(solref: Array) -> float:
    """Speed after over speed before an impact on MuJoCo's spring and damper, by its damping ratio."""
    first, second = (float(x) for x in solref)
    ratio = second if first > 0 else -second / (2 * np.sqrt(-first)) if first < 0 else 1.0
    if ratio >= 1:
        return 0.0
    return float(np.exp(-np.pi * ratio / np.sqrt(1 - ratio**2))) if ratio > 0 else 1.0


# pairs


def _add_pairs(source: Source, may: Bools, exclude_overlapping: bool) -> None:
    """Contact pairs for bodies whose joints and masks say something else than MuJoCo's rules."""
    carriers: dict[int, list[int]] = {}
    for g, (carrier, _) in source.shapes.items():
        carriers.setdefault(carrier, []).append(g)
    apart = _joined(source)
    touch = _touching(source, may, exclude_overlapping)
    if exclude_overlapping:
        _report_bases(source, _touching(source, may, False) & ~touch)
        touch &= ~_between(source, overlapping_links(source, touch))
    source.touch = touch
    for a, b in combinations(sorted(carriers), 2):
        pairs = [(g, h) for g in carriers[a] for h in carriers[b]]
        wanted = [bool(touch[g, h]) for g, h in pairs]
        ours = [bool(may[g, h]) and frozenset((a, b)) not in apart for g, h in pairs]
        if wanted == ours:
            continue
        ends: dict[str, Any] = {"first": source.body_names[a] if a else WORLD, "second": source.body_names[b]}
        if all(wanted) or (a and not any(wanted)):  # a user may add more to the world, which the file does not speak of
            source.scene.add(ContactPair(**ends, touch=any(wanted)))
            continue
        for (g, h), yes, is_ours in zip(pairs, wanted, ours, strict=True):
            if yes != is_ours:
                for i, j in product(source.shapes[g][1], source.shapes[h][1]):
                    source.scene.add(ContactPair(**ends, touch=bool(yes), first_shape=i, second_shape=j))


def _touching(source: Source, may: Bools, fixed_too: bool) -> Bools:
    """[geoms, geoms] whether MuJoCo lets two geoms touch: by their bits and its filters, or by a list of pairs.
    fixed_too: see `_filtered`."""
    m, out = source.model, may.copy()
    excluded = {(int(s) & 0xFFFF, int(s) >> 16) for s in m.exclude_signature}
    for g, h in combinations(sorted(source.shapes), 2):
        if _filtered(source, g, h, excluded, fixed_too):
            out[g, h] = out[h, g] = False
    for g, h in _listed(source):
        out[g, h] = True
    return out


def _report_bases(source: Source, only_there: Bools) -> None:
    """What touches in MuJoCo only, which counts a base that is fixed to the world as part of the floor."""
    body = source.model.geom_bodyid
    pairs = {Pair((int(body[g]), int(body[h]))) for g, h in np.argwhere(only_there).tolist()}
    for ends in sorted(pairs, key=sorted):
        name = " and ".join(source.body_names[b] for b in sorted(ends))
        reason = "do not touch, since a joint connects them; in MuJoCo they do, since one of them is fixed to the world"
        source.report.add("links", name, reason, CHANGED)


def _between(source: Source, links: set[Pair]) -> Bools:
    """[geoms, geoms] whether two geoms belong to a pair of bodies."""
    out = np.zeros((source.model.ngeom, source.model.ngeom), dtype=bool)
    for a, b in links:
        one, two = (source.model.geom_bodyid == k for k in (a, b))
        out |= np.outer(one, two) | np.outer(two, one)
    return out


def _joined(source: Source) -> set[frozenset[int]]:
    """Pairs of bodies that do not touch here because a joint connects them."""
    number = {name: b for b, name in enumerate(source.body_names)}
    ends = [(number.get(j.parent, 0), number.get(j.child, 0)) for j in source.scene.joints]
    return {frozenset(pair) for pair in ends if 0 not in pair}


def _filtered(source: Source, g: int, h: int, excluded: set[tuple[int, int]], fixed_too: bool) -> bool:
    """Whether MuJoCo keeps two geoms apart: parts of one rigid whole, parent and child of it, or an excluded pair.
    fixed_too: also where the parent is fixed to the world, which for MuJoCo is part of the floor."""
    m = source.model
    a, b = int(m.geom_bodyid[g]), int(m.geom_bodyid[h])
    if (a, b) in excluded or (b, a) in excluded:
        return True
    one, two = source.weld[a], source.weld[b]
    if one == two:
        return True
    if not (source.on("parent filter") and (fixed_too or (one and two))):
        return False
    return one == source.weld[int(m.body_parentid[two])] or two == source.weld[int(m.body_parentid[one])]


def _listed(source: Source) -> set[tuple[int, int]]:
    """Pairs of geoms the file lists, with the coefficients it gives them, as materials of their own."""
    m = source.model
    out: set[tuple[int, int]] = set()
    for p in range(m.npair):
        ends = int(m.pair_geom1[p]), int(m.pair_geom2[p])
        if not all(g in source.shapes for g in ends):
            continue
        out |= {ends, ends[::-1]}
        for g in ends:
            if not str(shapes_of(source, g)[0].material.name).startswith("geom "):
                _name_alone(source, g)
        values = coefficients(m.pair_friction[p][[0, 2, 3]], int(m.pair_dim[p]), m.pair_solref[p])
        first, second = (f"geom {g}" for g in ends)
        source.scene.material_pairs = [
            q for q in source.scene.material_pairs if {q.first, q.second} != {first, second}
        ]  # fmt: skip
        source.scene.add(MaterialPair(first=first, second=second, **values))
    return out


def _name_alone(source: Source, g: int) -> None:
    """Give a geom's material a name of its own, with what pairs said of it."""
    from dataclasses import replace

    old = shapes_of(source, g)[0].material.name
    for shape in shapes_of(source, g):
        shape.material = replace(shape.material, name=f"geom {g}")
    for pair in list(source.scene.material_pairs):
        if old in (pair.first, pair.second):
            other = pair.second if pair.first == old else pair.first
            source.scene.add(replace(pair, first=f"geom {g}", second=other))
