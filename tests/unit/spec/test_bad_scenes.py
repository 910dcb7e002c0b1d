"""Every kind of bad input is refused by a ModelError of one line: the element, the value given, what is allowed."""

import sys
import warnings
from dataclasses import fields

import numpy as np
import pytest
from refusal import refused

import sharnir
from sharnir import (
    Body,
    Box,
    Capsule,
    Cylinder,
    Cylindrical,
    Fixed,
    Frame,
    Free,
    HalfSpace,
    Helical,
    Material,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Sphere,
    Spherical,
    Spring,
    Universal,
    compile,
    dynamics,
    scenes,
)
from sharnir.spec.elements import Shape
from sharnir.spec.joints import JOINT_TYPES, Joint

NAN, INF = float("nan"), float("inf")
BOX = (0.4, 0.5, 0.6)  # moments of a body that is regular on any joint


def kind_of(value):
    """A short id for a value of the wrong type: `list of int`, or the text itself."""
    if isinstance(value, str):
        return value
    inner = f" of {kind_of(value[0])}" if isinstance(value, (list, tuple)) and value else ""
    return type(value).__name__ + inner


def accepted(scene):
    """The compiled model; a warning fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compile(scene)


def make(body=None, joint=None, spring=None, kind=Revolute, **scene):
    """A body 'bob' on a joint 'pin', with a spring 'coil'; keywords change their fields."""
    out = Scene(**{"name": "test", **scene})
    out.add(Body(**{"name": "bob", "mass": 1.0, "inertia": BOX, "position": (1.0, 0.0, 0.0), **(body or {})}))
    pitch = {"pitch": 0.1} if kind is Helical else {}
    out.add(kind(**{"name": "pin", "parent": "world", "child": "bob", **pitch, **(joint or {})}))
    out.add(Spring(**{"name": "coil", "parent": "world", "child": "bob", **(spring or {})}))
    return out


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
NOT_NUMERIC |= {"limits", "limit_angles"}  # see test_limits.py
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


# --- inertia ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inertia", "problem", "shown"),
    [
        ((-1.0, 1.0, 1.0), "not positive semi-definite", "eigenvalues -1, 1, 1"),
        (((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0)), "not positive semi-definite", "eigenvalues -1, 1, 3"),
        ((1.0, 2.0, 3.5), "violates the triangle inequality", "eigenvalues 1, 2, 3.5"),
        (((2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 5.0)), "triangle inequality", "eigenvalues 1, 3, 5"),
        ((0.0, 0.0, 1.0), "triangle inequality", "eigenvalues 0, 0, 1"),
        (((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), "not symmetric", "[1.0, 0.5, 0.0]"),
        (((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "wrong shape", "((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))"),
        (np.eye(4), "wrong shape", "(1.0, 0.0, 0.0, 0.0)"),
        (((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 0.0, 1.0)), "wrong shape", "(0.0, 1.0)"),
        (((1.0, 0.0, 0.0), (0.0, NAN, 0.0), (0.0, 0.0, 1.0)), "not a finite number", "nan"),
        (((1.0, 0.0, 0.0), "abc", (0.0, 0.0, 1.0)), "wrong shape", "'abc'"),
        ((1.0, (1.0, 1.0, 1.0), 1.0), "not a finite number", "(1.0, 1.0, 1.0)"),
        ((1e308, 1e308, 1e308), "inertia", "1e+308"),
    ],
)
def test_an_impossible_inertia_is_refused(inertia, problem, shown):
    with refused("body 'bob'", "inertia", problem, shown, "allowed"):
        compile(make({"inertia": inertia}))


def test_a_body_without_mass_or_shapes_is_refused():
    with refused("body 'bob'", "mass is missing", "allowed"):
        compile(make({"mass": None}))


# --- singular joint-space inertia ------------------------------------------------------------------------------------


def two_links(lower_axis, upper_axis, **lower):
    """A massless link 'arm' on 'first', and a body 'tip' on 'second', both hinges at the origin."""
    scene = Scene(name="two")
    scene.add(Body(name="arm", mass=0.0))
    scene.add(Body(**{"name": "tip", "mass": 1.0, "position": (1.0, 0.0, 0.0), **lower}))
    scene.add(Revolute(name="first", parent="world", child="arm", axis=lower_axis))
    scene.add(Revolute(name="second", parent="arm", child="tip", axis=upper_axis))
    return scene


def floating(**body):
    scene = Scene(name="floating")
    scene.add(Body(name="bob", **body))
    return scene


SINGULAR = {
    "massless body on a hinge": ("pin", make({"mass": 0.0, "inertia": None})),
    "massless free body": ("bob_free", floating(mass=0.0)),
    "free point mass": ("bob_free", floating(mass=1.0)),
    "free thin rod": ("bob_free", floating(mass=1.0, inertia=(1.0, 1.0, 0.0))),
    "point mass on the axis": ("pin", make({"inertia": None, "position": (0.0, 0.0, 3.0)})),
    "thin rod along the axis": ("pin", make({"inertia": (1.0, 1.0, 0.0), "position": (0.0, 0.0, 3.0)})),
    "point mass on a ball": ("pin", make({"inertia": None}, kind=Spherical)),
    "massless link after a massive one": (
        "pin2",
        Scene(
            bodies=[Body(name="a", mass=1.0, inertia=BOX), Body(name="b", mass=0.0)],
            joints=[
                Revolute(name="pin1", parent="world", child="a"),
                Revolute(name="pin2", parent="a", child="b"),
            ],
        ),
    ),
    "two parallel hinges at one place": ("first", two_links((0, 1, 0), (0, 1, 0))),
    "mass on both axes": ("second", two_links((0, 0, 1), (1, 0, 0))),
    "massless slide": ("pin", make({"mass": 0.0, "inertia": BOX}, kind=Prismatic)),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_a_singular_joint_space_inertia_is_refused(case):
    joint, scene = SINGULAR[case]
    with refused(f"joint {joint!r}", "joint-space inertia is singular", "given inertia", "allowed"):
        compile(scene)


def turning_z_to(axis):
    """A quaternion that turns z to the unit vector `axis`."""
    return (-axis[1], axis[0], 0.0, 1.0 + axis[2])


@pytest.mark.parametrize("seed", range(10))
def test_a_thin_rod_along_an_oblique_hinge_is_refused_whatever_the_rounding(seed):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    scene = make(
        {"inertia": (1.0, 1.0, 0.0), "orientation": turning_z_to(axis), "position": 0.7 * axis}, {"axis": axis}
    )
    with refused("joint 'pin'", "joint-space inertia is singular", "allowed"):
        compile(scene)


@pytest.mark.parametrize("seed", range(10))
def test_a_point_mass_on_an_oblique_hinge_is_refused_whatever_the_rounding(seed):
    rng = np.random.default_rng(seed)
    axis, anchor = rng.normal(size=3), 10 * rng.normal(size=3)
    scene = make({"inertia": None, "position": anchor + 0.3 * axis}, {"axis": axis, "anchor": anchor})
    with refused("joint 'pin'", "joint-space inertia is singular", "allowed"):
        compile(scene)


def test_a_pendulum_upside_down_on_its_vertical_axis_is_refused():
    scene = two_links((0, 0, 1), (0, 1, 0), position=(0.0, 0.0, -1.0))
    scene.joints[1].position = np.pi
    with refused("joint 'first'", "joint-space inertia is singular", "allowed"):
        compile(scene)


# --- names and types -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, "", 5, ["bob"], {}, b"bob", True], ids=repr)
@pytest.mark.parametrize("kind", ["body", "joint", "spring"])
def test_a_name_that_is_not_text_is_refused(kind, name):
    shown = repr(tuple(name) if isinstance(name, list) else name)
    with refused(kind, "name", shown, "allowed"):
        compile(make(**{kind: {"name": name}}))


@pytest.mark.parametrize("name", [None, 5, ["scene"]], ids=repr)
def test_a_scene_name_that_is_not_text_is_refused(name):
    with refused("scene", "name", "allowed"):
        compile(make(name=name))


@pytest.mark.parametrize("kind", ["body", "joint", "spring"])
def test_a_duplicate_name_is_refused(kind):
    scene = make()
    for other in getattr(make(), {"body": "bodies", "joint": "joints", "spring": "springs"}[kind]):
        scene.add(other)
    name = {"body": "bob", "joint": "pin", "spring": "coil"}[kind]
    with refused(f"{kind} {name!r}", "taken", f"given {name!r}", "allowed"):
        compile(scene)


def test_a_body_called_world_is_refused_as_reserved():
    with refused("body 'world'", "allowed"):
        compile(Scene(bodies=[Body(name="world", mass=1.0)]))


@pytest.mark.parametrize("kind", ["joint", "spring"])
@pytest.mark.parametrize("end", ["parent", "child"])
@pytest.mark.parametrize(("wrong", "nearest"), [("bobb", "bob"), ("Bob", "bob"), ("wrld", "world")])
def test_an_unknown_body_is_refused_with_the_nearest_name(kind, end, wrong, nearest):
    element = {"joint": "joint 'pin'", "spring": "spring 'coil'"}[kind]
    scene = make(**{kind: {end: wrong}})
    with refused(element, f"unknown body {wrong!r}", f"did you mean {nearest!r}?", "Known: world, bob"):
        compile(scene)


@pytest.mark.parametrize("kind", ["joint", "spring"])
@pytest.mark.parametrize("end", ["parent", "child"])
@pytest.mark.parametrize("wrong", [None, 5, True, ["bob"], {}, Body(name="bob"), "", len], ids=kind_of)
def test_an_end_that_is_not_the_name_of_a_body_is_refused(kind, end, wrong):
    element = {"joint": "joint 'pin'", "spring": "spring 'coil'"}[kind]
    with refused(element, "unknown body", "Known: world, bob"):
        compile(make(**{kind: {end: wrong}}))


def test_the_list_of_known_names_stays_on_one_line():
    scene = make(joint={"child": "bobb"})
    scene.add(Body(name="two\nlines", mass=1.0))
    with refused("joint 'pin'", "did you mean 'bob'?"):
        compile(scene)


@pytest.mark.parametrize("kind", ["joint", "spring"])
@pytest.mark.parametrize("body", ["bob", "world"])
def test_a_joint_or_spring_of_a_body_with_itself_is_refused(kind, body):
    element = {"joint": "joint 'pin'", "spring": "spring 'coil'"}[kind]
    scene = make(**{kind: {"parent": body, "child": body}})
    with refused(element, "with itself", f"{body!r} twice", "allowed"):
        compile(scene)


@pytest.mark.parametrize("frame", [5, "frame", {}, (0, 0, 0), Frame, Body(name="a")], ids=kind_of)
@pytest.mark.parametrize("end", ["parent_frame", "child_frame"])
@pytest.mark.parametrize("kind", [Revolute, Free])
def test_a_frame_of_the_wrong_type_is_refused(kind, end, frame):
    with refused("joint 'pin'", end, "given", "allowed: Frame("):
        compile(make(joint={end: frame}, kind=kind))


@pytest.mark.parametrize(
    "shapes",
    [
        None,
        5,
        "box",
        {},
        Sphere(radius=1.0),
        [None],
        [5],
        [Sphere],
        [[Sphere(radius=1.0)]],
        [Shape()],
        [HalfSpace()],
        [Body(name="a")],
    ],
    ids=kind_of,
)
def test_shapes_of_the_wrong_type_are_refused(shapes):
    with refused("body 'bob'", "shape", "given", "allowed"):
        compile(make({"shapes": shapes}))


@pytest.mark.parametrize("field", ["anchor", "axis", "x_axis"])
@pytest.mark.parametrize("kind", [Revolute, Free])
def test_a_joint_placed_in_the_world_and_in_bodies_is_refused(kind, field):
    joint = {field: (1.0, 0.0, 0.0), "parent_frame": Frame()}
    with refused("joint 'pin'", "twice", field, "parent_frame", "allowed"):
        compile(make(joint=joint, kind=kind))


@pytest.mark.parametrize("kind", [Joint, type("Hinge", (Revolute,), {})], ids=lambda kind: kind.__name__)
def test_a_joint_of_unknown_type_is_refused(kind):
    with refused("joint 'pin'", "unknown type", kind.__name__, "allowed", "revolute"):
        compile(make(kind=kind))


@pytest.mark.parametrize("element", [None, 5, "body", Body, Frame(), [Body(name="a")]], ids=kind_of)
def test_adding_what_is_no_part_of_a_scene_is_refused(element):
    with refused("scene 'test'", f"given {type(element).__name__}", "allowed"):
        Scene(name="test").add(element)


@pytest.mark.parametrize("field", ["bodies", "joints", "springs", "motors", "couplings", "shapes"])
@pytest.mark.parametrize("wrong", [None, 5, "text", [5], [None], [Frame()]], ids=kind_of)
def test_a_scene_whose_lists_hold_something_else_is_refused(field, wrong):
    with refused("scene", field, "given", "allowed"):
        compile(Scene(name="test", **{field: wrong}))


def test_elements_in_the_wrong_list_are_refused():
    joint = Revolute(name="pin", parent="world", child="bob")
    with refused("scene", "bodies", "given", "allowed"):
        compile(Scene(bodies=[joint]))
    with refused("scene", "joints", "given", "allowed"):
        compile(Scene(joints=[Body(name="bob")]))


@pytest.mark.parametrize("wrong", [None, 5, "pendulum", [], Body(name="a", mass=1.0)], ids=kind_of)
def test_compiling_what_is_no_scene_is_refused(wrong):
    with refused("compile", type(wrong).__name__, "allowed: a sharnir.Scene"):
        compile(wrong)


# --- loops and placement ---------------------------------------------------------------------------------------------


def ring(kind, **closing):
    """Two bodies hinged to the world at x = 0 and x = 2, joined in the middle by a joint 'close' of some kind."""
    scene = Scene(name="ring")
    for name, x in (("left", 0.0), ("right", 2.0)):
        scene.add(Body(name=name, mass=1.0, inertia=BOX, position=(x, 0.0, 0.0)))
        scene.add(Revolute(name=f"{name}_hinge", parent="world", child=name, anchor=(x, 0.0, 0.0)))
    ends = {"parent_frame": Frame(anchor=(1.0, 0.0, 0.0)), "child_frame": Frame(anchor=(-1.0, 0.0, 0.0))}
    scene.add(kind(name="close", parent="left", child="right", **{**ends, **closing}))
    return scene


def off(x=-1.0, y=0.0, z=0.0, axis=(0.0, 0.0, 1.0), x_axis=None):
    return {"child_frame": Frame(anchor=(x, y, z), axis=axis, x_axis=x_axis)}


TILTED = (np.sin(0.01), 0.0, np.cos(0.01))
OPEN_LOOPS = {
    "revolute apart": (ring(Revolute, **off(x=-1.25)), "a gap of 0.25 m"),
    "revolute tilted": (ring(Revolute, **off(axis=TILTED)), "a misalignment of 0.57"),
    "revolute upside down": (ring(Revolute, **off(axis=(0, 0, -1.0))), "a misalignment of 180°"),
    "spherical apart": (ring(Spherical, **off(z=0.003)), "a gap of 0.003 m"),
    "fixed turned": (ring(Fixed, **off(x_axis=(np.cos(0.01), np.sin(0.01), 0.0))), "a misalignment of 0.57"),
    "prismatic aside": (ring(Prismatic, **off(y=0.5)), "a gap of 0.5 m"),
    "cylindrical aside": (ring(Cylindrical, **off(y=0.5)), "a gap of 0.5 m"),
    "planar above": (ring(Planar, **off(z=0.5)), "a gap of 0.5 m"),
    "helical between threads": (ring(Helical, pitch=0.4, **off(z=0.1)), "a gap of 0.1 m"),
    "universal apart": (ring(Universal, **off(z=0.5, axis=(1.0, 0.0, 0.0))), "a gap of 0.5 m"),
}


@pytest.mark.parametrize("case", OPEN_LOOPS)
def test_a_loop_that_is_open_at_first_is_refused_with_its_gap(case):
    scene, gap = OPEN_LOOPS[case]
    with refused("joint 'close'", "do not coincide", gap, "allowed: at most 1e-06 m"):
        compile(scene)


def test_a_loop_opened_by_initial_positions_is_refused_with_its_gap():
    scene = ring(Spherical)
    scene.joints[0].position = 1.0
    gap = 2 * np.sin(0.5)
    with refused("joint 'close'", f"a gap of {gap:.6g} m", "allowed"):
        compile(scene)


@pytest.mark.parametrize("field", ["position", "velocity", "damping", "stiffness", "rest", "armature", "effort"])
def test_a_bad_number_in_a_loop_joint_is_refused(field):
    with refused("joint 'close'", field, "nan", "allowed"):
        compile(ring(Revolute, **{field: NAN}))


@pytest.mark.parametrize("kind", [Revolute, Spherical, Fixed, Prismatic, Cylindrical, Planar, Free])
def test_a_loop_that_is_closed_is_accepted(kind):
    assert accepted(ring(kind)).loops == 1


def test_a_body_whose_pose_contradicts_its_joint_frames_is_refused_with_the_gap():
    joint = {"parent_frame": Frame(anchor=(3.0, 0.0, 0.0)), "child_frame": Frame()}
    with refused("joint 'pin'", "a gap of 2 m", "body 'bob'", "allowed"):
        compile(make(joint=joint))


# --- dynamics functions ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return compile(make(kind=Spherical))


STATE = {"q": [0.0, 0.0, 0.0, 1.0], "v": [0.0, 0.0, 0.0], "tau": [0.0, 0.0, 0.0]}


def wrong_states():
    """(id, argument, bad value, how the message shows it)"""
    for name, good in STATE.items():
        n = len(good)
        yield f"{name} short", name, good[1:], f"given [{n - 1}]"
        yield f"{name} long", name, [*good, 0.0], f"given [{n + 1}]"
        yield f"{name} number", name, 1.0, "given []"
        yield f"{name} row", name, [good], f"given [1, {n}]"
        yield f"{name} no worlds", name, np.zeros((n, 0)), f"given [{n}, 0]"
        yield f"{name} cube", name, np.zeros((n, 1, 1)), f"given [{n}, 1, 1]"
        yield f"{name} nan", name, [*good[:-1], NAN], f"{name}[{n - 1}] is not finite: given nan"
        yield f"{name} inf", name, [*good[:-1], INF], f"{name}[{n - 1}] is not finite: given inf"
        yield f"{name} text", name, "abc", "'abc'"
        yield f"{name} texts", name, ["abc"] * n, "abc"
        yield f"{name} None", name, None, "None"
        yield f"{name} ragged", name, [[0.0], [0.0, 1.0]], "[0.0, 1.0]"
        yield f"{name} complex", name, [1j] * n, "1j"
        yield f"{name} huge", name, [10**400] * n, "10000"
        yield f"{name} object", name, object(), "object"


@pytest.mark.parametrize(("name", "value", "shown"), [pytest.param(*c, id=i) for i, *c in wrong_states()])
def test_a_wrong_state_is_refused(model, name, value, shown):
    with refused("model 'test'", name, shown, "allowed"):
        dynamics.aba(model, **{**STATE, name: value})


def test_a_missing_state_never_falls_back_to_an_earlier_one(model):
    dynamics.aba(model, **{**STATE, "tau": [1.0, 2.0, 3.0]})
    with refused("model 'test'", "tau", "None", "allowed"):
        dynamics.aba(model, STATE["q"], STATE["v"], None)


def test_states_of_different_numbers_of_worlds_are_refused(model):
    q, v, tau = np.tile([[0.0], [0.0], [0.0], [1.0]], 2), np.zeros((3, 3)), np.zeros((3, 2))
    with refused("model 'test'", "q [4, 2], v [3, 3], tau [3, 2]", "allowed"):
        dynamics.aba(model, q, v, tau)


def test_a_zero_quaternion_in_q_is_refused(model):
    with refused("model 'test'", "q[0:4]", "zero", "allowed"):
        dynamics.aba(model, [0.0] * 4, STATE["v"], STATE["tau"])


@pytest.mark.parametrize(
    ("force", "shown"),
    [
        (np.zeros(6), "given [6]"), (np.zeros((2, 6)), "given [2, 6]"), (np.zeros((1, 3)), "given [1, 3]"),
        (np.full((1, 6), NAN), "nan"), ("abc", "'abc'"), ([[1.0], [1.0, 2.0]], "[1.0, 2.0]"),
    ],
    ids=["vector", "rows", "columns", "nan", "text", "ragged"],
)  # fmt: skip
def test_a_wrong_external_force_is_refused(model, force, shown):
    with refused("model 'test'", "f_ext", shown, "allowed"):
        dynamics.aba(model, **STATE, f_ext=force)


@pytest.mark.parametrize(
    "point", ["abc", None, 1.0, (1.0, 2.0), (NAN, 0, 0), [[1.0, 2.0, 3.0]], [[1], [2, 3]]], ids=str
)
def test_a_wrong_point_of_a_jacobian_is_refused(model, point):
    with refused("body 'bob'", "point", "given", "allowed"):
        dynamics.jacobian(model, STATE["q"], "bob", point)


def test_a_jacobian_of_an_unknown_body_is_refused_with_the_nearest_name(model):
    with refused("unknown body 'bobb'", "did you mean 'bob'?"):
        dynamics.jacobian(model, STATE["q"], "bobb")


@pytest.mark.parametrize("name", ["aba", "crba", "jacobian", "energy"])
def test_dynamics_of_a_scene_instead_of_a_model_is_refused(name):
    arguments = {"aba": [[], [], []], "crba": [[]], "jacobian": [[], "bob"], "energy": [[], []]}[name]
    with refused("not a model", "given Scene", "allowed"):
        getattr(dynamics, name)(make(), *arguments)


def test_an_evaluator_of_a_scene_instead_of_a_model_is_refused():
    with refused("not a model", "given Scene", "allowed"):
        dynamics.Dynamics(make())


@pytest.mark.parametrize("worlds", [0, -1, 1.5, "2", None, True], ids=repr)
def test_a_wrong_number_of_worlds_is_refused(model, worlds):
    with refused("worlds", f"given {worlds!r}", "allowed: a whole number ≥ 1"):
        dynamics.Dynamics(model, worlds)


@pytest.mark.parametrize("device", ["gpu", "cuda:77", 5, ""], ids=repr)
def test_an_unknown_device_is_refused(model, device):
    with refused("device", repr(device)):
        dynamics.aba(model, **STATE, device=device)


@pytest.mark.parametrize("name", ["tripel", None, 64, ""], ids=repr)
def test_an_unknown_precision_is_refused(name):
    with refused("precision", f"given {name!r}", "allowed: 'double' or 'single'"):
        sharnir.set_precision(name)


# --- named scenes ----------------------------------------------------------------------------------------------------


def test_an_unknown_named_scene_is_refused_with_the_nearest_name():
    with refused("unknown scene 'pendulm'", "did you mean 'pendulum'?"):
        scenes.make("pendulm")


def test_an_unknown_parameter_of_a_named_scene_is_refused():
    with refused("scene 'rods'", "unknown parameter 'm'", "Known: n, angle"):
        scenes.make("rods", m=3)


@pytest.mark.parametrize("scene", ["rods", "n_four_bar"])
@pytest.mark.parametrize("n", [0, -1, 1.5, "2", None, True, NAN], ids=repr)
def test_a_wrong_count_in_a_named_scene_is_refused(scene, n):
    with refused(f"scene {scene!r}", f"given {n!r}", "allowed: a whole number ≥ 1"):
        scenes.make(scene, n=n)


PARAMETERS = {
    "pendulum": ("length", "angle"), "double_pendulum": ("angle1", "angle2"), "rods": ("angle",),
    "spherical_pendulum": ("length", "tilt", "swirl"), "free_box": ("velocity", "spin", "gravity"),
}  # fmt: skip


@pytest.mark.parametrize(("scene", "parameter"), [(s, p) for s, names in PARAMETERS.items() for p in names])
@pytest.mark.parametrize("value", [NAN, "abc", [1.0, 2.0]], ids=repr)
def test_a_wrong_parameter_of_a_named_scene_is_refused(scene, parameter, value):
    with refused("given", "allowed"):
        compile(scenes.make(scene, **{parameter: value}))


# --- legal extremes --------------------------------------------------------------------------------------------------

THIN = (1.0, 1.0, 0.0)
LEGAL = {
    "point mass on a hinge": make({"inertia": None}),
    "point mass on a slide": make({"inertia": None}, kind=Prismatic),
    "thin rod across a hinge": make({"inertia": (0.0, 1.0, 1.0)}),
    "thin rod on two hinges": two_links((0, 0, 1), (0, 1, 0), inertia=(0.0, 1.0, 1.0)),
    "thin rod along an offset hinge": make({"inertia": THIN}),
    "massless link before a massive one": two_links((0, 0, 1), (0, 1, 0)),
    "point mass on a screw along its axis": make({"inertia": None, "position": (0, 0, 0)}, kind=Helical),
    "massless body with a rotor": make({"mass": 0.0, "inertia": None}, {"armature": 1e-6}),
    "free point mass with rotors": make({"inertia": None}, {"armature": (0, 0, 0, 1e-6, 1e-6, 1e-6)}, kind=Free),
    "flat plate": make({"inertia": (1.0, 2.0, 3.0)}),
    "mass of a feather": make({"mass": 1e-30, "inertia": None}),
    "mass of a star": make({"mass": 2e30, "inertia": (1e46, 1e46, 1e46)}),
    "zero gravity": make(gravity=(0, 0, 0)),
    "integers": make({"mass": 1, "inertia": (1, 1, 1), "position": (1, 0, 0)}, {"axis": (0, 1, 0), "damping": 1}),
    "large integers": make({"mass": 10**25}),
    "numpy numbers": make({"mass": np.float32(1), "position": np.arange(3)}, {"position": np.array(0.5)}),
    "a mass of zero beside shapes": make({"mass": 0, "inertia": BOX, "shapes": [Sphere(radius=1.0)]}),
    "the same name for a body and a joint": make(joint={"name": "bob"}),
    "a spring of no length at rest": make(spring={"child_anchor": (-1.0, 0.0, 0.0), "stiffness": 1.0}),
}


@pytest.mark.parametrize("case", LEGAL)
def test_a_legal_extreme_is_accepted(case):
    model = accepted(LEGAL[case])
    qdd = dynamics.aba(model, model.q0, model.v0, np.zeros(model.nv), springs=True)
    assert np.isfinite(qdd).all()


def set_after_building(target, field, value):
    scene = make()
    setattr(getattr(scene, target)[0] if target else scene, field, value)
    return scene


@pytest.mark.parametrize(
    ("target", "field", "value"),
    [
        ("bodies", "position", np.array([1.0, 0.0, 0.0])),
        ("bodies", "position", [1.0, 0.0, 0.0]),
        ("bodies", "mass", np.float32(1.0)),
        ("bodies", "mass", np.int64(1)),
        ("bodies", "inertia", np.diag(BOX)),
        ("bodies", "shapes", [Sphere(radius=1.0)]),
        ("joints", "position", np.array(0.5)),
        ("springs", "child_anchor", np.zeros(3)),
        ("", "gravity", np.zeros(3)),
    ],
    ids=kind_of,
)
def test_values_set_after_building_may_be_arrays_and_lists_too(target, field, value):
    accepted(set_after_building(target, field, value))


def test_work_to_compile_a_chain_grows_with_its_length():
    """Counted in calls of functions: twice the links take at most 2.2 times as many."""
    calls = []
    for n in (500, 1000):
        scene, count = scenes.make("rods", n=n), 0

        def note(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            model = sharnir.compile(scene)
        finally:
            sys.setprofile(None)
        assert model.nv == n
        calls.append(count)
    assert calls[1] < 2.2 * calls[0], calls


def test_an_empty_scene_is_an_empty_model():
    model = accepted(Scene())
    assert (model.nb, model.nq, model.nv, model.loops, model.trees) == (0, 0, 0, 0, 0)
    assert sharnir.simulate(model, 1.0).finished
    assert dynamics.aba(model, [], [], []).shape == (0,)
    assert dynamics.crba(model, []).shape == (0, 0)
    assert dynamics.body_poses(model, [])[0].shape == (0, 3)


def test_a_scene_without_freedom_has_dynamics():
    model = accepted(make(kind=Fixed))
    assert model.nv == 0
    assert sharnir.simulate(model, 1.0).finished
    assert dynamics.aba(model, [], [], []).shape == (0,)
    np.testing.assert_allclose(dynamics.joint_wrenches(model, [], [], [])[0], [0, 0, 9.81, 0, -9.81, 0], atol=1e-12)
