"""A bad number in any field of any element is refused by a ModelError of one line that says what is allowed."""

from dataclasses import fields

import numpy as np
import pytest
from bad_scenes import BOX, INF, NAN, accepted, make
from refusal import refused

from sharnir import (
    Body,
    Box,
    Capsule,
    Cylinder,
    Cylindrical,
    Frame,
    Free,
    HalfSpace,
    Helical,
    Material,
    Scene,
    Sphere,
    Spherical,
    Spring,
    Universal,
    compile,
)
from sharnir.spec.joints import JOINT_TYPES

# --- every numeric field of every element ----------------------------------------------------------------------------


VECTOR, QUATERNION = (0.1, 0.2, 0.3), (0.1, 0.2, 0.3, 0.9)
SHAPE = {"position": VECTOR, "orientation": QUATERNION, "density": 10.0, "surface_velocity": VECTOR}
SHAPES = {
    Sphere: {**SHAPE, "radius": 0.5},
    Box: {**SHAPE, "size": VECTOR},
    Cylinder: {**SHAPE, "radius": 0.5, "length": 2.0},
    Capsule: {**SHAPE, "radius": 0.5, "length": 2.0},
}
BODY = {
    "mass": 2.0, "center_of_mass": VECTOR, "inertia": BOX, "position": VECTOR, "orientation": QUATERNION,
}  # fmt: skip
SPRING = {"parent_anchor": VECTOR, "child_anchor": VECTOR, "stiffness": 1.0, "damping": 1.0, "length": 1.0}
FRAME = {"anchor": VECTOR, "axis": VECTOR, "x_axis": (0.3, 0.2, 0.1)}
NOT_NUMERIC = {"name", "parent", "child", "shapes", "parent_frame", "child_frame", "material", "group", "mask", "belt"}
NOT_NUMERIC |= {"limits", "limit_angles"}  # see test_joint_limits_and_friction.py
NOT_NUMERIC |= {"max_force", "max_speed", "visuals"}  # see test_actuator_laws.py and test_visuals.py


def joint_values(kind):
    """A legal value of every numeric field of a joint type."""
    q = {4: QUATERNION, 7: (*VECTOR, *QUATERNION)}.get(kind.nq, tuple(0.1 * (k + 1) for k in range(kind.nq)))
    v = tuple(0.5 for _ in range(kind.nv))
    values = {"position": q, "rest": q, "velocity": v, "damping": v, "stiffness": v, "armature": v, "effort": v}
    values["friction"] = v
    if kind is not Free:
        values |= {"anchor": VECTOR, "axis": (0.0, 0.0, 2.0), "x_axis": (1.0, 0.0, 0.5)}
    if kind is Helical:
        values["pitch"] = 0.1
    if kind is Universal:
        values["axis2"] = (2.0, 0.0, 0.0)
        del values["x_axis"]
    return values


def bad_values(value, optional):
    """(label, bad value, how the message shows it) for a field with a legal value: not finite, shapes, types."""
    wrong = [("text", "abc"), ("bool", True), ("dict", {}), ("complex", 1j)]
    if not optional:
        wrong.append(("None", None))
    cases = [(label, bad, repr(bad)) for label, bad in wrong]
    if isinstance(value, tuple):
        items = (NAN, INF, -INF, "abc", None, True, (1.0,), 1j)
        for k in range(len(value)):
            for item in items if k == 0 else (NAN,):
                bad = (*value[:k], item, *value[k + 1 :])
                cases.append((f"{item!r} at {k}", bad, repr(item)))
        for label, bad in (("too long", (*value, 0.5)), ("too short", value[:-1]), ("nested", (value,))):
            if len(bad) != len(value) and not (label == "too short" and len(bad) == 1):
                cases.append((label, bad, repr(bad)))
        if value:
            cases.append(("huge integer at 0", (10**400, *value[1:]), "1000000"))
            cases.append(("array with nan", np.array([*value[:-1], NAN]), "nan"))
            cases.append(("matrix", np.ones((len(value) + 1, 2)), repr(((1.0, 1.0),) * (len(value) + 1))))
    else:
        cases += [(repr(bad), bad, repr(bad)) for bad in (NAN, INF, -INF, (1.0, 2.0), ((1.0,),))]
        cases.append(("huge integer", 10**400, "1000000"))
        cases.append(("numpy nan", np.float32(NAN), "nan"))
    return cases


