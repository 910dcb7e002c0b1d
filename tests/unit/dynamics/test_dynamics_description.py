"""Dynamics of random trees do not depend on how a scene is described: order of elements, direction of joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from moving_trees import EXACT, MOVING, Tree, places
from random_trees import TYPES, Array, random_scene, random_state, relative, shuffled

from sharnir import Frame, Free, Planar, Spherical, Universal, compile, dynamics
from sharnir.rotations import quat_to_matrix
from sharnir.spec.joints import Joint


def test_links_are_numbered_from_parent_to_child(tree: Tree) -> None:
    model = tree.model
    assert (model.parent < np.arange(model.nb)).all()
    names = ("world", *model.body_names)
    joints = {j.name: j for j in tree.scene.joints}
    for i, name in enumerate(model.joint_names):
        assert {joints[name].parent, joints[name].child} == {names[i + 1], names[model.parent[i] + 1]}


def test_order_of_description_does_not_matter(tree: Tree, rng: np.random.Generator) -> None:
    model, (q, v, a, tau, f_ext) = tree.model, tree.state
    other = compile(shuffled(rng, tree.scene))
    iq, iv, ib = places(model, other)
    pairs = [
        (dynamics.aba(other, q[iq], v[iv], tau[iv], f_ext[ib]), dynamics.aba(model, q, v, tau, f_ext)[iv]),
        (dynamics.rnea(other, q[iq], v[iv], a[iv], f_ext[ib]), dynamics.rnea(model, q, v, a, f_ext)[iv]),
        (dynamics.crba(other, q[iq]), dynamics.crba(model, q)[np.ix_(iv, iv)]),
        (dynamics.body_poses(other, q[iq])[0], dynamics.body_poses(model, q)[0][ib]),
        (dynamics.body_velocities(other, q[iq], v[iv]), dynamics.body_velocities(model, q, v)[ib]),
        (dynamics.energy(other, q[iq], v[iv]), dynamics.energy(model, q, v)),
    ]
    for here, there in pairs:
        assert relative(here, there) < EXACT


def swapped(joint: Joint) -> Joint:
    """The same joint, described from its child to its parent."""
    P, C = joint.parent_frame, joint.child_frame
    ends = {"parent": joint.child, "child": joint.parent, "parent_frame": C, "child_frame": P}
    if isinstance(joint, Universal):
        ends |= {"axis": joint.axis2, "axis2": joint.axis}
        if P is not None:  # x of the new parent's frame is the new second axis, x of the new child's across both
            ends["parent_frame"] = Frame(anchor=C.anchor, axis=C.axis, x_axis=np.cross(C.axis, C.x_axis))
            ends["child_frame"] = Frame(anchor=P.anchor, axis=P.axis, x_axis=-np.cross(P.axis, P.x_axis))
    return replace(joint, **ends)


def swapped_motion(joint: Joint, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Coordinates of the same relative motion of the two bodies for `swapped(joint)`."""
    if isinstance(joint, Universal):
        return -q[::-1], -v[::-1], -a[::-1]
    if isinstance(joint, Spherical):
        R = quat_to_matrix(q)
        return q * [-1, -1, -1, 1], -R @ v, -R @ a
    if isinstance(joint, Planar):
        turn = np.array([0, 0, np.sin(q[2] / 2), np.cos(q[2] / 2)])
        flat = [np.array([c[0], c[1], 0]) for c in (q, v, a)]
        shifts = swapped_shift(quat_to_matrix(turn), *flat, np.array([0, 0, v[2]]), np.array([0, 0, a[2]]))
        return tuple(np.append(s[:2], -c[2]) for s, c in zip(shifts, (q, v, a), strict=True))
    if isinstance(joint, Free):
        R = quat_to_matrix(q[3:])
        shifts = swapped_shift(R, q[:3], v[:3], a[:3], v[3:], a[3:])
        turns = q[3:] * [-1, -1, -1, 1], -R @ v[3:], -R @ a[3:]
        return tuple(np.concatenate(pair) for pair in zip(shifts, turns, strict=True))
    return -q, -v, -a


def swapped_shift(R: Array, x: Array, v: Array, a: Array, w: Array, dw: Array) -> tuple[Array, Array, Array]:
    """−Rᵀx and its two rates, w the angular velocity of R in its own axes."""
    x, v, a = R.T @ x, R.T @ v, R.T @ a
    wx = np.cross(w, x)
    return -x, wx - v, np.cross(dw, x) + 2 * np.cross(w, v) - np.cross(w, wx) - a


@pytest.mark.parametrize("types", [*((t,) for t in MOVING), TYPES], ids=[*(t.__name__ for t in MOVING), "mixed"])
@pytest.mark.parametrize("seed", range(4))
def test_direction_of_description_does_not_matter(types: tuple[type[Joint], ...], seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    scene = random_scene(rng, 10, types, root_types=MOVING if types is TYPES else types)
    model, other = compile(scene), compile(replace(scene, joints=[swapped(j) for j in scene.joints]))
    q, v, _, tau, f_ext = random_state(rng, model)
    a = dynamics.aba(model, q, v, tau, f_ext)
    q2, v2, a2, tau2 = (np.zeros_like(x) for x in (q, v, a, tau))
    for joint in scene.joints:
        here, there = model.joint(joint.name), other.joint(joint.name)
        q2[there.q], v2[there.v], a2[there.v] = swapped_motion(joint, q[here.q], v[here.v], a[here.v])
        if joint.nv:  # v2 = T v, so τ = Tᵀ τ2
            transposed = [swapped_motion(joint, q[here.q], e, 0 * e)[1] for e in np.eye(joint.nv)]
            tau2[there.v] = np.linalg.solve(transposed, tau[here.v])
    ib = places(model, other)[2]
    for x, x2 in zip(dynamics.body_poses(model, q), dynamics.body_poses(other, q2), strict=True):
        assert relative(x2, x[ib]) < EXACT
    assert relative(dynamics.body_velocities(other, q2, v2), dynamics.body_velocities(model, q, v)[ib]) < EXACT
    assert relative(dynamics.aba(other, q2, v2, tau2, f_ext[ib]), a2) < EXACT
