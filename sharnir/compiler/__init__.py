"""From a scene to a model: the only place where user input is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sharnir.checks import number, quaternion, vector
from sharnir.compiler.actuators import CoordinateFinder, actuator_arrays, coupling_arrays, drive_limits, motor_arrays
from sharnir.compiler.belts import belt_arrays, check_belt_pairs
from sharnir.compiler.coordinates import coordinate_arrays, zero_coordinates
from sharnir.compiler.dc_motors import add_rotors, convert_to_actuator, dc_motor_arrays
from sharnir.compiler.loops import check_loops_close, joint_arrays, loop_arrays
from sharnir.compiler.masses import mass_properties
from sharnir.compiler.motions import (
    body_frame,
    elementary_motions,
    is_in_body_frames,
    relative_pose,
    reverse_motions,
    world_frames,
)
from sharnir.compiler.regularity import check_inertia_is_regular
from sharnir.compiler.sensors import check_cameras, check_sensors
from sharnir.compiler.shapes import dimensions, shape_arrays
from sharnir.compiler.spanning import Link, SpanningTree, build_spanning_tree, check_names
from sharnir.compiler.velocities import consistent_velocities
from sharnir.enums import InertiaHandoff
from sharnir.errors import ModelError, described, fail, of_file, shown
from sharnir.model.kinematics import link_poses
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, ElementaryMotion, Pose
from sharnir.rotations import quat_to_matrix
from sharnir.spec.elements import Body, Visual
from sharnir.spec.joints import ALL_JOINT_TYPES, Compound, Free, Joint, Universal
from sharnir.spec.scene import WORLD, Scene

TOL_FRAMES_COINCIDE = 1e-6  # m and rad, for frames that must coincide


def compile(scene: Scene) -> Model:
    """Check a scene and turn it into a Model; a ModelError says what is wrong with it."""
    if not isinstance(scene, Scene):
        raise fail("compile", "not a scene", described(scene), "a sharnir.Scene")
    try:
        return _compile_plain(scene.plain())
    except ModelError as error:
        if scene.import_report.file:
            raise of_file(error, scene.import_report.file) from None
        raise


def _compile_plain(scene: Scene) -> Model:
    check_names(scene)
    check_types(scene)
    check_visuals(scene)
    tree = build_spanning_tree(scene)
    reference = reference_poses(tree)
    fields: dict[str, Any] = {
        "name": scene.name,
        "gravity": vector(f"scene {scene.name!r}", "gravity", scene.gravity, 3),
    }
    joints = [*(link.joint for link in tree.links), *tree.loops]
    nb = len(tree.links)
    frames = [joint_frames(j, reference) for j in joints]
    fields |= tree_arrays(tree, frames[:nb])
    index = {WORLD: -1, **{link.body.name: i for i, link in enumerate(tree.links)}}
    in_link = {
        WORLD: IDENTITY_POSE,
        **{n: Pose(fields["body_rot"][i], fields["body_pos"][i]) for n, i in index.items() if i >= 0},
    }
    fields |= coordinate_arrays(joints, frames, reference, nb)
    stated, loop_stated = fields["v0"], fields.pop("loop_v0")
    fields["v0"] = np.nan_to_num(stated, nan=0.0)
    fields |= joint_arrays(joints, frames, index, in_link)
    fields |= loop_arrays(fields, joints, nb)
    fields |= spring_arrays(scene, index, in_link)
    bodies = [link.body for link in tree.links]
    fields |= shape_arrays(bodies, scene, index, in_link)
    fields |= belt_arrays(bodies, scene, joints, frames, reference, index, in_link)
    check_belt_pairs(scene, fields)
    fields |= drive_limits(joints)
    fields |= motor_arrays(scene, CoordinateFinder(joints), fields) | coupling_arrays(scene, CoordinateFinder(joints))
    add_rotors(scene, CoordinateFinder(joints), fields)
    dc_motors = [convert_to_actuator(motor) for motor in scene.dc_motors]
    fields |= actuator_arrays([*scene.actuators, *dc_motors], CoordinateFinder(joints)) | dc_motor_arrays(scene)
    fields["sensors"], fields["cameras"] = check_sensors(scene, joints), check_cameras(scene)
    carried = [(i, visual) for i, link in enumerate(tree.links) for visual in link.body.visuals]
    fields["visuals"] = (*carried, *((-1, visual) for visual in scene.visuals))
    written = {id(j) for j in scene.joints}
    model = Model(
        body_names=tuple(link.body.name for link in tree.links),
        joint_names=tuple(j.name for j in joints),
        joint_types=tuple(type(j).__name__.lower() for j in joints),
        implicit_free=np.array([id(link.joint) not in written for link in tree.links], dtype=np.int32),
        scene=scene,
        **fields,
    )
    poses = link_poses(model, model.q0)
    check_loops_close(model, tree.loops, poses, TOL_FRAMES_COINCIDE)
    check_inertia_is_regular(model, poses)
    if model.loops:
        v0 = consistent_velocities(model, poses, stated, loop_stated)
        model = replace(model, v0=v0, cache={})
    return model


def check_types(scene: Scene) -> None:
    for joint in scene.joints:
        if type(joint) not in ALL_JOINT_TYPES.values():
            raise fail(f"joint {joint.name!r}", "unknown type", type(joint).__name__, ", ".join(ALL_JOINT_TYPES))
        if isinstance(joint, Universal) and joint.x_axis is not None:
            allowed = "axis and axis2, which fix the frame"
            raise fail(f"joint {joint.name!r}", "x_axis means nothing here", shown(joint.x_axis), allowed)
        if isinstance(joint, Compound):
            check_compound(joint)
            continue
        in_world = [n for n in ("anchor", "axis", "x_axis", "axis2") if getattr(joint, n, None) is not None]
        if in_world and (is_in_body_frames(joint) or isinstance(joint, Free)):
            where = "parent_frame, child_frame" if is_in_body_frames(joint) else "Free, which lies between body frames"
            raise fail(
                f"joint {joint.name!r}", "is placed twice", f"{', '.join(in_world)} and {where}", "one of the two"
            )


def check_visuals(scene: Scene) -> None:
    """What is only seen is judged too: someone will want to see it."""
    carried = [(f"body {b.name!r}", v) for b in scene.bodies for v in b.visuals]
    for k, (where, visual) in enumerate([*carried, *(("world", v) for v in scene.visuals)]):
        element = f"{where}, visual {k}"
        if not isinstance(visual, Visual) or (visual.shape is None) == (visual.file is None):
            raise fail(element, "is not one of shape and file", described(visual), "a Visual with a shape or a file")
        if visual.shape is not None:
            dimensions(element, visual.shape)
        elif not isinstance(visual.file, str):
            raise fail(element, "file is not text", described(visual.file), "the path of a mesh")
        quaternion(element, "orientation", visual.orientation)
        for name, size in (("position", 3), ("scale", 3), ("color", 4)):
            vector(element, name, getattr(visual, name), size)


def check_compound(joint: Compound) -> None:
    """Its steps place it, and nothing else."""
    placing = ("anchor", "axis", "x_axis", "parent_frame", "child_frame")
    given = [n for n in placing if getattr(joint, n) is not None]
    if given:
        raise fail(f"joint {joint.name!r}", "is placed twice", f"{', '.join(given)} and steps", "steps only")


def body_pose(body: Body) -> Pose:
    element = f"body {body.name!r}"
    x = np.zeros(3) if body.position is None else vector(element, "position", body.position, 3)
    R = np.eye(3) if body.orientation is None else quat_to_matrix(quaternion(element, "orientation", body.orientation))
    return Pose(R, x)


def reference_poses(tree: SpanningTree) -> dict[str, Pose]:
    """Poses of all bodies in the reference configuration, where every joint coordinate but a Free one's is zero."""
    poses = {WORLD: IDENTITY_POSE}
    for link in tree.links:
        pose = body_pose(link.body)
        if is_in_body_frames(link.joint) and not isinstance(link.joint, Free):
            placed = poses[link.parent] @ body_in_parent(link)
            if link.body.position is not None or link.body.orientation is not None:
                check_frames_coincide(link, placed, pose)
            pose = placed
        poses[link.body.name] = pose
    return poses