def elements():
    """(class, element as the message names it, legal values, scene builder)"""
    yield Body, "body 'bob'", BODY, lambda values: make(body=values)
    for kind, values in SHAPES.items():
        yield kind, "body 'bob', shape 0", values, lambda values, kind=kind: make({"shapes": [kind(**values)]})
    for kind, values in {**SHAPES, HalfSpace: SHAPE}.items():
        yield kind, "world, shape 0", values, lambda values, kind=kind: make(shapes=[kind(**values)])
    for kind in JOINT_TYPES.values():
        yield kind, "joint 'pin'", joint_values(kind), lambda values, kind=kind: make(joint=values, kind=kind)
    unplaced = {"position": None}
    for end in ("parent_frame", "child_frame"):
        yield Frame, f"joint 'pin': {end}", FRAME, lambda values, end=end: make(unplaced, {end: Frame(**values)})
    yield Spring, "spring 'coil'", SPRING, lambda values: make(spring=values)
    yield Scene, "scene", {"gravity": VECTOR}, lambda values: make(**values)


def catalogue():
    """Every bad value in every numeric field of every element."""
    for kind, element, table, build in elements():
        optional = {"axis"} | {f.name for f in fields(kind) if f.default is None}
        for field, value in table.items():
            for label, bad, shown in bad_values(value, field in optional):
                name = f"{kind.__name__.lower()}.{field}-{label}"
                yield pytest.param(element, field, shown, build, {**table, field: bad}, id=name)


@pytest.mark.parametrize(("element", "field", "shown", "build", "values"), list(catalogue()))
def test_a_bad_number_is_refused_by_name(element, field, shown, build, values):
    with refused(element, field, shown, "allowed"):
        compile(build(values))


def test_the_catalogue_covers_every_field_of_every_element():
    for kind, _, table, _ in elements():
        skipped = {Free: {"anchor", "axis", "x_axis"}, Universal: {"x_axis"}}.get(kind, set())
        if kind is not Scene:
            assert {f.name for f in fields(kind)} - NOT_NUMERIC - skipped == set(table), kind


def test_the_values_the_catalogue_starts_from_are_legal():
    for _, _, table, build in elements():
        accepted(build(table))


# --- ranges and directions -------------------------------------------------------------------------------------------


NOT_NEGATIVE = {
    "mass": lambda value: make({"mass": value}),
    "density": lambda value: make({"shapes": [Sphere(radius=1.0, density=value)]}),
    "damping": lambda value: make(joint={"damping": value}),
    "stiffness": lambda value: make(joint={"stiffness": value}),
    "armature": lambda value: make(joint={"armature": value}),
    "friction": lambda value: make(joint={"friction": value}),
    "friction ": lambda value: make({"shapes": [Sphere(radius=1.0, material=Material(friction=value))]}),
    "damping component": lambda value: make(joint={"damping": (1.0, value)}, kind=Cylindrical),
    "stiffness ": lambda value: make(spring={"stiffness": value}),
    "damping ": lambda value: make(spring={"damping": value}),
    "length ": lambda value: make(spring={"length": value}),
}
POSITIVE = {
    "radius": lambda value: make({"shapes": [Sphere(radius=value)]}),
    "size component": lambda value: make({"shapes": [Box(size=(1.0, value, 1.0))]}),
    "length": lambda value: make({"shapes": [Cylinder(radius=1.0, length=value)]}),
    "radius ": lambda value: make({"shapes": [Capsule(radius=value, length=1.0)]}),
}


@pytest.mark.parametrize("field", NOT_NEGATIVE)
@pytest.mark.parametrize("value", [-1.0, -1e-300, -3])
def test_a_negative_value_is_refused(field, value):
    with refused(field.strip(), repr(value), "allowed: a finite number ≥ 0"):
        compile(NOT_NEGATIVE[field](value))


