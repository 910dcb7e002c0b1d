"""Parts of MJCF and URDF files, one by one, against MuJoCo: actuators, contact rules, equalities, springs, heights."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import sharnir as sh
from sharnir import dynamics
from sharnir.benchmarks.robot_files import Outcome, mjcf_files, outcome
from sharnir.collision.filters import build_collision_filter
from sharnir.exact.actuators import actuator_forces, gather_positions, gear_matrix
from sharnir.io import Options, Parsed, scene_of
from sharnir.io.convert.source import Source
from sharnir.io.parsing.parse import parse

Array = NDArray[np.float64]
WIDE = 5.0  # m, wider than any model here
FILES = [robot for robot in mjcf_files() if "assets/build_fruitfly" not in robot.name]


def parsed(tmp_path, text: str, suffix: str = "xml") -> Parsed:
    file = tmp_path / f"robot.{suffix}"
    file.write_text(text)
    return parse(file)


def found(robot) -> Outcome:
    out = outcome(robot)
    if not out.loaded or out.parsed.model.nv == 0:
        pytest.skip(out.reason or "nothing moves")
    return out


# --- actuators -------------------------------------------------------------------------------------------------------


def forces_agree(p: Parsed, scene: sh.Scene, rng: np.random.Generator) -> None:
    """Forces of the actuators on the coordinates at random states, inputs and activations."""
    peer, model = p.model, sh.compile(scene)
    data = mujoco.MjData(peer)
    for _ in range(5):
        data.qpos[:] = peer.qpos0 + rng.normal(size=peer.nq) * 0.3
        mujoco.mj_normalizeQuat(peer, data.qpos)
        data.qvel[:], data.ctrl[:], data.act[:] = (
            rng.normal(size=peer.nv),
            rng.normal(size=peer.nu),
            rng.normal(size=peer.na),
        )
        mujoco.mj_forward(peer, data)
        q = data.qpos.copy()
        for kind, at in zip(peer.jnt_type, peer.jnt_qposadr, strict=True):
            if kind == int(mujoco.mjtJoint.mjJNT_FREE):
                q[at + 3 : at + 7] = np.roll(q[at + 3 : at + 7], -1)
        slow = (model.actuator_response > 0) | (model.actuator_integrates > 0)
        u = np.clip(data.ctrl, *model.actuator_input_limits.T)
        u[slow] = data.act
        coordinates = gather_positions(model, q[:, None])
        _, forces = actuator_forces(model, gear_matrix(model), coordinates, data.qvel[:, None], u[:, None])
        np.testing.assert_allclose(forces[: model.nv, 0], data.qfrc_actuator, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("robot", FILES, ids=lambda r: r.name)
def test_actuators_of_a_file_push_as_in_mujoco(robot):
    out = found(robot)
    if out.parsed.model.nu == 0:
        pytest.skip("no actuators")
    forces_agree(out.parsed, out.scene, np.random.default_rng(1))


DRIVEN = """<mujoco><worldbody><body>
  <joint name="a" type="slide" axis="1 0 0"/><joint name="b" axis="0 1 0" actuatorfrcrange="-0.4 0.4"/>
  <joint name="c" axis="0 0 1" ref="0.3"/><geom size="0.1"/>
</body></worldbody>
<tendon><fixed name="sum"><joint joint="a" coef="2"/><joint joint="c" coef="-0.5"/></fixed></tendon>
<actuator>
  <motor joint="a" gear="3" ctrllimited="true" ctrlrange="-0.2 0.3"/>
  <position joint="b" kp="20" kv="2" forcerange="-1 1"/>
  <velocity joint="c" kv="4" gear="2"/>
  <damper joint="a" kv="1.5" ctrlrange="0 2"/>
  <general tendon="sum" gainprm="2" biastype="affine" biasprm="0.1 -3 -0.2" gear="0.7"/>
  <general joint="c" gaintype="affine" gainprm="1 2 3"/>
  <intvelocity joint="b" kp="5" actrange="-1 1"/>
  <position joint="a" kp="7" timeconst="0.1"/>