def body_in_parent(link: Link) -> Pose:
    """Pose of a link's body in its parent body at q = 0, for joints given in body frames."""
    element = f"joint {link.joint.name!r}"
    P = body_frame(element, "parent_frame", link.joint.parent_frame)
    C = body_frame(element, "child_frame", link.joint.child_frame)
    forward = P @ relative_pose(elementary_motions(link.joint), zero_coordinates(link.joint)) @ C.inverse()
    return forward.inverse() if link.reverse else forward


def check_frames_coincide(link: Link, placed: Pose, given: Pose) -> None:
    gap = np.linalg.norm(placed.x - given.x)
    turn = np.linalg.norm(placed.R - given.R)
    if gap > TOL_FRAMES_COINCIDE or turn > TOL_FRAMES_COINCIDE:
        raise fail(
            f"joint {link.joint.name!r}", "its frames do not coincide in the poses given for its bodies",
            f"a gap of {gap:.6g} m and {turn:.3g} rad at body {link.body.name!r}",
            "matching frames, or no position and orientation for that body",
        )  # fmt: skip


def joint_frames(joint: Joint, reference: dict[str, Pose]) -> tuple[Pose, Pose]:
    """Frames P in the parent body and C in the child body."""
    element = f"joint {joint.name!r}"
    if is_in_body_frames(joint) or isinstance(joint, Free):
        P = body_frame(element, "parent_frame", joint.parent_frame)
        return P, body_frame(element, "child_frame", joint.child_frame)
    P, C = world_frames(joint)
    return reference[joint.parent].inverse() @ P, reference[joint.child].inverse() @ C


