"""What is not right where a file starts is corrected without gaining speed, and the import report says so: bodies that
overlap, and joints outside their range."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import parsed

import sharnir as sh
from sharnir.io import scene_of

BALLS = """<mujoco><option gravity="0 0 0"/><worldbody>{world}
  <body name="a"><freejoint/><geom size="0.1" {one}/></body>
  <body name="b" pos="0.19 0 0"><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" {two}/></body>
</worldbody>{more}</mujoco>"""


def starts(tmp_path, world="", one="", two="", more=""):
    return scene_of(parsed(tmp_path, BALLS.format(world=world, one=one, two=two, more=more)))


def said(scene, word: str = "overlap") -> list[tuple[str, str, str]]:
    return [(e.element, e.name, e.reason.split(":")[0]) for e in scene.import_report if word in e.reason]


def test_an_overlap_at_the_start_is_reported(tmp_path):
    """By as much as MuJoCo finds, margins included, where the two may touch."""
    for case, wanted in (
        ({}, "0.01"),
        ({"one": 'margin="0.002"', "two": 'margin="0.003"'}, "0.015"),
        ({"two": 'pos="0.02 0 0"'}, None),
        ({"two": 'pos="0.02 0 0" margin="0.03"'}, "0.02"),
        ({"one": 'contype="0" conaffinity="0"'}, None),
        ({"more": '<contact><exclude body1="a" body2="b"/></contact>'}, None),
        ({"more": '<option><flag contact="disable"/></option>'}, None),
    ):
        reasons = [] if wanted is None else [("bodies", "a and b", f"overlap by {wanted} m at the start")]
        assert said(starts(tmp_path, **case)) == reasons
    floor = '<geom type="plane" size="1 1 1" pos="0 0 -0.08"/>'
    assert [name for _, name, _ in said(starts(tmp_path, world=floor))] == ["world and a", "world and b", "a and b"]


def test_what_keyframes_have_wrong_is_reported(tmp_path):
    more = """<keyframe><key name="apart" qpos="0 1 0 1 0 0 0 0"/><key name="deep" qpos="0 0 0 1 0 0 0 -0.05"/>
      <key name="beyond" qpos="0 1 0 1 0 0 0 0.3"/></keyframe>"""
    scene = starts(tmp_path, more=more)
    assert said(scene)[1:] == [("keyframe", "deep", "bodies 'a and b' overlap by 0.06 m")]
    assert said(scene, "outside") == []
    text = BALLS.format(world="", one="", two="", more=more).replace('type="slide"', 'type="slide" range="-0.1 0.1"')
    scene = scene_of(parsed(tmp_path, text))
    assert said(scene, "outside") == [("keyframe", "beyond", "joint 'x' is 0.2 outside its range")]


def test_a_start_outside_a_range_is_reported(tmp_path):
    text = BALLS.format(world="", one="", two="", more="").replace('type="slide"', 'type="slide" range="0.1 0.2"')
    assert said(scene_of(parsed(tmp_path, text)), "outside") == [
        ("joint", "x", "starts at 0, outside its range of 0.1 to 0.2")
    ]


def test_what_overlaps_parts_without_speed_here_and_with_speed_in_mujoco(tmp_path):
    """The sentence of the report is true."""
    p = parsed(tmp_path, BALLS.format(world="", one="", two="", more=""))
    sim, data = sh.Simulation(sh.compile(scene_of(p)), dt=0.002), mujoco.MjData(p.model)
    sim.run(0.2)
    mujoco.mj_step(p.model, data, 100)
    assert np.abs(data.qvel[[0, 6]]).min() > 0.02
    assert np.abs(sim.v).max() < 1e-9
    assert sim.body("b").position[0] - sim.body("a").position[0] == pytest.approx(0.2, abs=1e-3)


URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0.15 0 0"/></joint></robot>"""


def test_a_base_fixed_to_the_world_that_does_not_touch_its_links_is_reported(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(URDF)
    [entry] = sh.load(file).import_report
    assert (entry.element, entry.name, entry.effect) == ("links", "base and arm", "unseen")
    assert "fixed to the world" in entry.reason
    assert list(sh.load(file, floating=True).import_report) == []
    assert said(sh.load(file, exclude_overlapping=False)) == [
        ("bodies", "base and arm", "overlap by 0.05 m at the start")
    ]


@pytest.mark.parametrize("solref", [(0.02, 1.0), (-100.0, -50.0)])
def test_the_speed_below_which_mujocos_dry_friction_is_a_damper(tmp_path, solref):
    p = parsed(tmp_path, f"""<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" axis="0 0 1"
      frictionloss="1" solreffriction="{solref[0]} {solref[1]}"/>
      <inertial pos="0 0 0" mass="1" diaginertia=".001 .001 .001"/></body></worldbody></mujoco>""")  # fmt: skip
    [entry] = scene_of(p).import_report
    speed = float(entry.reason.split("below ")[1].split()[0])
    data, forces = mujoco.MjData(p.model), []
    for part in (0.5, 0.9, 1.2, 2.0):
        data.qvel[0] = part * speed
        mujoco.mj_forward(p.model, data)
        forces.append(-data.qfrc_constraint[0])
    np.testing.assert_allclose(forces, (0.5, 0.9, 1.0, 1.0), rtol=0.05)  # two digits are shown
    p.model.dof_frictionloss[0] = 0.01  # a damper below 0.1 or 0.2 rad/s only
    assert list(scene_of(p).import_report) == []


def test_a_loop_that_keeps_a_joint_outside_its_range_is_reported(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0" range="20 40"/>
      <geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/>
      <body name="b" pos="1 0 0"><joint name="k" axis="0 1 0" range="20 40"/><geom size="0.1"/></body></body>
      </worldbody><option><flag contact="disable"/></option>
      <equality><weld body1="a"/></equality></mujoco>""")  # fmt: skip
    assert said(scene_of(p), "part of a loop") == [
        ("joint", "j", "is outside its range at the start, and part of a loop")
    ]
