"""Enumerations shared by the compiler and the kernels. Their values are stored in arrays of the model."""

from __future__ import annotations

# Elementary motions: every joint is a sequence of them (see sharnir.compiler.motions).
STILL = 0
SCREW = 1  # hinge about z, advancing `pitch` m/rad along it
SLIDE = 2  # along z
BALL = 3  # quaternion, angular velocity in the moving frame
SHIFT = 4  # three translations along x, y, z

# Where a link's articulated inertia goes in the inward pass.
CARRY = 0  # the parent is the next link visited: stay in registers
STORE = 1  # first child to reach a branching parent
ADD = 2
DROP = 3  # a root: its parent is the world

# Joints, in the order of sharnir.compiler.loops.LOOP_TYPES and sharnir.model.joint_rows.ROWS.
FIXED, REVOLUTE, PRISMATIC, HELICAL, CYLINDRICAL, UNIVERSAL, SPHERICAL, PLANAR, FREE = range(9)
COMPOUND = 9  # several motions between two bodies: in the tree only

# What the bounds of a velocity coordinate mean: nothing, its position, or an angle of a ball (sharnir.spec.joints).
NO_LIMIT, PLAIN_LIMIT, TWIST_LIMIT, EULER_LIMIT, CONE_LIMIT, ANGLE_LIMIT = range(6)

# What a motor holds.
VELOCITY, POSITION = range(2)

# Shapes, in the order of sharnir.compiler.shapes.SHAPES.
SPHERE, BOX, CYLINDER, CAPSULE, HALF_SPACE, HULL, HEIGHT_FIELD, MESH = range(8)
TRIANGLE = 8  # a piece of the last two, as collision detection sees it

# What acts on a tree besides joint forces.
NOTHING = 0
WRENCHES = 1  # on the bodies, as given
SPRINGS = 2  # those, and springs between points

# Lines: what a scalar constraint row measures (sharnir.impulse.layout.layout).
TREE_DOF, LOOP_ROW, TURN, COUPLING, SPRING, PATH = range(6)
