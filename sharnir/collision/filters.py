"""Collision filters: which shapes of a model may collide, whatever their poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sharnir.model.model import Model


class CollisionFilter:
    """Collision filter of shapes on links `link` [shape] (−1: the world) with bit sets `group` and `mask` [shape].

    Two shapes may collide if they are on different links, the group of each shares a bit with the mask of the other,
    and their links are no pair of `excluded` [pair, 2] (unordered). Shape pairs `pairs` [pair, 2] (unordered) override
    this: they may collide if `touch` [pair] is not 0, and else may not.
    """

    def __init__(
        self, link: Sequence, group: Sequence, mask: Sequence, excluded: Sequence = (), pairs: Sequence = (),
        touch: Sequence = (),
    ) -> None:  # fmt: skip
        self.link, self._group, self._mask = (np.asarray(a, dtype=np.int64) for a in (link, group, mask))
        self._excluded: dict[int, list[int]] = {}
        for a, b in excluded:
            self._excluded.setdefault(int(a), []).append(int(b))
            self._excluded.setdefault(int(b), []).append(int(a))
        both = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        both = np.concatenate([both, both[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self._pair_start = np.searchsorted(both[order, 0], np.arange(len(self.link) + 1))
        self._pair_other, self._pair_touch = both[order, 1], np.tile(np.asarray(touch, dtype=bool), 2)[order]

    def row(self, a: int) -> np.ndarray:
        """[shape] whether it may collide with shape a."""
        link, group, mask = self.link, self._group, self._mask
        may = (link != link[a]) & ((group[a] & mask) != 0) & ((group & mask[a]) != 0)
        may &= ~np.isin(link, self._excluded.get(int(link[a]), ()))
        explicit = slice(self._pair_start[a], self._pair_start[a + 1])
        may[self._pair_other[explicit]] = self._pair_touch[explicit]
        return may

    def any(self) -> bool:
        """Whether any two shapes may collide."""
        return any(self.row(a).any() for a in range(len(self.link)))


def build_collision_filter(model: Model) -> CollisionFilter:
    """Collision filter of a model: its joints, belts, groups, masks and explicit contact pairs."""
    return CollisionFilter(
        model.shape_link, *model.shape_filter.T, list_excluded_links(model), model.pair_shape, model.pair_touch
    )


def list_excluded_links(model: Model) -> list[tuple[int, int]]:
    """Pairs of links that do not collide by default: parent and child of a joint, in the tree or closing a loop, and
    links that share a belt."""
    tree = [(int(parent), i) for i, parent in enumerate(model.parent)]
    loops = [(int(min(pair)), int(max(pair))) for pair in model.loop_link]
    return sorted({pair for pair in (*tree, *loops, *list_belt_pairs(model)) if pair[0] >= 0})


def list_belt_pairs(model: Model) -> list[tuple[int, int]]:
    """Pairs of links that do not collide since one belt runs round both, or one is the other's sprocket."""
    out: set[tuple[int, int]] = set()
    for sprocket in np.unique(model.shape_sprocket[model.shape_sprocket >= 0]).tolist():
        group = sorted({sprocket, *model.shape_link[model.shape_sprocket == sprocket].tolist()})
        out |= {(a, b) for k, a in enumerate(group) for b in group[k + 1 :]}
    return sorted(out)
