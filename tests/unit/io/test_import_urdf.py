"""What URDF files say: limits, mimics, visuals, bases, fixed joints, inertias that no solid has."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh
from sharnir import dynamics

LINK = '<link name="{name}"><inertial>{origin}<mass value="{mass}"/>{inertia}</inertial>{more}</link>'
ROUND = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
FLAT = '<inertia ixx="0.001" iyy="0.001" izz="0.01" ixy="0" ixz="0" iyz="0"/>'  # no solid has it
SEEN = """<visual><origin xyz="0 0 0.5" rpy="0 0 1"/><geometry><box size="1 2 3"/></geometry>
  <material name="red"/></visual><visual><geometry><mesh filename="hand.stl" scale="1 2 3"/></geometry></visual>
  <collision><geometry><sphere radius="0.2"/></geometry></collision>"""


def link(name: str, mass: float = 1.0, inertia: str = ROUND, more: str = "", at: str = "0 0 0") -> str:
    return LINK.format(name=name, mass=mass, inertia=inertia, more=more, origin=f'<origin xyz="{at}"/>')


def joint(name: str, kind: str, parent: str, child: str, more: str = "", at: str = "0 0 1") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/><origin xyz="{at}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def robot(tmp_path, *parts: str, **options) -> sh.Scene:
    (tmp_path / "robot.urdf").write_text(f'<robot name="r">{"".join(parts)}</robot>')
    return sh.load(tmp_path / "robot.urdf", **options)


LIMIT = '<limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.3" friction="0.2"/>'


def test_limits_of_range_force_and_speed_are_kept(tmp_path):
    scene = robot(tmp_path, link("base"), link("arm"), joint("elbow", "revolute", "base", "arm", LIMIT))
    elbow = next(j for j in scene.joints if j.name == "elbow")
    assert elbow.limits == ((-1.0, 2.0),) and (elbow.damping, elbow.friction) == (0.3, 0.2)
    assert (elbow.max_force, elbow.max_speed) == (30.0, 4.0)
    scene.add(sh.Motor(name="drive", joint="elbow", position=1.0, max_force=100.0, max_speed=1.0))
    model = sh.compile(scene)
    assert (model.motor_max_force.tolist(), model.motor_max_speed.tolist()) == ([30.0], [1.0])


def test_a_mimic_is_a_coupling(tmp_path):
    mimic = LIMIT + '<mimic joint="a" multiplier="-2" offset="0.1"/>'
    a, b = joint("a", "revolute", "base", "x", LIMIT), joint("b", "prismatic", "base", "y", mimic)
    scene = robot(tmp_path, link("base"), link("x"), link("y"), a, b)
    [coupling] = scene.couplings
    assert (coupling.leader, coupling.follower, coupling.ratio, coupling.offset) == ("a", "b", -2.0, 0.1)
    assert scene.import_report.lost == []


def test_visual_and_collision_geometry_are_apart(tmp_path):
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    scene = robot(tmp_path, red, link("base"), link("arm", more=SEEN), joint("j", "continuous", "base", "arm"))
    arm = scene.bodies[1]
    assert [type(s) for s in arm.shapes] == [sh.Sphere]
    box, mesh = arm.visuals
    assert box.shape.size == (1, 2, 3) and box.shape.position == (0, 0, 0.5) and box.color == (1, 0, 0, 1)
    assert mesh.file == "hand.stl" and mesh.scale == (1, 2, 3)
    assert [str(e) for e in scene.import_report] == ["link 'arm': its visual mesh 'hand.stl' is not there"]


@pytest.mark.parametrize(("floating", "kind", "nv"), [(False, "fixed", 1), (True, "free", 7)])
def test_the_base_is_fixed_or_floats(tmp_path, floating, kind, nv):
    parts = link("base"), link("arm"), joint("j", "continuous", "base", "arm")
    model = sh.compile(robot(tmp_path, *parts, floating=floating))
    assert model.joint_types[0] == kind and model.nv == nv
    assert model.mass.sum() == 2.0


def test_links_that_are_fixed_stay_or_become_one(tmp_path):
    tool = joint("weld", "fixed", "arm", "tool", at="0.3 0.2 0.1")
    parts = [link("base"), link("arm", at="0.1 0 0"), link("tool", mass=2.0, at="0 0.1 0"), tool]
    parts.append(joint("j", "continuous", "base", "arm"))
    kept = sh.compile(robot(tmp_path, *parts))
    merged = sh.compile(robot(tmp_path, *parts, merge_fixed=True))
    assert kept.body_names == ("base", "arm", "tool") and merged.body_names == ("arm",)
    q, v = np.array([0.7]), np.array([1.3])
    np.testing.assert_allclose(dynamics.crba(kept, q), dynamics.crba(merged, q), rtol=1e-13)
    a = [dynamics.aba(m, q, v, np.zeros(1)) for m in (kept, merged)]
    np.testing.assert_allclose(*a, rtol=1e-13)


def test_merged_links_do_not_lose_their_shapes(tmp_path):
    tool = joint("weld", "fixed", "arm", "tool", at="0.3 0.2 0.1")
    parts = [link("base"), link("arm"), link("tool", more=SEEN), tool, joint("j", "continuous", "base", "arm")]
    scene = robot(tmp_path, *parts, merge_fixed=True)
    [arm] = scene.bodies
    np.testing.assert_allclose(arm.shapes[0].position, (0.3, 0.2, 0.1), atol=1e-15)
    np.testing.assert_allclose(arm.visuals[0].shape.position, (0.3, 0.2, 0.6), atol=1e-15)


def test_an_impossible_inertia_counts_with_what_it_is_fixed_to(tmp_path):
    """A thin plate thicker than itself, on an arm whose inertia makes up for it."""
    parts = [link("base"), link("arm"), link("chip", mass=0.1, inertia=FLAT), joint("j", "continuous", "base", "arm")]
    parts.append(joint("weld", "fixed", "arm", "chip", at="0.2 0 0"))
    scene = robot(tmp_path, *parts)
    assert [e.effect for e in scene.import_report] == ["unseen"]
    model = sh.compile(scene)
    assert model.mass.tolist() == [1.0, 1.1, 0.0]
    # about the axis (0, 1, 0) through the arm's origin: 0.1 + 0.001 + 0.1 · 0.2²
    np.testing.assert_allclose(dynamics.crba(model, np.zeros(1)), [[0.1 + 0.001 + 0.1 * 0.04]], rtol=1e-13)


def test_an_impossible_inertia_that_moves_alone_is_refused(tmp_path):
    scene = robot(tmp_path, link("base"), link("chip", inertia=FLAT), joint("j", "continuous", "base", "chip"))
    with pytest.raises(sh.ModelError, match="body 'chip': inertia violates the triangle inequality"):
        sh.compile(scene)


def test_limits_of_no_width_are_none_and_said_to_be(tmp_path):
    zero = '<limit lower="0" upper="0" effort="1" velocity="1"/>'
    scene = robot(tmp_path, link("base"), link("arm"), joint("j", "revolute", "base", "arm", zero))
    assert next(j for j in scene.joints if j.name == "j").limits is None
    assert [(e.name, e.effect) for e in scene.import_report] == [("j", "changed")]
    with pytest.raises(sh.ModelError, match="limits from 0 to 0 are taken for none"):
        robot(tmp_path, link("base"), link("arm"), joint("j", "revolute", "base", "arm", zero), strict=True)


def test_an_inertia_may_be_given_in_turned_axes(tmp_path):
    """Turned by 90° about z, what was the moment about x is that about y, the joint's axis."""
    turned = '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>'
    arm = link("arm", inertia=turned).replace('<origin xyz="0 0 0"/>', f'<origin rpy="0 0 {np.pi / 2}"/>')
    model = sh.compile(robot(tmp_path, link("base"), arm, joint("j", "continuous", "base", "arm")))
    np.testing.assert_allclose(dynamics.crba(model, np.zeros(1)), [[1.0]], rtol=1e-12)