</actuator></mujoco>"""


def test_every_affine_actuator_pushes_as_in_mujoco(tmp_path):
    p = parsed(tmp_path, DRIVEN)
    scene = scene_of(p)
    assert [type(a) for a in scene.actuators] == [sh.Actuator] * 8 and scene.import_report.lost == []
    forces_agree(p, scene, np.random.default_rng(2))


def test_driven_steps_follow_mujoco(tmp_path):
    """With lags and integrals: the same motion, to the order of the step."""
    p = parsed(tmp_path, DRIVEN)
    sim = sh.Simulation(scene_of(p), dt=1e-4)
    peer, data = p.model, mujoco.MjData(p.model)
    peer.opt.timestep, peer.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    peer.opt.gravity[:] = sim.model.gravity
    u = np.linspace(-0.5, 0.5, peer.nu)
    data.ctrl[:] = u
    for name, value in zip(sim.model.actuator_names, u, strict=True):
        sim.actuator(name).input = value
    sim.run(0.3)
    mujoco.mj_step(peer, data, 3000)
    np.testing.assert_allclose(sim.q, data.qpos, atol=2e-3 * np.abs(data.qpos).max())


def test_what_an_actuator_cannot_be_is_reported(tmp_path):
    scene = scene_of(parsed(tmp_path, """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/><site name="s"/>
        </body></worldbody><actuator><muscle name="biceps" joint="j" lengthrange="0 1"/>
        <general name="rocket" site="s"/></actuator></mujoco>"""))  # fmt: skip
    lost = {(entry.element, entry.name) for entry in scene.import_report.lost}
    assert lost == {("actuator", "biceps"), ("actuator", "rocket")} and scene.actuators == []


# --- who touches whom ------------------------------------------------------------------------------------------------


def pairs_in_mujoco(p: Parsed) -> set[frozenset[int]]:
    """Pairs of geoms for which MuJoCo looks for contact, seen by wide margins."""
    peer = p.model
    peer.geom_margin[:], peer.pair_margin[:], peer.body_margin[:] = (WIDE,) * 3
    peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    peer.geom_type[peer.geom_type != int(mujoco.mjtGeom.mjGEOM_PLANE)] = int(mujoco.mjtGeom.mjGEOM_SPHERE)
    data = mujoco.MjData(peer)
    mujoco.mj_kinematics(peer, data)
    mujoco.mj_comPos(peer, data)
    mujoco.mj_collision(peer, data)
    return {frozenset(int(g) for g in pair) for pair in data.contact.geom}


def pairs_here(p: Parsed) -> set[frozenset[int]]:
    """Pairs of geoms whose shapes may touch."""
    from sharnir import io as importing

    made: list[Source] = []

    class Kept(Source):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            made.append(self)

    importing.Source, kept = Kept, importing.Source
    try:
        model = sh.compile(scene_of(p))
    finally:
        importing.Source = kept
    [source] = made
    number = {name: i for i, name in enumerate(model.body_names)}
    link = {g: -1 if b == 0 else number[source.body_names[b]] for g, (b, _) in source.shapes.items()}
    first = {i: int(np.flatnonzero(model.shape_link == i)[0]) for i in set(link.values())}
    shape = {g: first[link[g]] + k[0] for g, (_, k) in source.shapes.items()}
    geom = {k: g for g, k in shape.items()}
    may = build_collision_filter(model)
    return {frozenset((geom[a], geom[b])) for a in geom for b in np.flatnonzero(may.row(a)).tolist()}


FILTERED = """<mujoco><option>{flag}</option><worldbody>
  <geom name="floor" type="plane" size="1 1 1"/><body name="shelf"><geom name="board" type="box" size="1 1 1"/></body>
  <body name="a"><freejoint/><geom name="a0" size="0.1"/><geom name="a1" size="0.1" contype="2" conaffinity="4"/>
    <body name="b"><joint/><geom name="b0" size="0.1" contype="4" conaffinity="1"/>
      <body name="c"><geom name="c0" size="0.1"/>
        <body name="d"><joint/><geom name="d0" size="0.1"/><geom name="d1" size="0.1" contype="0" conaffinity="0"/>
      </body></body></body></body>
  <body name="e"><joint/><geom name="e0" size="0.1" contype="8" conaffinity="8"/><geom name="e1" size="0.1"/></body>
  <body name="f"><joint/><geom name="f0" size="0.1"/></body>
