"""What is said of two bodies, or of two materials, rather than of one. Plain data, SI units; judged by
`sharnir.compile`."""

from __future__ import annotations

from dataclasses import dataclass

from sharnir.spec.elements import Element


@dataclass(kw_only=True)
class ContactPair(Element):
    """Whether two bodies may touch, whatever joints, groups and masks say.

    first, second: names of two bodies, in any order; "world" for what is fixed. touch: False keeps them apart from
    contact, True lets them touch, also where a joint connects them or masks say no.
    first_shape, second_shape: index into the body's shapes, or the scene's for "world"; left out, all of them. Of two
    pairs that speak of the same two shapes, the one that names more of them decides.
    """

    first: str
    second: str
    touch: bool
    first_shape: int | None = None
    second_shape: int | None = None


@dataclass(kw_only=True)
class MaterialPair(Element):
    """Coefficients where two materials meet, instead of those their `combine` makes.

    first, second: names of materials that shapes of the scene have, in any order; also the same name twice. The other
    fields mean what they mean in a Material; those left out are combined, but a friction without static_friction is
    both.
    """

    first: str
    second: str
    friction: float | None = None
    static_friction: float | None = None
    rolling: float | None = None
    spinning: float | None = None
    restitution: float | None = None
    threshold: float | None = None
