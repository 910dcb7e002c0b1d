"""Scene files: nothing is lost on the way to a file and back, and what cannot be saved is refused."""

import json
import math
from dataclasses import fields

import numpy as np
import pytest

from sharnir import (
    Belt,
    Body,
    Box,
    Capsule,
    ContactPair,
    Coupling,
    Cylinder,
    Cylindrical,
    Fixed,
    Frame,
    Free,
    HalfSpace,
    Helical,
    Material,
    MaterialPair,
    ModelError,
    Motor,
    Prismatic,
    Revolute,
    Scene,
    Sphere,
    Spherical,
    Spring,
    Universal,
    compile,
    scenes,
)
from sharnir.spec.joints import JOINT_TYPES

THIRD = 1 / 3
AWKWARD_NAMES = [
    "with 'single' and \"double\" quotes",
    "three \"\"\" and three '''",
    "back\\slash \\n \\u0041 \\",
    "line\nbreak\r\nand\rreturn",
    "tab\t bell\a null\0 escape\x1b delete\x7f",
    "C1 \x80\x85\x9f, separators \u2028\u2029, no-break\u00a0space, joiner\u200d, mark\ufeff",
    "ünïcödé Ψ 关节 🦾 e\u0301",
    "[[body]]",
    "a = 1 # comment",
    "{ x = 1 }",
    " padded ",
    "world ",
    "true",
    "1",
    "a.b",
    "x" * 3000,
]
AWKWARD_NUMBERS = [
    THIRD, 0.1, 1e-300, 5e-324, 1.7976931348623157e308, 1e16, 123456789012345680.0, math.pi, 2**53 + 1, 10**15, 7, -0.0,
]  # fmt: skip


def round_trip(scene, folder):
    path = folder / "scene.toml"
    scene.save(path)
    return Scene.load(path)


def same_models(a, b):
    """Whether two models hold the same names and bit-identical arrays."""
    for field in fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            assert x.tobytes() == y.tobytes(), field.name
        elif field.name != "cache":
            assert x == y, field.name