</worldbody>
<contact><exclude body1="a" body2="f"/><pair geom1="d1" geom2="floor"/><pair geom1="a0" geom2="b0"/></contact>
</mujoco>"""


@pytest.mark.parametrize("flag", ["", "<flag filterparent='disable'/>", "<flag contact='disable'/>"])
def test_bits_parents_excluded_and_listed_pairs_decide_as_in_mujoco(tmp_path, flag):
    p = parsed(tmp_path, FILTERED.format(flag=flag))
    wanted = pairs_in_mujoco(parsed(tmp_path, FILTERED.format(flag=flag)))
    assert pairs_here(p) == wanted
    assert bool(wanted) == ("contact" not in flag)


@pytest.mark.parametrize("robot", FILES, ids=lambda r: r.name)
def test_the_geoms_of_a_file_touch_as_in_mujoco(robot):
    out = found(robot)
    assert pairs_here(out.parsed) == pairs_in_mujoco(out.parsed)


def test_coefficients_are_mixed_as_in_mujoco(tmp_path):
    text = """<mujoco><worldbody>
      <geom name="floor" type="plane" size="1 1 1" friction="0.5 0.3 0.02" condim="1"/>
      <body pos="0 0 0.09"><freejoint/><geom name="x" size="0.1" friction="0.8 0.01 0.05" condim="4"/></body>
      <body pos="1 0 0.09"><freejoint/><geom name="y" size="0.1" friction="0.2 0.4 0.01" condim="6" priority="1"/>
      </body>
      <body pos="2 0 0.09"><freejoint/><geom name="z" size="0.1" friction="0.9 0.4 0.01" condim="1"/></body>
      <body pos="3 0 0.09"><freejoint/><geom name="w" size="0.1" solref="0.02 0.3"/></body>
      <body pos="4 0 0.09"><freejoint/><geom name="v" size="0.1"/></body>
    </worldbody><contact><pair geom1="v" geom2="floor" friction="0.7 0.7 0.1 0.2 0.2" condim="6"/></contact></mujoco>"""
    p = parsed(tmp_path, text)
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    mujoco.mj_forward(p.model, data)
    assert data.ncon == 5
    floor = int(model.shape_material[-1])
    for contact in data.contact:
        body = int(p.model.geom_bodyid[max(contact.geom)]) - 1
        sliding, _, rolling, spinning, *_ = model.material_table[model.shape_material[body], floor]
        friction, dim = contact.friction, contact.dim
        wanted = (friction[0] * (dim > 1), friction[2] * (dim > 3), friction[3] * (dim > 4))
        assert (sliding, spinning, rolling) == wanted


# --- equalities ------------------------------------------------------------------------------------------------------

LOOP = """<mujoco><worldbody>
  <body name="left" pos="0 0 0"><joint name="l" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05"/>
    <body name="top" pos="0 0 1"><joint name="t" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.05"/>
  </body></body>
  <body name="right" pos="1 0 0"><joint name="r" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 1" size="0.05"/>
  </body>
</worldbody><option><flag contact="disable"/></option>
<equality><connect body1="top" body2="right" anchor="1 0 0"/></equality></mujoco>"""


def test_a_connected_point_closes_a_loop(tmp_path):
    p = parsed(tmp_path, LOOP)
    model = sh.compile(scene_of(p))
    assert model.loops == 1 and model.joint_types[-1] == "spherical"
    sim = sh.Simulation(model, dt=0.001)
    sim.joint("l").control = 20.0
    peer, data = p.model, mujoco.MjData(p.model)
    peer.opt.timestep, data.qfrc_applied[0] = 1e-4, 20.0
    peer.eq_solref[:] = (2e-4, 1.0)
    sim.run(0.3)
    mujoco.mj_step(peer, data, 3000)
    np.testing.assert_allclose(sim.q, data.qpos, atol=2e-3)


def test_a_weld_holds_two_bodies_as_it_says(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/></body>
      <body name="b" pos="0.5 0 1" euler="0 0 30"><freejoint/><geom size="0.1"/></body></worldbody>
      <equality><weld body1="a" body2="b"/></equality></mujoco>""")  # fmt: skip
    model = sh.compile(scene_of(p))
    assert model.joint_types[-1] == "fixed"
    sim = sh.Simulation(model, dt=0.002)
    sim.body("a").applied = (0, 0, 5, 1, 2, 3)
    sim.run(0.5)
    R, x = sim.body("a").rotation, sim.body("b").position - sim.body("a").position
    np.testing.assert_allclose(R.T @ x, (0.5, 0, 0), atol=1e-6)