@pytest.mark.parametrize("field", POSITIVE)
@pytest.mark.parametrize("value", [-1.0, 0.0])
def test_a_size_that_is_not_positive_is_refused(field, value):
    element = "body 'bob', shape 0"
    with refused(element, field.strip(), repr(value), "allowed: a finite number > 0"):
        compile(POSITIVE[field](value))


ZEROS = {
    "axis": lambda zero: make(joint={"axis": zero[:3]}),
    "x_axis": lambda zero: make(joint={"x_axis": zero[:3]}),
    "axis2": lambda zero: make(joint={"axis2": zero[:3]}, kind=Universal),
    "parent_frame axis": lambda zero: make(joint={"parent_frame": Frame(axis=zero[:3])}),
    "child_frame x_axis": lambda zero: make(joint={"child_frame": Frame(x_axis=zero[:3])}),
    "orientation": lambda zero: make({"orientation": zero}),
    "orientation ": lambda zero: make({"shapes": [Sphere(radius=1.0, orientation=zero)]}),
    "position quaternion": lambda zero: make(joint={"position": zero}, kind=Spherical),
    "rest quaternion": lambda zero: make(joint={"rest": zero}, kind=Spherical),
    "position quaternion ": lambda zero: make(joint={"position": (1.0, 2.0, 3.0, *zero)}, kind=Free),
}


@pytest.mark.parametrize("field", ZEROS)
def test_a_zero_direction_is_refused(field):
    with refused(f"{field.strip()} is zero", "0.0, 0.0, 0.0", "allowed"):
        compile(ZEROS[field]((0.0, 0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    "build",
    [
        lambda size: make(joint={"axis": (0.0, size, size)}),
        lambda size: make({"orientation": (0.0, size, 0.0, size)}),
        lambda size: make(joint={"position": (0.0, size, 0.0, size)}, kind=Spherical),
    ],
    ids=["axis", "orientation", "quaternion"],
)
def test_the_length_of_a_direction_does_not_matter(build):
    expected, long = accepted(build(1.0)), accepted(build(1e200))
    np.testing.assert_allclose(long.part_rot, expected.part_rot, atol=1e-15)
    np.testing.assert_allclose(long.body_rot, expected.body_rot, atol=1e-15)
    np.testing.assert_allclose(long.q0, expected.q0, atol=1e-15)


@pytest.mark.parametrize(
    "shape",
    [Sphere(radius=1e150), Box(size=(1e150, 1e150, 1e150)), Capsule(radius=1e150, length=1.0)],
    ids=["sphere", "box", "capsule"],
)
def test_a_shape_too_large_for_floating_point_is_refused(shape):
    with refused("body 'bob'", "allowed"):
        compile(make({"mass": None, "inertia": None, "shapes": [shape]}))


def test_an_x_axis_along_the_axis_is_refused():
    scene = make(joint={"axis": (0.0, 0.0, 1.0), "x_axis": (0.0, 0.0, -2.0)})
    with refused("joint 'pin'", "x_axis is parallel to the axis", "(0.0, 0.0, -2.0)", "allowed"):
        compile(scene)


@pytest.mark.parametrize("x_axis", [(NAN, 0.0, 0.0), (0.0, 0.0, 0.0), "abc", (1.0, 0.0)], ids=repr)
def test_a_bad_x_axis_of_a_universal_joint_is_refused_too(x_axis):
    with refused("joint 'pin'", "x_axis", "allowed"):
        compile(make(joint={"x_axis": x_axis}, kind=Universal))


def test_oblique_axes_of_a_universal_joint_are_refused():
    joint = {"axis": (0.0, 0.0, 1.0), "axis2": (1.0, 0.0, 0.1)}
    shown = ("(0.0, 0.0, 1.0)", "(1.0, 0.0, 0.1)")
    with refused("joint 'pin'", *shown, "allowed"):
        compile(make(joint=joint, kind=Universal))


@pytest.mark.parametrize(("kind", "stiffness"), [(Spherical, (1.0, 2.0, 1.0)), (Free, (0, 0, 0, 1.0, 2.0, 1.0))])
def test_different_stiffness_about_the_axes_of_a_quaternion_is_refused(kind, stiffness):
    with refused("joint 'pin'", "[1.0, 2.0, 1.0]", "allowed"):
        compile(make(joint={"stiffness": stiffness}, kind=kind))