def everything():
    """A scene that uses every element and every field of it."""
    scene = Scene(name='everything "and" \\more\n', gravity=np.array([THIRD, -0.0, -9.81]))
    solids = (
        Sphere(
            position=(THIRD, 0, 1e-300),
            orientation=(0.1, 0.2, 0.3, 0.4),
            density=1e3 / 7,
            material=Material(friction=THIRD, restitution=0.5, combine="least", name=AWKWARD_NAMES[0]),
            radius=0.1,
        ),
        Box(position=np.array([0.0, -0.0, 1.0]), orientation=(0, 0, 1, 0), density=3, size=(THIRD, 2, 1e-3)),
        Cylinder(position=(0, 0, 1), orientation=np.ones(4), density=0.0, radius=THIRD, length=2),
        Capsule(position=(0, 1, 0), orientation=(0, 0, 0, -1), density=1e-3, radius=0.2, length=1 / 7),
    )
    scene.add(
        Body(name="root", mass=math.e, center_of_mass=(THIRD, -0.0, 1e-300), shapes=solids, position=(1, 2, 3),
             inertia=np.array([[2.0, THIRD, 0.0], [THIRD, 3.0, 0.1], [0.0, 0.1, 4.0]]), orientation=(1, 2, 3, 4))
    )  # fmt: skip
    scene.add(
        Free(name="float", parent="world", child="root", position=(1, 2, THIRD, 0, 0, 0, 1), velocity=np.arange(6))
    )
    parent = "root"
    for k, kind in enumerate(t for t in JOINT_TYPES.values() if t is not Free):
        name = AWKWARD_NAMES[k]
        scene.add(Body(name=name, mass=1 + k * THIRD, inertia=(0.1, THIRD, 0.3), position=(k, 0, THIRD)))
        extra = {Helical: {"pitch": 1e-3 / 3}, Universal: {"axis2": (0, 0, 2)}}.get(kind, {})
        x_axis = {} if kind is Universal else {"x_axis": (0, THIRD, 1)}
        q = (0.1, THIRD, 0.3, 0.4)[: kind.nq]
        v = tuple((j + 1) / 3 for j in range(kind.nv))
        angles = "euler" if kind is Spherical else "twist"
        scene.add(
            kind(name=f"to {name}", parent=parent, child=name, anchor=(k, THIRD, -0.0), axis=(1, 0, 0), position=q,
                 velocity=v, damping=v, stiffness=1e-300, rest=q[::-1], armature=np.array(v), effort=v,
                 friction=v, limits=[(-math.inf, THIRD)] * kind.nv, limit_angles=angles, **x_axis, **extra)
        )  # fmt: skip
        parent = name
    ends = {
        "parent_frame": Frame(anchor=(THIRD, 0, 0), axis=(1, THIRD, 0), x_axis=(0, 0, 5)),
        "child_frame": Frame(anchor=np.zeros(3), axis=(0, 1, 0)),
    }
    scene.add(Body(name="tip", mass=1, inertia=(1, 1, 1)))
    scene.add(Revolute(name="in frames", parent=parent, child="tip", **ends))
    scene.add(
        Spring(name="coil\t", parent="world", child="tip", parent_anchor=(THIRD, 0, 0), child_anchor=(0, -0.0, 1e-300),
               stiffness=4530, damping=THIRD, length=0.1)
    )  # fmt: skip
    drive = {"coordinate": 1, "max_force": THIRD, "max_speed": 7, "response": 0.0}
    scene.add(Motor(name="drive", joint="float", position=np.float64(THIRD), **drive))
    scene.add(Motor(name="spin", joint="in frames", velocity=-0.0))
    scene.add(
        Coupling(name="gear", leader="in frames", follower="float", ratio=-THIRD, offset=0.1, follower_coordinate=2)
    )
    scene.add(Coupling(name="mimic", leader="float", follower="in frames", leader_coordinate=1))
    scene.add(
        HalfSpace(
            position=(0, 0, -THIRD),
            orientation=np.ones(4),
            material=Material(friction=0, name="ice"),
        )
    )
    scene.add(Belt(name="band", joint="in frames", radius=THIRD))
    scene.add(Box(size=(1, THIRD, 2), density=3, position=(5, 0, 0), surface_velocity=(1.0, 0.0, THIRD)))
    scene.add(ContactPair(first="world", second="root", touch=False))
    scene.add(ContactPair(first="root", second="world", touch=True, first_shape=2, second_shape=1))
    lengths = {"rolling": 1e-3 / 3, "spinning": 1e-300, "threshold": -0.0}
    scene.add(
        MaterialPair(
            first=AWKWARD_NAMES[0], second="ice", friction=THIRD, static_friction=0.5, restitution=1, **lengths
        )
    )
    return scene


# --- without loss ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scenes.names())
def test_a_named_scene_survives(name, tmp_path):
    scene = scenes.make(name)
    loaded = round_trip(scene, tmp_path)
    assert loaded == scene
    same_models(compile(loaded), compile(scene))


def test_every_element_and_field_survives(tmp_path):
    scene = everything()
    loaded = round_trip(scene, tmp_path)
    assert loaded == scene
    same_models(compile(loaded), compile(scene))


def test_a_loaded_scene_is_saved_as_the_same_text(tmp_path):
    everything().save(tmp_path / "first.toml")
    Scene.load(tmp_path / "first.toml").save(tmp_path / "second.toml")
    assert (tmp_path / "second.toml").read_bytes() == (tmp_path / "first.toml").read_bytes()


@pytest.mark.parametrize("name", AWKWARD_NAMES, ids=lambda name: json.dumps(name)[:30])
def test_an_awkward_name_survives(name, tmp_path):
    scene = Scene(name=name)
    scene.add(Body(name=name, mass=1.0))
    scene.add(Revolute(name=name, parent="world", child=name, anchor=(1, 0, 0)))
    scene.add(Spring(name=name, parent=name, child="world"))
    loaded = round_trip(scene, tmp_path)
    assert loaded == scene
    assert compile(loaded).joint_names == (name,)


@pytest.mark.parametrize("value", AWKWARD_NUMBERS, ids=repr)
def test_an_awkward_number_survives_with_its_type_and_sign(value, tmp_path):
    scene = Scene(gravity=(value, -value, value))
    scene.add(Body(name="a", mass=value, position=(value, value, -value)))
    scene.add(Prismatic(name="slide", parent="world", child="a", position=value, effort=value))
    loaded = round_trip(scene, tmp_path)
    for given, read in (
        (scene.gravity, loaded.gravity),
        (scene.bodies[0].mass, loaded.bodies[0].mass),
        (scene.bodies[0].position, loaded.bodies[0].position),
        (scene.joints[0].position, loaded.joints[0].position),
        (scene.joints[0].effort, loaded.joints[0].effort),
    ):
        assert repr(read) == repr(given)