def test_equalities_of_joints_and_tendons_are_couplings(tmp_path):
    p = parsed(tmp_path, """<mujoco><compiler angle="radian"/><worldbody>
      <body name="x"><joint name="a" ref="0.1"/><geom size="0.1"/></body>
      <body name="y"><joint name="b" ref="0.2"/><geom size="0.1"/></body>
      <body name="z"><joint name="c"/><joint name="d" type="slide"/><geom size="0.1"/></body>
      <body name="w"><joint name="e" axis="1 0 0"/><geom size="0.1"/></body></worldbody>
      <tendon><fixed name="t"><joint joint="c" coef="2"/><joint joint="d" coef="-4"/></fixed></tendon>
      <equality><joint name="gear" joint1="a" joint2="b" polycoef="0.5 -2 0 0 0"/><tendon name="rack" tendon1="t"/>
      <joint name="lock" joint1="e" polycoef="0.3 0 0 0 0"/></equality></mujoco>""")  # fmt: skip
    scene = scene_of(p)
    assert scene.import_report.lost == []
    gear, rack = scene.couplings
    assert (gear.leader, gear.follower, gear.ratio) == ("b", "a", -2.0)
    assert gear.offset == pytest.approx(0.1 + 0.5 + 2 * 0.2)  # q_a = 0.1 + 0.5 - 2 (q_b - 0.2)
    assert (rack.leader_coordinate, rack.follower_coordinate, rack.ratio, rack.offset) == (1, 0, 2.0, 0.0)
    assert next(j for j in scene.joints if j.name == "e").limits == ((0.3, 0.3),)


