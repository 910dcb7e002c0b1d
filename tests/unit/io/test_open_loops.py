"""States of MJCF files that leave loops open: closed where the scene starts, and reported."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sharnir as sh

BAR = '<geom type="capsule" fromto="0 0 0 {}" size="0.02" contype="0" conaffinity="0"/>'
FOUR_BAR = f"""<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a"><joint name="A" axis="0 1 0"/>{BAR.format("0 0 1")}
    <body name="b" pos="0 0 1"><joint name="B" axis="0 1 0"/>{BAR.format("1 0 0")}<site name="end" pos="1 0 0"/></body>
  </body>
  <body name="c" pos="1 0 0"><joint name="C" axis="0 1 0"/>{BAR.format("0 0 1")}<site name="top" pos="0 0 {{top}}"/>
  </body>
</worldbody><equality>{{equality}}</equality>
<keyframe><key name="open" qpos="0.3 0 0.3" qvel="1 0 0"/><key name="torn" qvel="1 0 0"/>
  <key name="fits" qpos="0.3 -0.3 0.3" qvel="1 -1 1"/></keyframe></mujoco>"""
CONNECT = '<connect body1="b" body2="c" anchor="1 0 0"/>'
BETWEEN_SITES = '<connect site1="end" site2="top"/>'


def loaded(tmp_path, equality: str, top: float = 1.0) -> sh.Scene:
    (tmp_path / "bars.xml").write_text(FOUR_BAR.format(equality=equality, top=top))
    return sh.load(tmp_path / "bars.xml")


def gap(tmp_path, scene: sh.Scene) -> tuple[float, float]:
    """m and m/s, between the ends of the bars, as MuJoCo sees them."""
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "bars.xml"))
    data, model = mujoco.MjData(peer), sh.compile(scene)
    data.qpos[:], data.qvel[:] = model.q0, model.v0
    mujoco.mj_forward(peer, data)
    velocity = np.zeros((2, 6))
    for k, site in enumerate(("end", "top")):
        mujoco.mj_objectVelocity(peer, data, mujoco.mjtObj.mjOBJ_SITE, peer.site(site).id, velocity[k], 0)
    apart, speed = data.site("end").xpos - data.site("top").xpos, velocity[0, 3:] - velocity[1, 3:]
    return float(np.linalg.norm(apart)), float(np.linalg.norm(speed))


@pytest.mark.parametrize("name", ["open", "torn"])
def test_a_keyframe_with_open_loops_is_closed_and_reported(tmp_path, name):
    scene = loaded(tmp_path, CONNECT)
    assert {e.name: e.effect for e in scene.import_report} == {"open": "changed", "torn": "changed"}
    assert max(gap(tmp_path, scene.at(name))) < 1e-8
    sim = sh.Simulation(scene.at(name))
    assert sim.step().position_error < 1e-8


def test_the_nearest_velocity_is_taken(tmp_path):
    """Of the parallelogram's motions (1, -1, 1), which is a third of (1, 0, 0)."""
    np.testing.assert_allclose(sh.compile(loaded(tmp_path, CONNECT).at("torn")).v0, [1 / 3, -1 / 3, 1 / 3], atol=1e-12)


def test_a_keyframe_that_fits_stays_as_it_is(tmp_path):
    model = sh.compile(loaded(tmp_path, CONNECT).at("fits"))
    assert model.q0.tolist() == [0.3, -0.3, 0.3]
    np.testing.assert_allclose(model.v0, [1, -1, 1], atol=1e-12)


def test_a_start_with_open_loops_is_closed_and_reported(tmp_path):
    scene = loaded(tmp_path, BETWEEN_SITES, top=0.9)
    assert ("scene", "at the start", "changed") in [(e.element, e.name, e.effect) for e in scene.import_report]
    assert gap(tmp_path, scene)[0] < 1e-8


def test_loops_that_cannot_be_closed_are_refused(tmp_path):
    scene = loaded(tmp_path, BETWEEN_SITES, top=9.0)
    with pytest.raises(sh.ModelFileError, match="its anchors do not coincide"):
        sh.compile(scene)
