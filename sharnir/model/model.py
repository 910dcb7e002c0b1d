"""The compiled model: read-only arrays that serve any number of worlds.

A *link* is a body with the joint that carries it in the spanning tree; links are numbered so that λ(i) < i. The
*link frame* sits where the joint's last motion ends; body frames are at fixed poses in link frames.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharnir.enums import MotionKind
from sharnir.errors import fail, shown, unknown
from sharnir.model.connected import connected_groups
from sharnir.spec.elements import Visual, real_array
from sharnir.spec.sensors import Camera, Sensor

if TYPE_CHECKING:
    from sharnir.spec.scene import Scene

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]


def check_index(element: str, field: str, value: Any, size: int, of: str) -> int:
    """Check that a value is an index, a whole number from 0 to size − 1, and return it. of: what it counts, for the
    message."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < size:
        allowed = {0: f"nothing: {of} has none", 1: f"0, the only one of {of}"}.get(size, f"0 to {size - 1} of {of}")
        raise fail(element, f"{field} is out of range", shown(value), allowed)
    return int(value)


class JointCoordinates(NamedTuple):
    """Where a joint's coordinates are: slices of q and v, or of the loop coordinates if it closes a loop."""

    name: str
    type: str
    closes_loop: bool
    q: slice
    v: slice


