"""What the parts of an import share: the compiled MuJoCo model, the scene that grows, names, poses and the report."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import mujoco
import numpy as np

from sharnir.io.parsing.parse import Parsed
from sharnir.model.poses import Pose
from sharnir.rotations import Array, quat_to_matrix
from sharnir.spec.elements import Body
from sharnir.spec.import_report import ImportReport
from sharnir.spec.scene import WORLD, Scene

BITS = mujoco.mjtDisableBit
OFF = {
    "constraints": BITS.mjDSBL_CONSTRAINT, "equalities": BITS.mjDSBL_EQUALITY, "friction": BITS.mjDSBL_FRICTIONLOSS,
    "limits": BITS.mjDSBL_LIMIT, "contact": BITS.mjDSBL_CONTACT, "springs": BITS.mjDSBL_SPRING,
    "dampers": BITS.mjDSBL_DAMPER, "gravity": BITS.mjDSBL_GRAVITY, "clamping": BITS.mjDSBL_CLAMPCTRL,
    "actuation": BITS.mjDSBL_ACTUATION, "parent filter": BITS.mjDSBL_FILTERPARENT,
}  # fmt: skip
CORRECTED = "MuJoCo's springs push back what is off and leave it speed, here positions are corrected without"
CONSTRAINTS = ("equalities", "friction", "limits", "contact")


def xyzw(quat: Array) -> Array:
    """MuJoCo's quaternion (w, x, y, z) in our order."""
    return np.roll(quat, -1)


class Source:
    """An import under way. Bodies, joints and geoms are MuJoCo's, by number; body 0 is the world."""

    def __init__(self, parsed: Parsed, floating: bool = False, concavity: float | None = None) -> None:
        model, tree = parsed.model, parsed.tree
        self.model, self.format, self.tree, self.files = model, parsed.format, tree, parsed.files
        self.concavity = concavity  # of the parts that meshes are decomposed into; None: hulls
        self.floating = floating and self.format == "urdf"
        self.scene = Scene(name=model_name(model, tree))
        self.report = ImportReport()
        self.body_names = [WORLD, *unique([self.name("body", b) for b in range(1, model.nbody)], {WORLD})]
        self.joint_names = unique([self.name("joint", j) for j in range(model.njnt)], set())
        self.coordinate: dict[int, tuple[str, int]] = {}  # joint → our joint and its velocity coordinate
        self.carrier: dict[int, int] = {}  # body → the body of the scene it became part of, 0 for the world
        self.shapes: dict[int, tuple[int, range]] = {}  # geom → body (0 for the world) and numbers of its shapes
        self.touch = np.zeros((model.ngeom, model.ngeom), dtype=bool)  # which geoms may touch, once known
        self.held: set[int] = set()  # equalities that the scene has
        self.loops = 0  # of them, those that close loops
        self.parts: dict[int, list[Array]] = {}  # geom → corners of the convex parts of its mesh, once found
        self.weld = self._rigid_wholes()
        self.zero = self._zero_poses()

    def name(self, kind: str, number: int) -> str:
        """Name of an element, made up from its number where it has none."""
        return str(getattr(self.model, kind)(number).name or f"{kind}{number}")

    @property
    def driven_names(self) -> list[str]:
        """Actuators and DC motors taken over so far, in the order in which keyframes give their inputs."""
        return [x.name for x in self.scene.driven]

    def on(self, feature: str) -> bool:
        """Whether the file leaves a feature switched on."""
        flags = self.model.opt.disableflags
        if feature in CONSTRAINTS and flags & OFF["constraints"]:
            return False
        return not flags & OFF[feature]

    def _zero_poses(self) -> Any:
        """MuJoCo's data with poses, anchors and axes where all hinges and slides are at 0."""
        data = mujoco.MjData(self.model)
        scalar = self.model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
        data.qpos[self.model.jnt_qposadr[scalar]] = 0.0
        mujoco.mj_kinematics(self.model, data)
        return data

    def pose(self, body: int) -> Pose:
        """A body in the world in our reference configuration."""
        return Pose(self.zero.xmat[body].reshape(3, 3).copy(), self.zero.xpos[body].copy())

    def _rigid_wholes(self) -> list[int]:
        """[bodies] the body nearest to the root that moves as one with each; 0 for what cannot move."""
        m, out = self.model, [0]
        for b in range(1, m.nbody):
            parent = int(m.body_parentid[b])
            moves = m.body_jntnum[b] > 0 or (self.floating and parent == 0)
            out.append(b if moves else out[parent])
        return out

    def place(self, body: int) -> tuple[int, Pose]:
        """The scene's body that a body's shapes belong to, 0 for the world, and the pose of its frame there."""
        if self.weld[body] == 0:
            return 0, self.pose(body)
        carrier = self.carrier[body]
        return carrier, self.pose(carrier).inverse() @ self.pose(body)

    def body(self, number: int) -> Body:
        """The scene's body of a number."""
        return next(b for b in self.scene.bodies if b.name == self.body_names[number])


def placed(position: Array, quat: Array) -> Pose:
    """MuJoCo's position and quaternion as a pose."""
    return Pose(quat_to_matrix(xyzw(np.asarray(quat, dtype=float))), np.asarray(position, dtype=float))


def unique(names: list[str], taken: set[str]) -> list[str]:
    """The names, those already taken with a number behind them."""
    out = []
    for name in names:
        other, k = name, 1
        while other in taken:
            k += 1
            other = f"{name}_{k}"
        taken.add(other)
        out.append(other)
    return out


def model_name(model: Any, tree: ET.Element) -> str:
    """As the file calls itself."""
    return str(tree.get("name") or tree.get("model") or model.names.split(b"\0")[0].decode() or "scene")
