"""Enumerations shared by the compiler and the kernels. Their values are stored in arrays of the model."""

from __future__ import annotations

from enum import IntEnum


class MotionKind(IntEnum):
    """Elementary motions: every joint is a sequence of them (see sharnir.compiler.motions). Those from BALL on have
    three velocity coordinates."""

    STILL = 0
    SCREW = 1  # hinge about z, advancing `pitch` m/rad along it
    SLIDE = 2  # along z
    BALL = 3  # quaternion, angular velocity in the moving frame
    SHIFT = 4  # three translations along x, y, z


class InertiaHandoff(IntEnum):
    """Where a link's articulated inertia goes in the inward pass."""

    CARRY = 0  # the parent is the next link visited: stay in registers
    STORE = 1  # first child to reach a branching parent
    ADD = 2
    DROP = 3  # a root: its parent is the world


class JointType(IntEnum):
    """Joints, in the order of sharnir.compiler.loops.LOOP_TYPES and sharnir.model.joint_rows.JOINT_ROW_TABLE."""

    FIXED = 0
    REVOLUTE = 1
    PRISMATIC = 2
    HELICAL = 3
    CYLINDRICAL = 4
    UNIVERSAL = 5
    SPHERICAL = 6
    PLANAR = 7
    FREE = 8
    COMPOUND = 9  # several motions between two bodies: in the tree only


class LimitKind(IntEnum):
    """What the bounds of a velocity coordinate mean (sharnir.spec.joints)."""

    NONE = 0
    COORDINATE = 1  # its position
    TWIST = 2  # angles of a ball, from here on
    EULER = 3
    CONE = 4
    ANGLE = 5


class MotorMode(IntEnum):
    """What a motor holds."""

    VELOCITY = 0
    POSITION = 1


class ShapeKind(IntEnum):
    """Shapes, in the order of sharnir.compiler.shapes.SHAPES."""

    SPHERE = 0
    BOX = 1
    CYLINDER = 2
    CAPSULE = 3
    HALF_SPACE = 4
    HULL = 5
    HEIGHT_FIELD = 6
    MESH = 7
    TRIANGLE = 8  # a piece of the last two, as collision detection sees it


class MaterialProperty(IntEnum):
    """Properties of a pair of materials, in the order of sharnir.compiler.materials.COEFFICIENTS."""

    SLIDING_FRICTION = 0
    STATIC_FRICTION = 1
    ROLLING_FRICTION = 2
    TORSIONAL_FRICTION = 3
    RESTITUTION = 4
    RESTITUTION_THRESHOLD = 5


class ExternalForces(IntEnum):
    """What acts on a tree besides joint forces."""

    NONE = 0
    WRENCHES = 1  # on the bodies, as given
    WRENCHES_AND_SPRINGS = 2  # those, and springs between points


class ScalarSource(IntEnum):
    """What a scalar constraint row measures (sharnir.impulse.layout.layout)."""

    TREE_DOF = 0
    LOOP_DOF = 1
    BALL_ANGLE = 2
    COUPLING = 3
    SPRING = 4
    ACTUATOR_PATH = 5
