"""Rows of joint types: their constraints vanish in every position that the joint allows, and no more are needed."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import TYPES, random_scene, random_state
from scipy.spatial.transform import Rotation

import sharnir as sh
from sharnir.enums import JointType
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import IDENTITY_POSE, Pose


def constraints(kind: int, P: Pose, C: Pose, pitch: float, angle: float) -> np.ndarray:
    """Values of the constraint rows of a joint type. angle: of C about z of P, continued over turns."""
    out = []
    for form, a, b in JOINT_ROW_TABLE[kind, : CONSTRAINT_COUNT[kind]]:
        along = P.R[:, a] @ (C.x - P.x)
        value = {
            RowForm.ALONG: along,
            RowForm.HELIX: along - pitch * angle,
            RowForm.PERPENDICULAR: P.R[:, a] @ C.R[:, b],
        }
        out.append(value[form])
    return np.array(out)


@pytest.mark.parametrize("kind", TYPES)
def test_constraints_vanish_along_the_joint_and_determine_what_it_does_not_allow(kind):
    """Positions of trees are products of ten rotations: 1e-12. Their slopes by twists of C have rank 6 − nv."""
    rng = np.random.default_rng(0)
    model = sh.compile(random_scene(rng, 5, types=(kind,)))
    number = JointType[kind.__name__.upper()]
    for _ in range(3):
        q = random_state(rng, model).q
        poses = [*link_poses(model, q), IDENTITY_POSE]
        for k in range(model.nb):
            P, C = (
                poses[link] @ Pose(model.joint_rot[k, side], model.joint_pos[k, side])
                for side, link in enumerate(model.joint_link[k])
            )
            joint = model.joint(model.joint_names[k])
            pitch, angle = model.joint_pitch[k], q[joint.q.start] if number == JointType.HELICAL else 0.0
            at_rest = constraints(number, P, C, pitch, angle)
            np.testing.assert_allclose(at_rest, 0, atol=1e-12)
            slopes = [
                constraints(number, P, Pose(Rotation.from_rotvec(1e-6 * t[3:]).as_matrix() @ C.R, C.x + 1e-6 * t[:3]),
                            pitch, angle + 1e-6 * t[3:] @ P.R[:, 2]) / 1e-6
                for t in np.eye(6)
            ]  # fmt: skip
            assert 6 - (joint.v.stop - joint.v.start) == CONSTRAINT_COUNT[number]
            assert np.linalg.matrix_rank(np.array(slopes).reshape(6, -1), tol=1e-4) == CONSTRAINT_COUNT[number]
