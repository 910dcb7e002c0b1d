"""Names that are taken, unknown or no text, and elements that are something else, are refused by name."""

import pytest
from bad_scenes import kind_of, make
from refusal import refused

from sharnir import Body, Frame, Free, HalfSpace, Revolute, Scene, Sphere, compile
from sharnir.spec.elements import Shape
from sharnir.spec.joints import Joint


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