@pytest.mark.parametrize("none", ["inf", "1e300", "0"])
def test_an_effort_or_velocity_without_end_is_no_limit(tmp_path, none):
    limit = f'<limit lower="-1" upper="1" effort="{none}" velocity="{none}"/>'
    scene = robot(tmp_path, link("base"), link("arm"), joint("j", "revolute", "base", "arm", limit))
    elbow = next(j for j in scene.joints if j.name == "j")
    assert elbow.max_force == elbow.max_speed == np.inf and elbow.limits == ((-1.0, 1.0),)
    sh.compile(scene)


def test_a_negative_inertia_counts_with_what_it_is_fixed_to(tmp_path):
    """The arm's inertia makes up for that of the chip; the chip alone is refused, with its line."""
    negative = FLAT.replace('ixx="0.001"', 'ixx="-0.001"')
    weld = joint("weld", "fixed", "arm", "chip", at="0.2 0 0")
    parts = [link("base"), link("arm"), link("chip", mass=0.1, inertia=negative), weld]
    model = sh.compile(robot(tmp_path, *parts, joint("j", "continuous", "base", "arm")))
    np.testing.assert_allclose(dynamics.crba(model, np.zeros(1)), [[0.1 + 0.001 + 0.1 * 0.04]], rtol=1e-13)
    with pytest.raises(sh.ModelFileError, match=r"robot.urdf:1: link 'chip': inertia is not positive"):
        robot(tmp_path, *parts[:3], joint("j", "fixed", "base", "arm"), weld.replace("fixed", "continuous"))


def test_errors_of_a_loaded_scene_name_its_file(tmp_path):
    light = link("arm", mass=0.0, inertia="")
    scene = robot(tmp_path, link("base"), light, joint("j", "continuous", "base", "arm"))
    with pytest.raises(
        sh.ModelFileError, match=r"robot.urdf: joint 'j' of body 'arm': the joint-space inertia"
    ) as error:
        sh.compile(scene)
    assert error.value.file == str(tmp_path / "robot.urdf") and error.value.allowed


