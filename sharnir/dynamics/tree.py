"""The compiled tree and its workspace as Warp structs: what every tree algorithm reads and writes.

All spatial quantities are in world axes. Positions and the reference point of spatial vectors are relative
to the *pivot* O of the tree (the root's anchor, moving with the root), so that no transformation happens
between links and nothing loses digits far from the world's origin. Spatial vectors are two 3-vectors:
motion (v_O, ω), force (f, n_O).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.errors import fail
from sharnir.kernels.types import array2, mat33, np_real, real, vec3

if TYPE_CHECKING:
    from sharnir.model.model import Model

ints = wp.array(dtype=int)


@wp.struct
class Tree:
    """The spanning tree of a model on a device, the same for all worlds."""

    links: int
    springs: int
    gravity: vec3
    parent: ints  # [link] λ(i), -1 for the world
    root: ints  # [link] number of the tree the link belongs to
    dof: ints  # [link + 1] first velocity coordinate
    part: ints  # [link + 1] first elementary motion
    inertia_handoff: ints  # [link] InertiaHandoff
    has_branches: ints  # [link] 1 if children other than the next link exist
    kind: ints  # [part] MotionKind
    part_q: ints  # [part] first position coordinate
    part_v: ints  # [part] first velocity coordinate
    rot: wp.array(dtype=mat33)  # [part] frame of the motion in the previous frame
    pos: wp.array(dtype=vec3)  # [part] m
    pitch: wp.array(dtype=real)  # [part] m/rad
    sign: wp.array(dtype=real)  # [part] -1 where the joint is crossed from child to parent
    mass: wp.array(dtype=real)  # [link] kg
    com: wp.array(dtype=vec3)  # [link] m, in the link frame
    inertia: wp.array(dtype=mat33)  # [link] kg m², about the centre of mass, link axes
    body_rot: wp.array(dtype=mat33)  # [link] body frame in the link frame
    body_pos: wp.array(dtype=vec3)  # [link] m
    armature: wp.array(dtype=real)  # [dof] kg m² or kg
    damping: wp.array(dtype=real)  # [dof] N s/m or N m s/rad
    stiffness: wp.array(dtype=real)  # [dof] N/m or N m/rad
    rest: wp.array(dtype=real)  # [q] where the springs are at rest
    effort: wp.array(dtype=real)  # [dof] N or N m, constant
    spring_link: ints  # [2 * spring] links of its ends, -1 for the world
    spring_anchor: wp.array(dtype=vec3)  # [2 * spring] m, link frame
    spring_data: wp.array(dtype=vec3)  # [spring] stiffness N/m, damping N s/m, rest length m


@wp.struct
class Workspace:
    """Scratch of the tree algorithms, [n item, column]; spatial vectors about the pivot, world axes."""

    O: array2  # [3 tree] pivot, world
    R: array2  # [9 link] orientation
    x: array2  # [3 link] origin relative to the pivot
    V: array2  # [6 link] velocity
    A: array2  # [6 link] acceleration at q̈ = 0, gravity included
    S: array2  # [6 dof] joint axes
    turn: array2  # [2 dof] cosines and sines of hinges
    com: array2  # [3 link] centre of mass relative to the pivot, left by the inward pass of a step
    I: array2  # [6 link] inertia about it, likewise
    F: array2  # [6 link] applied wrench about the pivot
    M: array2  # [6 link] articulated inertia handed to branching parents: [M H; Hᵀ J]
    J: array2  # [6 link]
    H: array2  # [9 link]
    p: array2  # [6 link] bias force handed likewise; force of the subtree in RNEA
    U: array2  # [6 dof] Û = I^A S/√D
    rsD: array2  # [dof] 1/√D
    z: array2  # [dof] (τ − S·p^A)/√D
    E: array2  # [dof] what rotors and implicit springs add to D, kg or kg m²
    hc: array2  # [dof] what dampers may add at most, kg or kg m²
    hk: array2  # [dof] what springs may add at most, kg or kg m²
    hb: array2  # [dof] what springs might have added at most in the step before, kg or kg m²
    a: array2  # [6 link] acceleration beyond A; velocity where z is a velocity
    C: array2  # [6 link] momentum over a step (p, L about the centre of mass)
    Qu: array2  # [3 link] rotation of a step: quaternion, vector part
    Qs: array2  # [link] and scalar part
    t: array2  # [3 link] displacement of a step at the pivot
    B: array2  # [6 link] inertia about the centre of mass that loads on a light link add to the factor (M-93)


@wp.struct
class Wrench:
    """A force and a torque, or their impulses, about the pivot of the link they act on, world axes."""

    f: vec3
    n: vec3


@wp.struct
class DenseRow:
    """A row over velocity coordinates: entries start, …, start + nv of a column of an array."""

    array: array2
    start: int


@wp.func
def make_wrench(f: vec3, n: vec3):
    """A wrench of a force and a torque."""
    out = Wrench()
    out.f = f
    out.n = n
    return out


@wp.func
def make_row(array: array2, start: int):
    """The row of an array that begins at an entry."""
    out = DenseRow()
    out.array = array
    out.start = start
    return out


WORKSPACE_ROWS = {
    "R": 9,
    "x": 3,
    "V": 6,
    "A": 6,
    "S": 6,
    "turn": 2,
    "com": 3,
    "I": 6,
    "F": 6,
    "M": 6,
    "J": 6,
    "H": 9,
    "p": 6,
    "U": 6,
    "rsD": 1,
    "z": 1,
    "E": 1,
    "hc": 1,
    "hk": 1,
    "hb": 1,
    "a": 6,
    "C": 6,
    "Qu": 3,
    "Qs": 1,
    "t": 3,
    "B": 6,
}
PER_DOF = {"S", "turn", "U", "rsD", "z", "E", "hc", "hk", "hb"}


def cast_to_precision(model: Model, name: str, values: np.ndarray) -> np.ndarray:
    """Cast numbers to the precision of the process; a ModelError where they do not fit."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > np.finfo(np_real).max:
        raise fail(f"model {model.name!r}", f"{name} is too large", largest, "the range of single precision")
    return values.astype(np_real)


