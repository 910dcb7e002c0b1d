"""Spanning tree of the joints of a model in maximal coordinates (host): along it bilateral rows are eliminated
(M-115), and velocities that it allows have coordinates of their own, the reduced ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.impulse.layout.scalar_layout import ScalarRow
from sharnir.impulse.row_kinds import BilateralKind
from sharnir.kernels.types import SPATIAL
from sharnir.model.connected import connected_groups
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROWS

if TYPE_CHECKING:
    from sharnir.impulse.layout.bilateral import BilateralRow
    from sharnir.model.model import Model


class TreeBlock(IntEnum):
    """Blocks of a link in `Scratch.tree_factor`, 6 × 6 each, row by row (M-115)."""

    H = 0  # of the body with what its children leave; once factored G⁻¹
    D = 36  # rows of its joint on the body, whitened by G, orthogonal to each other
    L = 72  # unit lower factor that made them so, inverse pivots on the diagonal
    A = 108  # the rows on the parent, by the same factor
    V = 144  # coordinates that the joint leaves free, whitened by G
    SIZE = 180


@dataclass(frozen=True)
class TreeJoint:
    """A joint of the tree."""

    joint: int  # number of the loop joint
    child: int  # link
    parent: int  # link towards the root; −1: the world
    scalars: list[int]  # scalar rows on its coordinates with compliant forces that do not saturate


@dataclass(frozen=True)
class JointTree:
    """Joints in the order of elimination, from the tips inward, and reduced coordinates: six of every root, what a
    joint leaves free of its child, slacks of compliant rows. Those of a component, bodies that joints and scalar rows
    connect, follow each other. In generalised coordinates there are no joints and one component: reduced coordinates
    are z and the slacks."""

    joints: list[TreeJoint]
    link_first: list[int]  # [link] its first reduced coordinate
    component: list[int]  # [link]
    first: list[int] = field(default_factory=list)  # [component] its first reduced coordinate
    size: list[int] = field(default_factory=list)  # [component]

    def without_own(self, rows: list[BilateralRow]) -> list[BilateralRow]:
        """The bilateral rows that are none of the tree."""
        joints = {t.joint for t in self.joints}
        scalars = {l for t in self.joints for l in t.scalars}
        return [
            r
            for r in rows
            if not (r.kind == BilateralKind.JOINT and r.source // JOINT_ROWS in joints)
            and not (r.kind == BilateralKind.COMPLIANT and r.source in scalars)
        ]


def find_joint_tree(model: Model, scalars: list[ScalarRow], starts: list[int], compliant: set[int]) -> JointTree:
    """The tree of a model. starts: where each joint's scalars start; compliant: scalar rows with a compliant force that
    does not saturate."""
    if not (model.implicit_free == 1).all() or not model.loops:
        return JointTree([], [0] * model.nb, [0] * model.nb, [0], [model.nv])
    joints, root = _span(model, starts, compliant)
    pairs = [tuple(link) for link in model.loop_link.tolist() if min(link) >= 0]
    for row in scalars:
        links = sorted({d // SPATIAL for d in row.entries})
        pairs += [(links[0], link) for link in links[1:]]
    component = connected_groups(model.nb, np.reshape(pairs, (-1, 2)).astype(int)).tolist()
    link_first, first, size = [0] * model.nb, [], []
    at = 0
    for k in range(max(component) + 1):
        first.append(at)
        for link in (i for i in range(model.nb) if component[i] == k and root[i]):
            link_first[link] = at
            at += SPATIAL
        for t in reversed(joints):
            if component[t.child] == k:
                link_first[t.child] = at
                at += SPATIAL - int(CONSTRAINT_COUNT[model.loop_kind[t.joint]])
        size.append(at - first[-1])
    return JointTree(joints, link_first, component, first, size)


def _span(model: Model, starts: list[int], compliant: set[int]) -> tuple[list[TreeJoint], list[bool]]:
    """Joints of the tree in the order of elimination, and which links are roots."""
    world = model.nb
    group = list(range(world + 1))

    def find(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    near: list[list[tuple[int, int]]] = [[] for _ in group]  # joints and links next to each link
    for k, (a, b) in enumerate(model.loop_link.tolist()):
        a, b = (world if link < 0 else link for link in (a, b))
        if CONSTRAINT_COUNT[model.loop_kind[k]] > 0 and find(a) != find(b):
            group[find(a)] = find(b)
            near[a].append((k, b))
            near[b].append((k, a))
    joints: list[TreeJoint] = []
    seen, root = [False] * (world + 1), [False] * model.nb
    for start in (world, *range(model.nb)):
        if seen[start]:
            continue
        seen[start] = True
        if start != world:
            root[start] = True
        queue = [start]
        for link in queue:
            for k, other in near[link]:
                if not seen[other]:
                    seen[other] = True
                    held = [l for l in range(starts[k], starts[k + 1]) if l in compliant]
                    joints.append(TreeJoint(k, other, -1 if link == world else link, held))
                    queue.append(other)
    return joints[::-1], root


def lay_out_joint_tree(model: Model, tree: JointTree, scalars: list[ScalarRow]) -> dict[str, Any]:
    """Arrays of Layout for the tree and the components."""
    parents = {t.parent for t in tree.joints}
    of_link = {t.child: n for n, t in enumerate(tree.joints)}
    lists = [t.scalars for t in tree.joints]
    spans = [tree.component[link_of(model, row.entries[0])] if row.entries else 0 for row in scalars]
    return {
        "tree_joint": [t.joint for t in tree.joints],
        "tree_child": [t.child for t in tree.joints],
        "tree_parent": [t.parent for t in tree.joints],
        "tree_has_children": [int(t.child in parents) for t in tree.joints],
        "tree_rows": [int(CONSTRAINT_COUNT[model.loop_kind[t.joint]]) for t in tree.joints],
        "tree_scalar_start": np.cumsum([0, *(len(x) for x in lists)]),
        "tree_scalars": [l for x in lists for l in x],
        "tree_joint_of_link": [of_link.get(i, -1) for i in range(model.nb)],
        "link_reduced_first": tree.link_first,
        "link_component_first": [tree.first[k] for k in tree.component],
        "link_component_size": [tree.size[k] for k in tree.component],
        "scalar_component_first": [tree.first[k] for k in spans],
        "scalar_component_size": [tree.size[k] for k in spans],
    }


def link_of(model: Model, coordinate: int) -> int:
    """Link that velocity coordinate belongs to."""
    return int(np.searchsorted(model.dof_start, coordinate, side="right")) - 1