def test_numbers_too_large_to_compute_with_are_refused(tmp_path):
    far = joint("j", "fixed", "base", "arm", at="1e50 0 0")
    parts = [link("base"), link("arm", inertia=FLAT, mass=1e40, at="1e50 0 0"), far]
    with pytest.raises(sh.ModelFileError, match=r"robot\.urdf: "):
        sh.compile(robot(tmp_path, *parts, floating=True))


def test_what_is_for_others_is_in_the_report(tmp_path):
    extensions = """<gazebo reference="arm"><mu1>2</mu1></gazebo><transmission name="t"/>"""
    more = "<self_filter/><gravity>{}</gravity><kinematic>{}</kinematic>"
    parts = [link("base"), joint("j", "continuous", "base", "arm", '<safety_controller k_velocity="1"/>'), extensions]
    usual = robot(tmp_path, *parts, link("arm", more=more.format(1, 0)))
    found = {(e.element, e.effect) for e in usual.import_report}
    unseen = {(tag, "unseen") for tag in ("transmission", "self_filter", "safety_controller")}
    assert found == {("gazebo", "changed"), *unseen}
    odd = robot(tmp_path, *parts, link("arm", more=more.format("false", "true")))
    assert [(e.element, e.name) for e in odd.import_report.lost] == [("link", "arm")] * 2


def test_no_log_is_written_where_the_user_works(tmp_path, monkeypatch):
    """MuJoCo warns of bodies without inertia."""
    monkeypatch.chdir(tmp_path)
    light = link("arm", mass=0.0, inertia="")
    robot(tmp_path, link("base"), light, joint("j", "continuous", "base", "arm"))
    assert [p.name for p in tmp_path.iterdir()] == ["robot.urdf"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": 7}, "path is none: given 7"),
        ({"roots": "folder"}, "roots are no list of folders: given 'folder'"),
        ({"roots": 3}, "roots are no list of folders: given 3"),
        ({"roots": [3]}, "roots are no list of folders"),
        ({"strict": "yes"}, "strict is neither: given 'yes'; allowed: True or False"),
        ({"floating": 1}, "floating is neither"),
    ],
)
def test_what_load_cannot_take_is_refused(given, said):
    with pytest.raises(sh.ModelError, match="load: ") as caught:
        sh.load(**({"path": "robot.urdf"} | given))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "turn", [(0.3, -0.2, 0.9), (0.4, np.pi / 2, -1.1), (0.4, -np.pi / 2 + 1e-9, 2.0), (3.0, 2.0, 1)]
)
def test_a_quaternion_turns_as_the_angles_it_stands_for(tmp_path, turn):
    """In joints, inertias, collision and visual geometry; also where the pitch is a right angle."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_euler("xyz", turn)
    solid = "<{0}><origin {1}/><geometry><box size='1 2 3'/></geometry></{0}>"
    scenes = []
    quaternion = " ".join(map(repr, (2.0 * rotation.as_quat()).tolist()))  # of any length
    for text in (f'rpy="{turn[0]!r} {turn[1]!r} {turn[2]!r}"', f'quat_xyzw="{quaternion}"'):
        more = solid.format("visual", text) + solid.format("collision", text)
        arm = link("arm", inertia='<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>', more=more)
        hinge = joint("j", "continuous", "base", "arm")
        turned = [x.replace('<origin xyz="0 0', f'<origin {text} xyz="0 0') for x in (arm, hinge)]
        scenes.append(robot(tmp_path, link("base"), *turned))
    for body in ("orientation", "inertia"):
        np.testing.assert_allclose(*(getattr(s.bodies[1], body) for s in scenes), atol=1e-12)
    for shape in (lambda s: s.bodies[1].shapes[0], lambda s: s.bodies[1].visuals[0].shape):
        np.testing.assert_allclose(*(shape(s).orientation for s in scenes), atol=1e-12)
    wanted = rotation.as_quat()
    given = np.array(scenes[1].bodies[1].orientation)
    np.testing.assert_allclose(given * np.sign(given @ wanted), wanted, atol=1e-12)


def test_a_package_that_lies_above_the_model_is_named_and_not_taken(tmp_path):
    (tmp_path / "hands" / "models").mkdir(parents=True)
    (tmp_path / "hands" / "palm.stl").write_bytes(b"")
    mesh = '<collision><geometry><mesh filename="package://hands/palm.stl"/></geometry></collision>'
    with pytest.raises(sh.ModelFileError, match="is not found") as caught:
        robot(tmp_path / "hands" / "models", link("base", more=mesh))
    assert f"with roots=[{str(tmp_path)!r}], or --root on the command line" in str(caught.value)
    with pytest.raises(sh.ModelFileError, match="is empty"):
        robot(tmp_path / "hands" / "models", link("base", more=mesh), roots=[tmp_path])
