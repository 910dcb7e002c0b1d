"""Contact pairs: pairs of bodies or shapes that may or may not touch because the user says so, as pairs of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sharnir.errors import ModelError, fail, shown, unknown
from sharnir.model.model import check_index
from sharnir.spec.pairs import ContactPair
from sharnir.spec.scene import WORLD, Scene

End = tuple[str, int | None]  # a body, and which of its shapes; None: all


def contact_pair_arrays(scene: Scene, carriers: list[str]) -> dict[str, Any]:
    """Shape pairs for which the user states whether they may touch, expanded from contact pairs of bodies; those that
    name more shapes win. carriers: the body of every shape."""
    numbers: dict[str, list[int]] = {WORLD: [], **{body.name: [] for body in scene.bodies}}
    for number, carrier in enumerate(carriers):
        numbers[carrier].append(number)
    ends = [_ends(pair, numbers) for pair in scene.contact_pairs]
    _check_once(scene.contact_pairs, ends)
    rulings: dict[tuple[int, int], tuple[int, ContactPair]] = {}
    shapes_named = [sum(shape is not None for _, shape in pair) for pair in ends]  # how many shapes it names
    for k in sorted(range(len(ends)), key=lambda k: -shapes_named[k]):
        pair = scene.contact_pairs[k]
        first, second = (numbers[body] if shape is None else [numbers[body][shape]] for body, shape in ends[k])
        for key in ((min(a, b), max(a, b)) for a in first for b in second):
            other_shapes_named, other = rulings.setdefault(key, (shapes_named[k], pair))
            if other_shapes_named == shapes_named[k] and other.touch != pair.touch:
                given = f"touch {pair.touch}, and touch {other.touch} by {describe_contact_pair(other)}"
                allowed = "one that names both shapes, to decide"
                raise fail(describe_contact_pair(pair), "says the opposite of another", given, allowed)
    keys = sorted(rulings)
    return {
        "pair_shape": np.array(keys, dtype=np.int32).reshape(-1, 2),
        "pair_touch": np.array([rulings[key][1].touch for key in keys], dtype=np.int32),
    }


def describe_contact_pair(pair: ContactPair) -> str:
    """As errors name it: bodies, and shapes where it names them."""
    ends = ((pair.first, pair.first_shape), (pair.second, pair.second_shape))
    return "contact pair " + " and ".join(shown(b) + ("" if s is None else f" shape {shown(s)}") for b, s in ends)


def _ends(pair: ContactPair, numbers: dict[str, list[int]]) -> tuple[End, End]:
    """Both ends, judged."""
    element = describe_contact_pair(pair)
    for name in (pair.first, pair.second):
        if not isinstance(name, str) or name not in numbers:
            raise ModelError(f"{element}: {unknown('body', name, numbers)}")
    if pair.first == pair.second:
        raise fail(element, "names a body twice", f"{pair.first!r} twice", "two different bodies")
    if not isinstance(pair.touch, bool):
        raise fail(element, "touch is neither True nor False", shown(pair.touch), "True or False")
    ends = ((pair.first, pair.first_shape), (pair.second, pair.second_shape))
    for field, (name, shape) in zip(("first_shape", "second_shape"), ends, strict=True):
        if shape is not None:
            check_index(element, field, shape, len(numbers[name]), f"the shapes of {name!r}")
        elif pair.touch and not numbers[name]:
            raise fail(element, "cannot touch", f"{name!r} without shapes", "bodies with shapes")
    return ends


def _check_once(pairs: list[ContactPair], ends: list[tuple[End, End]]) -> None:
    """Nobody says twice what happens between two bodies or shapes."""
    seen: dict[frozenset[End], ContactPair] = {}
    for pair, key in zip(pairs, map(frozenset, ends), strict=True):
        if key in seen:
            given = f"touch {seen[key].touch} and touch {pair.touch}"
            raise fail(
                describe_contact_pair(pair), "is given twice", given, "one contact pair for two bodies or shapes"
            )
        seen[key] = pair