def test_a_straight_tendon_is_a_spring(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><site name="s" pos="0 0 2"/><body pos="0.1 0.2 1"><freejoint/>
      <geom size="0.1"/><site name="e" pos="0.05 0 0.1"/></body></worldbody><tendon><spatial stiffness="30" damping="2"
      springlength="0.4"><site site="s"/><site site="e"/></spatial></tendon></mujoco>""")  # fmt: skip
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    data.qvel[:] = np.arange(6) * 0.3
    mujoco.mj_forward(p.model, data)
    a = dynamics.aba(model, model.q0, data.qvel, np.zeros(6), springs=True)
    np.testing.assert_allclose(a, data.qacc, rtol=1e-10)


@pytest.mark.parametrize("merged", [True, False])
def test_a_tendon_may_end_on_turned_bodies_without_joints(tmp_path, merged):
    """Sites on bodies that are fixed to others, or become part of them: turned and moved twice on one side, once on
    the world's."""
    p = parsed(tmp_path, """<mujoco><worldbody>
      <body pos="0.3 -0.2 2" euler="20 50 -30"><geom size="0.1"/><site name="s" pos="0.3 0.1 -0.2"/></body>
      <body pos="0.1 0.2 1" euler="10 -20 30"><freejoint/><geom size="0.1"/>
        <body pos="0.2 0.1 0" euler="40 0 70"><geom size="0.05"/>
          <body pos="0 -0.1 0.3" euler="0 80 25"><geom size="0.05"/><site name="e" pos="0.15 0.05 0.2"/></body></body>
      </body></worldbody><tendon><spatial stiffness="30" damping="2" springlength="0.4"><site site="s"/>
      <site site="e"/></spatial></tendon></mujoco>""")  # fmt: skip
    scene, data = scene_of(p, Options(merge_fixed=merged)), mujoco.MjData(p.model)
    model, (spring,) = sh.compile(scene), scene.springs
    assert len(scene.bodies) == (1 if merged else 4)
    places = {name: k for k, name in enumerate(model.body_names)}
    rng = np.random.default_rng(5)
    for _ in range(3):
        data.qpos[:], data.qvel[:] = rng.normal(size=7), rng.normal(size=6)
        mujoco.mj_normalizeQuat(p.model, data.qpos)
        mujoco.mj_forward(p.model, data)
        q = np.concatenate([data.qpos[:3], np.roll(data.qpos[3:], -1)])
        x, R = dynamics.body_poses(model, q)
        x, R = np.concatenate([x, np.zeros((1, 3))]), np.concatenate([R, np.eye(3)[None]])  # the world is the last
        for body, anchor, site in (
            (spring.parent, spring.parent_anchor, "s"),
            (spring.child, spring.child_anchor, "e"),
        ):
            k = places.get(body, -1)
            np.testing.assert_allclose(x[k] + R[k] @ anchor, data.site(site).xpos, atol=1e-12)
        a = dynamics.aba(model, q, data.qvel, np.zeros(6), springs=True)
        np.testing.assert_allclose(a, data.qacc, rtol=1e-9, atol=1e-9)


# --- the rest --------------------------------------------------------------------------------------------------------


def test_heights_lie_where_mujoco_has_them(tmp_path):
    p = parsed(tmp_path, """<mujoco><asset><hfield name="h" nrow="3" ncol="4" size="3 2 0.5 0.1"
      elevation="0 0 1 0  0 2 0 3  1 0 0 0"/></asset><worldbody><geom type="hfield" hfield="h" pos="0.1 0.2 0.3"/>
      </worldbody></mujoco>""")  # fmt: skip
    model, data = sh.compile(scene_of(p)), mujoco.MjData(p.model)
    mujoco.mj_forward(p.model, data)
    x, y = np.meshgrid(np.linspace(-3, 3, 4) * 0.999 + 0.1, np.linspace(-2, 2, 3) * 0.999 + 0.2)
    start, down = np.column_stack([x.ravel(), y.ravel(), np.full(12, 5.0)]), np.tile([0.0, 0, -1], (12, 1))
    ours, *_ = sh.ray_cast(model, model.q0, start, down, 10.0)
    theirs = [
        mujoco.mj_ray(p.model, data, s, d, None, 1, -1, np.zeros(1, np.int32)) for s, d in zip(start, down, strict=True)
    ]
    np.testing.assert_allclose(ours, theirs, atol=5e-3)
    assert np.ptp(theirs) > 0.4


def test_margins_hold_surfaces_apart(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01"/><body pos="0 0 0.15"><freejoint/>
      <geom type="capsule" size="0.1 0.2" euler="90 0 0" margin="0.02"/></body></worldbody></mujoco>"""
    p = parsed(tmp_path, text)
    sim = sh.Simulation(scene_of(p), dt=0.002)
    sim.run(1.0)
    data = mujoco.MjData(p.model)
    mujoco.mj_step(p.model, data, 1000)
    assert sim.q[2] == pytest.approx(0.13, abs=1e-5)
    assert sim.q[2] == pytest.approx(data.qpos[2], abs=1e-3)


def test_keyframes_are_states_to_start_from(tmp_path):
    p = parsed(tmp_path, """<mujoco><worldbody><body><freejoint name="f"/><geom size="0.1"/><body><joint name="a"/>
      <joint name="b" axis="1 0 0"/><geom size="0.1"/></body></body></worldbody>
      <actuator><motor name="m" joint="b"/></actuator><keyframe>
      <key name="home" qpos="1 2 3 0 1 0 0 0.5 0.6" qvel="1 2 3 4 5 6 7 8" ctrl="9"/></keyframe>
      </mujoco>""")  # fmt: skip
    model = sh.compile(scene_of(p).at("home"))
    assert model.q0.tolist() == [1, 2, 3, 1, 0, 0, 0, 0.5, 0.6]
    assert model.v0.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and model.actuator_input.tolist() == [9]
    with pytest.raises(sh.ModelError, match="unknown keyframe 'hom'; did you mean 'home'"):
        scene_of(p).at("hom")


def test_a_ball_turns_as_far_as_in_mujoco(tmp_path):
    """Pushed about an oblique axis against the limit of its angle, with a damper, it comes to rest where MuJoCo's does,
    but for how far that gives."""
    p = parsed(
        tmp_path,
        """<mujoco><option gravity="0 0 0" timestep="0.001"/><worldbody><body><joint name="b" type="ball"
      damping="2" range="0 40" solreflimit="0.002 1" solimplimit="0.99 0.9999 0.001"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.25"/></body></worldbody></mujoco>""",
    )
    scene = scene_of(p)
    assert not list(scene.import_report)
    sim, data = sh.Simulation(scene, dt=0.001), mujoco.MjData(p.model)
    sim.joint("b").control = data.qfrc_applied[:] = 1.0, -2.0, 0.7
    sim.run(6.0)
    mujoco.mj_step(p.model, data, 6000)
    theirs = np.roll(data.qpos, -1)
    assert 2 * np.arccos(np.abs(sim.q[3])) == pytest.approx(np.radians(40), abs=1e-6)
    assert np.abs(sim.q - theirs * np.sign(theirs @ sim.q)).max() < 1e-3
    back = mujoco.MjModel.from_xml_string(scene.to_mjcf())
    assert back.jnt_limited[0] and back.jnt_range[0, 1] == pytest.approx(np.radians(40), rel=1e-12)


def test_strict_refuses_what_is_lost(tmp_path):
    (tmp_path / "fish.xml").write_text("""<mujoco><option density="1000"/><worldbody><body><freejoint/>
      <geom size="0.1"/></body></worldbody></mujoco>""")
    assert [e.element for e in sh.load(tmp_path / "fish.xml").import_report.lost] == ["option"]
    with pytest.raises(sh.ModelError, match="forces of a fluid on bodies are not known"):
        sh.load(tmp_path / "fish.xml", strict=True)


SENSED = """<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="1 1 1"/>
  <body name="arm" pos="0 0 0.5"><joint name="a" axis="0 1 0" damping="0.5"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/><site name="mid" pos="0.15 0.01 0.02" euler="10 20 30"/>
    <body name="hand" pos="0.3 0 0"><joint name="b" axis="0 0 1" damping="0.2"/><geom size="0.05" pos="0.1 0 0"/>
      <site name="tip" pos="0.1 0 0" euler="40 0 10"/></body></body>
  <body name="ball" pos="1 0 0.049"><freejoint/><geom size="0.05"/><site name="pad" size="0.06"/></body>
</worldbody><actuator><motor name="m" joint="b"/></actuator>
<sensor><jointpos joint="b"/><jointvel joint="a"/><actuatorfrc actuator="m"/><framepos objtype="site" objname="tip"/>
  <framequat objtype="xbody" objname="hand"/><framelinvel objtype="site" objname="tip"/>
  <frameangvel objtype="site" objname="tip"/><velocimeter site="tip"/><gyro site="tip"/><subtreecom body="arm"/>
  <subtreelinvel body="arm"/><force site="mid"/><torque site="mid"/><touch site="pad"/><accelerometer site="tip"/>
</sensor></mujoco>"""


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_sensors_show_what_mujoco_shows(tmp_path, solver):
    p = parsed(tmp_path, SENSED)
    scene = scene_of(p)
    assert not list(scene.import_report)
    sim = sh.Simulation(scene, dt=0.002, solver=solver)
    sim.actuator("m").input = 0.01
    sim.run(0.2)
    data = mujoco.MjData(p.model)
    for k, name in enumerate("ab"):
        data.qpos[k], data.qvel[k] = sim.joint(name).position[0], sim.joint(name).velocity[0]
    data.ctrl[:] = 0.01
    mujoco.mj_forward(p.model, data)
    for s, sensor in enumerate(scene.sensors):
        first, size = p.model.sensor_adr[s], p.model.sensor_dim[s]
        theirs, got = data.sensordata[first : first + size], np.atleast_1d(sim.sensor(sensor.name))
        if sensor.kind == "orientation":
            theirs = np.roll(theirs, -1) * np.sign(theirs[0])
        if sensor.kind == "touch":
            theirs = np.array([p.model.body_mass[3] * 9.81])
        np.testing.assert_allclose(got, theirs, atol=2e-3 * max(1.0, np.abs(theirs).max()), err_msg=sensor.kind)


def test_sensors_are_saved(tmp_path):
    scene = scene_of(parsed(tmp_path, SENSED))
    scene.save(tmp_path / "sensed.toml")
    assert sh.Scene.load(tmp_path / "sensed.toml") == scene


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (sh.Sensor(name="s", kind="smell", of="arm"), "sensor 's': unknown kind 'smell'"),
        (sh.Sensor(name="s", kind="gyro", of="leg"), "sensor 's': unknown body 'leg'"),
        (sh.Sensor(name="s", kind="joint_position", of="a", coordinate=1), "coordinate is out of range"),
        (sh.Sensor(name="s", kind="touch", of="arm", region=sh.HalfSpace()), "region is something else"),
    ],
)
def test_a_sensor_of_nothing_is_refused(tmp_path, sensor, message):
    scene = scene_of(parsed(tmp_path, SENSED))
    scene.add(sensor)
    with pytest.raises(sh.ModelError, match=message):
        sh.compile(scene)