RENAMED_FIELDS = {"hand": "inertia_handoff", "gathers": "has_branches"}  # by their names in pickles of earlier versions


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Model:
    """A scene, compiled. Shapes: nb links, nq position and nv velocity coordinates, ne elementary motions."""

    name: str
    body_names: tuple[str, ...]  # by link
    joint_names: tuple[str, ...]  # by link, then those that close loops
    joint_types: tuple[str, ...]  # likewise
    spring_names: tuple[str, ...]
    sensors: tuple[Sensor, ...]  # as described
    cameras: tuple[Camera, ...]  # as described
    visuals: tuple[tuple[int, Visual], ...]  # links that carry them, -1 for the world, and what is seen there

    gravity: Reals  # [3] m/s²
    parent: Ints  # [nb] λ(i), -1 for the world
    tree: Ints  # [nb] number of the kinematic tree
    q_start: Ints  # [nb + 1] first position coordinate
    dof_start: Ints  # [nb + 1] first velocity coordinate
    part_start: Ints  # [nb + 1] first elementary motion
    inertia_handoff: Ints  # [nb] how the inward pass hands the inertia of a link to its parent: InertiaHandoff
    has_branches: Ints  # [nb] 1 if children other than the next link exist

    part_kind: Ints  # [ne]
    part_q: Ints  # [ne] first position coordinate
    part_v: Ints  # [ne] first velocity coordinate
    part_sign: Reals  # [ne] -1 where the joint is crossed from child to parent
    part_rot: Reals  # [ne, 3, 3] frame of the motion in the frame before it
    part_pos: Reals  # [ne, 3] m
    part_pitch: Reals  # [ne] m/rad

    mass: Reals  # [nb] kg
    com: Reals  # [nb, 3] m, link frame
    inertia: Reals  # [nb, 3, 3] kg m², about the centre of mass, link axes
    body_rot: Reals  # [nb, 3, 3] body frame in the link frame
    body_pos: Reals  # [nb, 3] m

    armature: Reals  # [nv] kg or kg m²
    damping: Reals  # [nv] N s/m or N m s/rad
    stiffness: Reals  # [nv] N/m or N m/rad
    effort: Reals  # [nv] N or N m
    rest: Reals  # [nq]
    q0: Reals  # [nq] initial positions
    v0: Reals  # [nv] initial velocities

    joint_kind: Ints  # [nb + loops] index into LOOP_TYPES, by link, then those that close loops
    joint_link: Ints  # [nb + loops, 2] links of parent and child as described, -1 for the world
    joint_rot: Reals  # [nb + loops, 2, 3, 3] joint frames in those links
    joint_pos: Reals  # [nb + loops, 2, 3] m
    joint_pitch: Reals  # [nb + loops] m/rad, of helical joints
    implicit_free: Ints  # [nb] 1 where the link's joint is a free one nobody described

    # By coordinate c: velocity coordinates of the tree, then of the joints that close loops, nc in all.
    limit_lower: Reals  # [nc] m or rad, -inf for none
    limit_upper: Reals  # [nc] m or rad, inf for none
    limit_angles: Ints  # [nc] what is bounded: LimitKind
    friction: Reals  # [nc] N or N m, dry

    motor_names: tuple[str, ...]
    motor_coordinate: Ints  # [motors] c
    motor_mode: Ints  # [motors] MotorMode
    motor_target: Reals  # [motors] rad/s or m/s, or rad or m
    motor_max_force: Reals  # [motors] N or N m
    motor_max_speed: Reals  # [motors] rad/s or m/s
    motor_response: Reals  # [motors] s

    drive_max_force: Reals  # [nc] N or N m, of all that drives a coordinate
    drive_max_speed: Reals  # [nc] m/s or rad/s

    actuator_names: tuple[str, ...]
    actuator_start: Ints  # [actuators + 1] first of its terms
    actuator_coordinate: Ints  # [terms] c
    actuator_gear: Reals  # [terms]
    actuator_gain: Reals  # [actuators, 3] constant, by position, by rate
    actuator_bias: Reals  # [actuators, 3]
    actuator_input: Reals  # [actuators] at the start
    actuator_input_limits: Reals  # [actuators, 2]
    actuator_force_limits: Reals  # [actuators, 2]
    actuator_input_sum_limits: Reals  # [actuators, 2]
    actuator_response: Reals  # [actuators] s
    actuator_integrates: Ints  # [actuators]
    actuator_electric: Reals  # [actuators, 3] of DC motors: resistance Ω, inductance H, torque constant N m/A; else 0
    actuator_efficiency: Reals  # [actuators] of its gear
    actuator_brake: Reals  # [actuators] N m, of its brake at the shaft

    coupling_names: tuple[str, ...]
    coupling_coordinate: Ints  # [couplings, 2] c of leader and follower
    coupling_ratio: Reals  # [couplings]
    coupling_offset: Reals  # [couplings] rad or m

    belt_names: tuple[str, ...]

    shape_kind: Ints  # [shapes] ShapeKind; those of bodies by link, then those of the world
    shape_link: Ints  # [shapes] -1 for the world
    shape_rot: Reals  # [shapes, 3, 3] in the link frame
    shape_pos: Reals  # [shapes, 3] m
    shape_size: Reals  # [shapes, 3] m: radius; edges; radius and length; extent of a field; 0 where there is none
    shape_material: Ints  # [shapes]
    shape_drift: Reals  # [shapes, 3] m/s, velocity of the surface against its body, link axes
    shape_sprocket: Ints  # [shapes] link of the sprocket whose belt runs round it, -1 for none
    shape_run: Reals  # [shapes, 3] m, radius times axis of that sprocket, link axes; 0 for none
    shape_filter: Ints  # [shapes, 2] group and mask, bits
    material: Reals  # [materials, 6] sliding, static, rolling (m), spinning (m), restitution, threshold (m/s)
    material_table: Reals  # [materials, materials, 6] the same where two meet, by their rules or as given
    pair_shape: Ints  # [pairs, 2] shapes that touch or do not by the user's word, the smaller index first
    pair_touch: Ints  # [pairs] 1: they may touch, 0: they may not, whatever joints and filters say
    shape_data: Ints  # [shapes] which hull, height field or mesh it is, each counted from 0; -1 of other shapes

    # Hulls, about their centres of volume; vertices and faces are counted over all hulls.
    hull_vertex_start: Ints  # [hulls + 1] first vertex
    hull_vertex: Reals  # [vertices, 3] m, shape frame
    hull_face_start: Ints  # [hulls + 1] first face
    hull_normal: Reals  # [faces, 3] outward, shape frame
    hull_corner_start: Ints  # [faces + 1] first of its corners in hull_corner
    hull_corner: Ints  # vertices, counter-clockwise seen from outside
    hull_edge_start: Ints  # [vertices + 1] first of its neighbours in hull_neighbour
    hull_neighbour: Ints  # vertices along edges

    field_start: Ints  # [fields + 1] first height of a height field
    field_shape: Ints  # [fields, 2] rows (along x) and columns (along y)
    field_height: Reals  # m, row by row

    # Meshes; vertices, triangles and nodes are counted over all meshes.
    mesh_vertex: Reals  # [vertices, 3] m, shape frame
    mesh_triangle_start: Ints  # [meshes + 1] first triangle
    mesh_corner: Ints  # [triangles, 3] vertices, counter-clockwise seen from outside, in the order of the tree
    mesh_opposite: Ints  # [triangles, 3] the neighbour's third vertex across edge k → k + 1; -1: none, or several
    mesh_ring_start: Ints  # [vertices + 1] first of its neighbours in mesh_ring
    mesh_ring: Ints  # vertices along edges
    mesh_node_start: Ints  # [meshes + 1] first node of its tree of boxes, depth first
    mesh_node_low: Reals  # [nodes, 3] m, shape frame
    mesh_node_high: Reals  # [nodes, 3] m
    mesh_node_skip: Ints  # [nodes] the first node that is not below this one
    mesh_node_first: Ints  # [nodes] first triangle of a leaf
    mesh_node_count: Ints  # [nodes] triangles of a leaf, 0 of other nodes

    loop_kind: Ints  # [loops] index into LOOP_TYPES
    loop_link: Ints  # [loops, 2] links of parent and child, -1 for the world
    loop_rot: Reals  # [loops, 2, 3, 3] joint frames in those links
    loop_pos: Reals  # [loops, 2, 3] m
    loop_pitch: Reals  # [loops] m/rad, of helical joints
    loop_q_start: Ints  # [loops + 1] into the loop coordinates
    loop_v_start: Ints  # [loops + 1]
    loop_armature: Reals  # [loop velocities]
    loop_damping: Reals  # [loop velocities]
    loop_stiffness: Reals  # [loop velocities]
    loop_effort: Reals  # [loop velocities]
    loop_rest: Reals  # [loop positions]
    loop_q0: Reals  # [loop positions] initial positions as stated, else zero: where turns are counted from

    spring_link: Ints  # [springs, 2] links, -1 for the world
    spring_anchor: Reals  # [springs, 2, 3] m, link frames
    spring_data: Reals  # [springs, 3] stiffness N/m, damping N s/m, rest length m

    scene: Scene | None = field(default=None, repr=False)  # that it was compiled from
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)  # evaluators on devices

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "cache": {}}  # evaluators hold memory of a device: built anew where needed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({RENAMED_FIELDS.get(name, name): value for name, value in state.items()})
        self.__post_init__()

    def __repr__(self) -> str:
        counts = f"bodies {self.nb}, velocity coordinates {self.nv}, loop joints {self.loops}, trees {self.trees}"
        return f"<Model {self.name!r}: {counts}>"

    @cached_property
    def heaviest_mechanism(self) -> float:
        """Mass (kg) of the heaviest group of bodies that joints connect with each other, other than by the world."""
        pairs = np.concatenate([np.stack([self.parent, np.arange(self.nb)], axis=1), self.loop_link])
        pairs = pairs[(pairs >= 0).all(axis=1)]
        group = connected_groups(self.nb, pairs)
        return float(np.bincount(group, weights=self.mass).max(initial=0.0))

    @property
    def nb(self) -> int:
        """Number of links."""
        return len(self.body_names)

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self.q_start[-1])

    @property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return int(self.dof_start[-1])

    @property
    def trees(self) -> int:
        """Number of kinematic trees."""
        return int(self.tree.max(initial=-1)) + 1

    @property
    def loops(self) -> int:
        """Number of joints that close loops."""
        return len(self.loop_kind)

    @cached_property
    def fingerprint(self) -> str:
        """A short text that differs between models that differ in anything."""
        digest = hashlib.sha256()
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name not in ("cache", "scene", "visuals", "cameras"):  # what is only seen moves nothing
                digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return f"{self.name} {digest.hexdigest()[:16]}"

    @cached_property
    def quaternions(self) -> Ints:
        """[k] first coordinate of every quaternion in q."""
        first = self.part_q[self.part_kind == MotionKind.BALL]
        first.setflags(write=False)
        return first

    @property
    def nc(self) -> int:
        """Number of velocity coordinates of the tree and of the joints that close loops."""
        return self.nv + int(self.loop_v_start[-1])

    @cached_property
    def coordinate_positions(self) -> Ints:
        """[nc] index of each coordinate's position in (q, loop q); -1 for rotations given by a quaternion."""
        out = np.full(self.nc, -1, dtype=np.int32)
        sizes = [*zip(np.diff(self.q_start), np.diff(self.dof_start), strict=True)]
        sizes += zip(np.diff(self.loop_q_start), np.diff(self.loop_v_start), strict=True)
        q = c = 0
        for nq, nv in sizes:
            scalars = nv if nq == nv else nv - 3
            out[c : c + scalars] = np.arange(q, q + scalars)
            q, c = q + nq, c + nv
        out.setflags(write=False)
        return out

    def coordinate(self, joint_name: str, k: int = 0) -> int:
        """Coordinate c of a joint's k-th velocity coordinate: those of the tree, then of joints that close loops."""
        joint = self.joint(joint_name)
        k = check_index(
            f"joint {joint_name!r}", "coordinate", k, int(joint.v.stop - joint.v.start), f"joint {joint_name!r}"
        )
        return int(joint.v.start) + k + (self.nv if joint.closes_loop else 0)

    def coordinate_q(self, c: int) -> int:
        """Index of coordinate c's position in (q, loop q); -1 for rotations given by a quaternion."""
        where = f"model {self.name!r}"
        return int(self.coordinate_positions[check_index(where, "coordinate", c, self.nc, where)])

    def motor(self, name: str) -> int:
        """Number of a motor."""
        if name not in self.motor_names:
            raise unknown("motor", name, self.motor_names)
        return self.motor_names.index(name)

    def actuator(self, name: str) -> int:
        """Number of an actuator."""
        if name not in self.actuator_names:
            raise unknown("actuator", name, self.actuator_names)
        return self.actuator_names.index(name)

    def coupling(self, name: str) -> int:
        """Number of a coupling."""
        if name not in self.coupling_names:
            raise unknown("coupling", name, self.coupling_names)
        return self.coupling_names.index(name)

    def body(self, name: str) -> int:
        """Link number of a body."""
        if name not in self.body_names:
            raise unknown("body", name, self.body_names)
        return self.body_names.index(name)

    def joint(self, name: str) -> JointCoordinates:
        """Where a joint's coordinates are in q and v."""
        if name not in self.joint_names:
            raise unknown("joint", name, self.joint_names)
        k = self.joint_names.index(name)
        loop = k >= self.nb
        q, v = (self.loop_q_start, self.loop_v_start) if loop else (self.q_start, self.dof_start)
        i = k - self.nb if loop else k
        return JointCoordinates(name, self.joint_types[k], loop, slice(q[i], q[i + 1]), slice(v[i], v[i + 1]))

    def joint_of(self, coordinate: int) -> str:
        """Name of the joint a velocity coordinate belongs to, of the tree or, from nv on, closing a loop."""
        if coordinate >= self.nv:
            return self.joint_names[
                self.nb + int(np.searchsorted(self.loop_v_start, coordinate - self.nv, "right")) - 1
            ]
        return self.joint_names[int(np.searchsorted(self.dof_start, coordinate, side="right")) - 1]

    def checked(self, what: str, value: Any, size: int) -> Reals:
        """Positions, velocities or forces as a finite float array [size] or [size, worlds] of its own."""
        try:
            array: Reals = np.zeros(0) if value is None else np.array(real_array(value))
        except (TypeError, ValueError):
            raise fail(f"model {self.name!r}", f"{what} is not made of numbers", shown(value), f"[{size}]") from None
        if value is None:
            raise fail(f"model {self.name!r}", f"{what} is missing", "None", f"[{size}]")
        if array.ndim not in (1, 2) or array.shape[0] != size or (array.ndim == 2 and array.shape[1] == 0):
            allowed = f"[{size}] or [{size}, worlds]"
            raise fail(f"model {self.name!r}", f"{what} has the wrong shape", list(array.shape), allowed)
        if not np.isfinite(array).all():
            bad = np.argwhere(~np.isfinite(array))[0]
            where = ", ".join(str(i) for i in bad)
            raise fail(
                f"model {self.name!r}", f"{what}[{where}] is not finite", float(array[tuple(bad)]), "finite numbers"
            )
        return array