def upload_tree(model: Model, device: str) -> Tree:
    """Upload the arrays of a model's tree to a device."""
    tree = Tree()
    tree.links, tree.springs = model.nb, len(model.spring_names)
    tree.gravity = vec3(*model.gravity)
    integers = {
        "parent": model.parent, "root": model.tree, "dof": model.dof_start, "part": model.part_start,
        "inertia_handoff": model.inertia_handoff, "has_branches": model.has_branches, "kind": model.part_kind,
        "part_q": model.part_q, "part_v": model.part_v, "spring_link": model.spring_link.reshape(-1),
    }  # fmt: skip
    for name, values in integers.items():
        setattr(tree, name, wp.array(values.astype(np.int32), dtype=int, device=device))
    reals = {
        "rot": (model.part_rot, mat33), "pos": (model.part_pos, vec3), "pitch": (model.part_pitch, real),
        "sign": (model.part_sign, real),
        "mass": (model.mass, real), "com": (model.com, vec3), "inertia": (model.inertia, mat33),
        "body_rot": (model.body_rot, mat33), "body_pos": (model.body_pos, vec3),
        "armature": (model.armature, real), "damping": (model.damping, real),
        "stiffness": (model.stiffness, real), "rest": (model.rest, real), "effort": (model.effort, real),
        "spring_anchor": (model.spring_anchor.reshape(-1, 3), vec3), "spring_data": (model.spring_data, vec3),
    }  # fmt: skip
    for name, (values, dtype) in reals.items():
        setattr(tree, name, wp.array(cast_to_precision(model, name, values), dtype=dtype, device=device))
    return tree


def allocate_workspace(model: Model, columns: int, device: str, width: int = 0) -> Workspace:
    """Allocate a zeroed workspace with a column per world (GPU) or one for all (CPU); z has at least `width` rows."""
    ws = Workspace()
    ws.O = wp.zeros((3 * model.trees, columns), dtype=real, device=device)
    for name, rows in WORKSPACE_ROWS.items():
        items = model.nv if name in PER_DOF else model.nb
        size = max(rows * items, width) if name == "z" else rows * items
        setattr(ws, name, wp.zeros((size, columns), dtype=real, device=device))
    return ws