JOINTED = """<mujoco><compiler angle="radian"/><option gravity="1 2 -9"/><worldbody>
<body pos="0 0 1" euler="0.1 0.2 0.3">
  <joint name="a" type="slide" axis="1 1 0" ref="0.2" stiffness="3" springref="0.5" damping="0.1"/>
  <joint name="b" axis="0 1 0" pos="0.1 0 0.2" ref="-0.3" stiffness="4" springref="-1" armature="0.2"/>
  <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
  <body pos="0.3 0 0" euler="0 0 1"><joint name="c" type="slide" axis="0 0 1" pos="0 0 0.1" damping="1"/>
    <joint name="d" type="ball" pos="0.05 0.1 0" stiffness="2" damping="0.3" armature="0.1"/>
    <geom type="capsule" size="0.05 0.2" pos="0 0.1 0.1"/>
    <body pos="0 0.4 0"><geom size="0.1"/>
      <body pos="0.2 0 0"><joint name="e" type="ball" springref="0"/><joint name="f" type="slide" axis="1 0 0"/>
        <geom size="0.08" pos="0 0.1 0"/></body></body></body>
</body><body pos="3 0 0"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body></worldbody></mujoco>"""


def test_joints_of_every_kind_on_one_body_move_as_in_mujoco(tmp_path):
    """Slides, hinges and balls in one body, with reference positions and springs at rest elsewhere."""
    p = parsed(tmp_path, JOINTED)
    scene = scene_of(p)
    peer, data = p.model, mujoco.MjData(p.model)
    model = sh.compile(scene)
    peer.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    rng = np.random.default_rng(4)
    massive = [body.name for body in scene.bodies if body.mass > 0]
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.normal(size=peer.nq), rng.normal(size=peer.nv)
        mujoco.mj_normalizeQuat(peer, data.qpos)
        mujoco.mj_forward(peer, data)
        q = data.qpos.copy()
        for kind, at in zip(peer.jnt_type, peer.jnt_qposadr, strict=True):
            first = {int(mujoco.mjtJoint.mjJNT_FREE): at + 3, int(mujoco.mjtJoint.mjJNT_BALL): at}.get(int(kind))
            if first is not None:
                q[first : first + 4] = np.roll(q[first : first + 4], -1)
        a = dynamics.aba(model, q, data.qvel, dynamics.passive_forces(model, q, data.qvel))
        np.testing.assert_allclose(a, data.qacc, rtol=1e-9, atol=1e-9)
        x, _ = dynamics.body_poses(model, q)
        np.testing.assert_allclose(x[[model.body(name) for name in massive]], data.xpos[1:], atol=1e-12)
    np.testing.assert_allclose(model.q0[:2], [0.2, -0.3])