@pytest.mark.parametrize(
    "value", [np.float64(THIRD), np.float32(0.1), np.int64(3), np.array(THIRD), np.uint8(7)], ids=repr
)
def test_a_numpy_number_survives(value, tmp_path):
    scene = Scene()
    scene.add(Body(name="a", mass=value, position=np.array([value, 0, 0])))
    loaded = round_trip(scene, tmp_path)
    assert loaded == scene
    assert loaded.bodies[0].mass == float(value)


def test_arrays_set_after_building_survive(tmp_path):
    scene = scenes.make("pendulum")
    scene.bodies[0].position = np.array([0.0, 0.0, -2.0])
    scene.joints[0].damping = np.float32(0.5)
    loaded = round_trip(scene, tmp_path)
    assert loaded.bodies[0].position == (0.0, 0.0, -2.0)
    assert loaded.joints[0].damping == 0.5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=repr)
def test_what_is_not_finite_survives_to_be_refused_by_the_compiler(value, tmp_path):
    scene = scenes.make("pendulum")
    scene.bodies[0].mass = value
    loaded = round_trip(scene, tmp_path)
    assert repr(loaded.bodies[0].mass) == repr(value)
    with pytest.raises(ModelError, match="body 'bob': mass is not a finite number"):
        compile(loaded)


def test_an_empty_scene_survives(tmp_path):
    assert round_trip(Scene(), tmp_path) == Scene()


def test_the_file_is_readable_and_leaves_out_defaults(tmp_path):
    scenes.make("pendulum").save(tmp_path / "scene.toml")
    text = (tmp_path / "scene.toml").read_text(encoding="utf-8")
    assert text.startswith('format = "sharnir-scene"\nversion = 1\nname = "pendulum"\n')
    assert '\n[[body]]\nname = "bob"\nmass = 1.0\nposition = [0.0, 0.0, -1.0]\n' in text
    assert "damping" not in text


def test_a_path_may_be_text(tmp_path):
    Scene().save(str(tmp_path / "scene.toml"))
    assert Scene.load(str(tmp_path / "scene.toml")) == Scene()


@pytest.mark.parametrize("kind", [Cylindrical, Spherical, Universal, Fixed])
def test_the_type_of_a_joint_survives(kind, tmp_path):
    scene = Scene(joints=[kind(name="j", parent="world", child="a")])
    assert type(round_trip(scene, tmp_path).joints[0]) is kind


# --- saving what cannot be saved -------------------------------------------------------------------------------------


def edited(**fields_):
    scene = scenes.make("pendulum")
    for name, value in fields_.items():
        setattr(scene.bodies[0], name, value)
    return scene


UNDAMPED = Fixed(name="j", parent="world", child="a", damping=False)
UNSAVABLE = {
    "bool": (edited(mass=True), "body 'bob': mass", "True"),
    "False that equals a default": (Scene(joints=[UNDAMPED]), "joint 'j': damping", "False"),
    "object": (edited(mass=object()), "body 'bob': mass", "object"),
    "shapes that are no list": (edited(shapes=5), "body 'bob'", "5"),
    "shape of another type": (edited(shapes=("box",)), "body 'bob'", "str"),
    "scene name": (Scene(name=None), "scene None: name", "None"),
    "body that is none": (Scene(bodies=[5]), "scene", "int"),
    "name with half a surrogate pair": (edited(name="\ud800"), "body '\\ud800'", "\\ud800"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNSAVABLE)
def test_what_cannot_be_saved_is_refused_and_the_old_file_kept(case, tmp_path):
    scene, element, shown = UNSAVABLE[case]
    path = tmp_path / "scene.toml"
    path.write_text("old")
    with pytest.raises(ModelError) as caught:
        scene.save(path)
    message = str(caught.value)
    assert "\n" not in message
    assert element in message
    assert shown in message
    assert path.read_text() == "old"