def tree_arrays(tree: SpanningTree, frames: list[tuple[Pose, Pose]]) -> dict[str, Any]:
    """Topology, elementary motions and inertias of the links."""
    nb = len(tree.links)
    index = {WORLD: -1, **{link.body.name: i for i, link in enumerate(tree.links)}}
    parent = np.array([index[link.parent] for link in tree.links], dtype=np.int32).reshape(nb)
    body_in_link: dict[str, Pose] = {WORLD: IDENTITY_POSE}
    starts = {"q_start": [0], "dof_start": [0], "part_start": [0]}
    parts: list[tuple[ElementaryMotion, Pose, int, int]] = []
    roots: list[int] = []
    bodies = []
    for i, (link, ends) in enumerate(zip(tree.links, frames, strict=True)):
        (P, C), sequence = ends, elementary_motions(link.joint)
        after = IDENTITY_POSE
        if link.reverse:
            P, C = C, P
            sequence, after = reverse_motions(sequence)
        q, v = starts["q_start"][-1], starts["dof_start"][-1]
        before = body_in_link[link.parent] @ P
        for m in sequence:
            parts.append((m, before @ m.before, q + m.q, v + m.v))
            before = IDENTITY_POSE
        body = after @ C.inverse()
        body_in_link[link.body.name] = body
        mass = mass_properties(link.body)
        bodies.append((mass.mass, body.x + body.R @ mass.com, body.R @ mass.inertia @ body.R.T, body.R, body.x))
        starts["q_start"].append(q + link.joint.nq)
        starts["dof_start"].append(v + link.joint.nv)
        starts["part_start"].append(len(parts))
        roots.append(max(roots, default=-1) + 1 if parent[i] < 0 else roots[parent[i]])
    handoff, has_branches = plan_inertia_handoff(parent)
    return {
        **{k: np.array(s, dtype=np.int32) for k, s in starts.items()},
        "parent": parent, "tree": np.array(roots, dtype=np.int32), "inertia_handoff": handoff,
        "has_branches": has_branches,
        "part_kind": np.array([m.kind for m, *_ in parts], dtype=np.int32),
        "part_q": np.array([q for _, _, q, _ in parts], dtype=np.int32),
        "part_v": np.array([v for _, _, _, v in parts], dtype=np.int32),
        "part_sign": np.array([m.sign for m, *_ in parts], dtype=float),
        "part_rot": np.array([c.R for _, c, *_ in parts]).reshape(-1, 3, 3),
        "part_pos": np.array([c.x for _, c, *_ in parts]).reshape(-1, 3),
        "part_pitch": np.array([m.pitch for m, *_ in parts], dtype=float),
        "mass": np.array([b[0] for b in bodies], dtype=float),
        "com": np.array([b[1] for b in bodies]).reshape(nb, 3),
        "inertia": np.array([b[2] for b in bodies]).reshape(nb, 3, 3),
        "body_rot": np.array([b[3] for b in bodies]).reshape(nb, 3, 3),
        "body_pos": np.array([b[4] for b in bodies]).reshape(nb, 3),
    }  # fmt: skip


def plan_inertia_handoff(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How the inward pass passes each link's articulated inertia to its parent [nb] (InertiaHandoff), and 1 [nb] where
    a link has children other than the next one. parent: [nb]."""
    nb = len(parent)
    handoff = np.full(nb, InertiaHandoff.DROP, dtype=np.int32)
    has_branches = np.zeros(nb, dtype=np.int32)
    for i in reversed(range(nb)):
        lam = parent[i]
        if lam < 0:
            continue
        if lam == i - 1:
            handoff[i] = InertiaHandoff.CARRY
        else:
            handoff[i] = InertiaHandoff.ADD if has_branches[lam] else InertiaHandoff.STORE
            has_branches[lam] = 1
    return handoff, has_branches


def spring_arrays(scene: Scene, index: dict[str, int], in_link: dict[str, Pose]) -> dict[str, Any]:
    links, anchors, data = [], [], []
    for s in scene.springs:
        element = f"spring {s.name!r}"
        ends = ((s.parent, vector(element, "parent_anchor", s.parent_anchor, 3)),
                (s.child, vector(element, "child_anchor", s.child_anchor, 3)))  # fmt: skip
        links.append([index[name] for name, _ in ends])
        anchors.append([(in_link[name] @ Pose(np.eye(3), a)).x for name, a in ends])
        data.append([number(element, f, getattr(s, f), least=0) for f in ("stiffness", "damping", "length")])
    return {
        "spring_names": tuple(s.name for s in scene.springs),
        "spring_link": np.array(links, dtype=np.int32).reshape(-1, 2),
        "spring_anchor": np.array(anchors, dtype=float).reshape(-1, 2, 3),
        "spring_data": np.array(data, dtype=float).reshape(-1, 3),
    }
