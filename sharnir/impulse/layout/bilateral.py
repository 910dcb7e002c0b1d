"""Rows that bind both ways, in the order in which they are eliminated (M-46), and groups of bodies they connect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.impulse.layout.scalar_rows import Lines
from sharnir.impulse.row_kinds import ACT_HOLD, ACT_MOTOR, ACT_SOFT, ACTIONS, BOUNDED, HOLD, MOTOR, OF_JOINT, SOFT
from sharnir.model.joint_rows import ALONG, CONSTRAINED, HELIX, ROWS

if TYPE_CHECKING:
    from sharnir.model.model import Model

ROW_FIELDS = {
    "bind_start": "start", "bind_first": "first", "bind_p": "p", "bind_act": "act", "bind_of": "of",
    "bind_weight": "weight",
}  # fmt: skip


def bound_arrays(model: Model, lines: Lines, joints: list[list[int]], at: dict[str, Any]) -> dict[str, Any]:
    """Rows solved directly, in the order of elimination, with the envelope of their factor."""
    rows: list[dict[str, Any]] = []
    for k, entries in enumerate(joints):
        for j in range(CONSTRAINED[model.loop_kind[k]]):
            start = at["joint_start"][k] + j * len(entries)
            rows.append({"start": start, "first": at["joint_first"][k], "p": 6 * k + j, "act": OF_JOINT,
                         "of": 6 * k + j, "entries": entries, "weight": free_weight(model, k, j)})  # fmt: skip
    first_line = 6 * model.loops
    loose = []
    for l, r in enumerate(lines.rows):
        binding = binding_acts(model, r)
        loose.append(r["acts"] & ~sum(1 << act for act in binding))
        rows += [{"start": r["start"], "first": r["first"], "p": first_line + ACTIONS * l + act, "act": act, "of": l,
                  "entries": r["entries"], "weight": 0.0} for act in binding]  # fmt: skip
    if not rows or not model.loops + len(model.coupling_names):
        rows, loose = [], [r["acts"] for r in lines.rows]  # nothing but lines of their own: a sweep does as well
    rows = [rows[b] for b in elimination_order([r["entries"] for r in rows])]
    rows.sort(key=lambda r: {ACT_HOLD: 1, ACT_MOTOR: 2}.get(r["act"], 0))  # where they conflict, joints hold
    near = neighbours([r["entries"] for r in rows])
    left = [min([b, *near[b]]) for b in range(len(rows))]
    slacks = np.cumsum([r["act"] == ACT_SOFT for r in rows])
    width = model.nv + (int(slacks[-1]) if rows else 0)
    sizes = [b - left[b] for b in range(len(rows))]
    return {
        **{field: [r[fact] for r in rows] for field, fact in ROW_FIELDS.items()},
        "bind_length": [len(r["entries"]) for r in rows],
        "bind_slack": [model.nv + slacks[b] - 1 if r["act"] == ACT_SOFT else -1 for b, r in enumerate(rows)],
        "envelope_left": left, "envelope_start": np.cumsum([0, *sizes])[:-1],
        "near_start": np.cumsum([0, *(len(n) for n in near)]), "near": [j for n in near for j in n],
        "line_loose": loose,
        "facts": {"bound": len(rows), "width": width, "every": lines.pattern(list(range(width))), "L_size": sum(sizes)},
    }  # fmt: skip


def free_islands(model: Model) -> list[list[int]]:
    """Groups of bodies in maximal coordinates that joints connect with each other and nothing with the world."""
    if not (model.implicit_free == 1).all() or not model.loops:
        return []
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    holding = model.loop_link[CONSTRAINED[model.loop_kind] > 0]
    pairs = np.concatenate([holding, model.spring_link]) % (model.nb + 1)  # the world is the last
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(model.nb + 1,) * 2)
    _, group = connected_components(graph, directed=False)
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1) if g != group[-1]]
    return [[int(link) for link in links] for links in members if len(links) > 1]


def free_weight(model: Model, k: int, j: int) -> float:
    """|W|² that row j of loop joint k would have between two free bodies, about."""
    force = ROWS[model.loop_kind[k], j, 0] in (ALONG, HELIX)
    inertias = [model.mass[link] if force else np.linalg.eigvalsh(model.inertia[link])[-1]
                for link in model.loop_link[k] if link >= 0]  # fmt: skip
    return float(sum(1 / x for x in inertias if x > 0))


def binding_acts(model: Model, row: dict[str, Any]) -> list[int]:
    """What on a line binds both ways."""
    out = []
    if row["acts"] & HOLD and row["lower"] == row["upper"]:
        out.append(ACT_HOLD)
    if row["acts"] & MOTOR and np.isinf(model.motor_max_force[row["motor"]]):
        out.append(ACT_MOTOR)
    if row["acts"] & (SOFT | BOUNDED) == SOFT:
        out.append(ACT_SOFT)
    return out


def neighbours(entries: list[list[int]]) -> list[list[int]]:
    """For every row the rows before it that share a velocity coordinate."""
    users: dict[int, list[int]] = {}
    out = []
    for b, row in enumerate(entries):
        out.append(sorted({j for d in row for j in users.get(d, [])}))
        for d in row:
            users.setdefault(d, []).append(b)
    return out


def elimination_order(entries: list[list[int]]) -> list[int]:
    """The order with the smaller envelope: from the tips inward, or that of Cuthill and McKee."""
    inward = sorted(range(len(entries)), key=lambda b: (-max(entries[b], default=0), b))
    near = neighbours(entries)
    pairs = np.array([(b, j) for b, n in enumerate(near) for j in n]).reshape(-1, 2)
    if not len(pairs):
        return inward
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(entries),) * 2)
    banded = [int(b) for b in reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)]
    return min((inward, banded), key=lambda order: _work(entries, order))


def _work(entries: list[list[int]], order: list[int]) -> int:
    near = neighbours([entries[b] for b in order])
    return sum((b - min([b, *n])) ** 2 for b, n in enumerate(near))
