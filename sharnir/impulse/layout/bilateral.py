"""Bilateral rows of a model in their order of elimination, with the envelope of their factor (M-46), and groups of
bodies they connect (host)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.enums import JointType
from sharnir.impulse.layout.joint_tree import JointTree, find_joint_tree, lay_out_joint_tree, link_of
from sharnir.impulse.layout.scalar_layout import ScalarRow, ScalarRowBuilder
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, BilateralKind, RowKind
from sharnir.model.connected import connected_groups
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, JOINT_ROWS, RowForm
from sharnir.model.kinematics import link_poses

if TYPE_CHECKING:
    from sharnir.model.model import Model

# where rows conflict, joints take precedence
ELIMINATED_LATER = {BilateralKind.BOUND: 1, BilateralKind.MOTOR: 2}


@dataclass(frozen=True, kw_only=True)
class BilateralRow:
    """A bilateral row as laid out. Its fields but `entries` are those of `Layout` with the prefix `bilateral_`."""

    kind: BilateralKind
    source: int  # row of the joint, or scalar
    entries: list[int]  # velocity coordinates of its entries
    index_start: int  # where these start in `index`
    W_start: int  # where it starts in W
    p: int  # its impulse in p
    free_K: float  # 1/kg, |W|² a joint's row would have between free bodies; else 0


def lay_out_bilateral(
    model: Model, builder: ScalarRowBuilder, joints: list[list[int]], at: dict[str, Any]
) -> dict[str, Any]:
    """Arrays of Layout for the bilateral rows: the tree of joints in maximal coordinates, and the others in the order
    of elimination, with the envelope of their factor. at: arrays laid out so far (joint_W_start, joint_index_start,
    joint_scalar_start). Empty without loop joints and couplings: sweeps do as well then."""
    rows: list[BilateralRow] = []
    mobility = least_mobility(model)
    for k, entries in enumerate(joints):
        for j in range(CONSTRAINT_COUNT[model.loop_kind[k]]):
            row = JOINT_ROWS * k + j
            rows.append(
                BilateralRow(
                    kind=BilateralKind.JOINT, source=row, entries=entries, index_start=at["joint_index_start"][k],
                    W_start=at["joint_W_start"][k] + j * len(entries), p=row,
                    free_K=free_body_K(model, k, j, mobility),
                )
            )  # fmt: skip
    scalar_p_start = JOINT_ROWS * model.loops
    bounded = []
    for l, scalar in enumerate(builder.rows):
        kinds = bilateral_kinds(model, scalar)
        bounded.append(scalar.row_kinds & ~sum(1 << kind for kind in kinds))
        rows += [
            BilateralRow(
                kind=kind, source=l, entries=scalar.entries, index_start=scalar.index_start, W_start=scalar.W_start,
                p=scalar_p_start + SCALAR_IMPULSES * l + kind, free_K=0.0,
            )
            for kind in kinds
        ]  # fmt: skip
    if not rows or not model.loops + len(model.coupling_names):  # scalar rows alone: a sweep does as well
        rows, bounded = [], [scalar.row_kinds for scalar in builder.rows]
    compliant = {r.source for r in rows if r.kind == BilateralKind.COMPLIANT}
    tree = find_joint_tree(model, builder.rows, at["joint_scalar_start"], compliant)
    ordered = in_order(rows, [r.entries for r in rows])
    place = {r.p: b for b, r in enumerate(ordered)}
    rows = tree.without_own(ordered)
    slack = add_slacks(model, tree, rows)
    entries = [r.entries for r in rows]
    if tree.joints:  # along the tree rows become dense within their component
        spans = [tree.component[link_of(model, r.entries[0])] for r in rows]
        entries = [list(range(tree.first[k], tree.first[k] + tree.size[k])) for k in spans]
    coupled = find_coupled_rows(entries)
    first_column = [min([b, *coupled[b]]) for b in range(len(rows))]
    width = max(model.nv, sum(tree.size))
    identity = builder.append_index(list(range(width)))
    factor = {
        "factor_W_start": [r.W_start for r in rows],
        "factor_index_start": [r.index_start for r in rows],
        "factor_row_length": [len(r.entries) for r in rows],
    }
    if tree.joints:
        starts = [builder.reserve_W(sum(tree.size)) for _ in rows]
        factor = {
            "factor_W_start": [start + e[0] for start, e in zip(starts, entries, strict=True)],
            "factor_index_start": [identity + e[0] for e in entries],
            "factor_row_length": [len(e) for e in entries],
        }
    sizes = [b - first_column[b] for b in range(len(rows))]
    return {
        **lay_out_joint_tree(model, tree, builder.rows),
        **factor,
        "bilateral_W_start": [r.W_start for r in rows],
        "bilateral_index_start": [r.index_start for r in rows],
        "bilateral_p": [r.p for r in rows],
        "bilateral_kind": [r.kind for r in rows],
        "bilateral_source": [r.source for r in rows],
        "bilateral_free_K": [r.free_K for r in rows],
        "bilateral_row_length": [len(r.entries) for r in rows],
        "bilateral_slack": slack,
        "bilateral_ratio": [place[r.p] for r in rows],
        "envelope_first_column": first_column,
        "envelope_row_start": np.cumsum([0, *sizes])[:-1],
        "coupled_row_start": np.cumsum([0, *(len(n) for n in coupled)]),
        "coupled_rows": [j for n in coupled for j in n],
        "scalar_bounded_kinds": bounded,
        "facts": {
            "bilaterals": len(rows),
            "pivot_ratios": len(ordered),
            "tree_joints": len(tree.joints),
            "has_bilateral": int(len(rows) + len(tree.joints) > 0),
            "z_size": width,
            "reduced_size": sum(tree.size),
            "identity_index_start": identity,
            "L_size": sum(sizes),
        },
    }


def in_order(rows: list[BilateralRow], entries: list[list[int]]) -> list[BilateralRow]:
    """Rows in their order of elimination. entries: coordinates of each."""
    out = [rows[b] for b in find_elimination_order(entries)]
    return sorted(out, key=lambda r: ELIMINATED_LATER.get(r.kind, 0))


def add_slacks(model: Model, tree: JointTree, rows: list[BilateralRow]) -> list[int]:
    """Reduced coordinate of the slack of every compliant row, −1 of others. They follow those of their component."""
    slack = [-1] * len(rows)
    moved = 0
    for k, size in enumerate(tree.size):
        tree.first[k] += moved
        at = tree.first[k] + size
        for b, row in enumerate(rows):
            if row.kind == BilateralKind.COMPLIANT and tree.component[link_of(model, row.entries[0])] == k:
                slack[b] = at
                at += 1
        tree.size[k] = at - tree.first[k]
        tree.link_first[:] = [
            x + (moved if c == k else 0) for x, c in zip(tree.link_first, tree.component, strict=True)
        ]
        moved += tree.size[k] - size
    return slack


def find_floating_groups(model: Model) -> list[list[int]]:
    """Groups of bodies in maximal coordinates that joints and springs connect with each other but not with the
    world."""
    if not (model.implicit_free == 1).all() or not model.loops:
        return []
    holding = model.loop_link[CONSTRAINT_COUNT[model.loop_kind] > 0]
    pairs = np.concatenate([holding, model.spring_link]) % (model.nb + 1)  # the world is the last
    group = connected_groups(model.nb + 1, pairs)
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1) if g != group[-1]]
    return [[int(link) for link in links] for links in members if len(links) > 1]


def free_body_K(model: Model, k: int, j: int, mobility: np.ndarray) -> float:
    """|W|² (1/kg) that row j of loop joint k would have between two free bodies, approximately. A body is counted with
    all that the tree fixes to it: a mark of 1e-8 kg on an arm moves as the arm does. Ball joints, whose rows are not
    redundant for axes that are a little off, count as between the heaviest bodies that they hold: a nearly straight
    string holds its load by little more. mobility: `least_mobility` of the model."""
    force = JOINT_ROW_TABLE[model.loop_kind[k], j, 0] in (RowForm.ALONG, RowForm.HELIX)
    links = [link for link in model.loop_link[k] if link >= 0]
    free = float(sum(1 / x for x in (_inertia_of_whole(model, link, force) for link in links) if x > 0))
    if model.loop_kind[k] == JointType.SPHERICAL:
        return min(free, float(mobility[links].min()))
    return free


def least_mobility(model: Model) -> np.ndarray:
    """[link] 1/kg, of the heaviest of the links that joints connect with each."""
    pairs = np.concatenate(
        [np.stack([np.arange(model.nb), model.parent], axis=1), np.reshape(model.loop_link, (-1, 2))]
    )
    pairs = pairs[(pairs >= 0).all(axis=1)]
    group = connected_groups(model.nb, pairs)
    heaviest = np.zeros(model.nb)
    np.maximum.at(heaviest, group, model.mass)
    return np.asarray(1.0 / np.maximum(heaviest[group], np.finfo(float).tiny))


def _inertia_of_whole(model: Model, link: int, force: bool) -> float:
    """Mass (kg), or largest moment of inertia about the centre of mass, of a link and those fixed to it."""
    whole = np.arange(model.nb)
    for i in range(model.nb):  # parents come first
        if model.dof_start[i] == model.dof_start[i + 1] and model.parent[i] >= 0:
            whole[i] = whole[model.parent[i]]
    members = np.flatnonzero(whole == whole[link])
    if force:
        return float(model.mass[members].sum())
    if len(members) == 1:
        return float(np.linalg.eigvalsh(model.inertia[link])[-1])
    poses = link_poses(model, model.q0)
    centres = np.array([poses[i].x + poses[i].R @ model.com[i] for i in members])
    mass = model.mass[members]
    centre = mass @ centres / mass.sum() if mass.sum() > 0 else centres[0]
    inertia = np.zeros((3, 3))
    for i, m, r in zip(members.tolist(), mass, centres - centre, strict=True):
        inertia += poses[i].R @ model.inertia[i] @ poses[i].R.T + m * (r @ r * np.eye(3) - np.outer(r, r))
    return float(np.linalg.eigvalsh(inertia)[-1])


def bilateral_kinds(model: Model, row: ScalarRow) -> list[BilateralKind]:
    """Row kinds of a scalar that are bilateral: equalities, motors without a force limit, compliant forces that do not
    saturate."""
    out = []
    if row.row_kinds & RowKind.BOUND and row.lower == row.upper:
        out.append(BilateralKind.BOUND)
    if row.row_kinds & RowKind.MOTOR and np.isinf(model.motor_max_force[row.motor]):
        out.append(BilateralKind.MOTOR)
    if row.row_kinds & (RowKind.COMPLIANT | RowKind.SATURATED) == RowKind.COMPLIANT:
        out.append(BilateralKind.COMPLIANT)
    return out


def find_coupled_rows(entries: list[list[int]]) -> list[list[int]]:
    """For every row the earlier rows that share a velocity coordinate with it."""
    users: dict[int, list[int]] = {}
    out = []
    for b, row in enumerate(entries):
        out.append(sorted({j for d in row for j in users.get(d, [])}))
        for d in row:
            users.setdefault(d, []).append(b)
    return out


def find_elimination_order(entries: list[list[int]]) -> list[int]:
    """Elimination order with the smaller envelope: from the tips of the tree inward, or reverse Cuthill–McKee."""
    tips_first = sorted(range(len(entries)), key=lambda b: (-max(entries[b], default=0), b))
    coupled = find_coupled_rows(entries)
    pairs = np.array([(b, j) for b, n in enumerate(coupled) for j in n]).reshape(-1, 2)
    if not len(pairs):
        return tips_first
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(entries),) * 2)
    banded = [int(b) for b in reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)]
    return min((tips_first, banded), key=lambda order: _factor_cost(entries, order))


def _factor_cost(entries: list[list[int]], order: list[int]) -> int:
    """Cost of factoring rows in some order: sum of squared envelope widths."""
    coupled = find_coupled_rows([entries[b] for b in order])
    return sum((b - min([b, *n])) ** 2 for b, n in enumerate(coupled))
