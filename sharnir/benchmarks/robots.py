"""Robots from files against MuJoCo, in one run, by the file's time step and with all that acts in the file.

Arms are fixed to the world and swing under random torques; what floats falls on a floor, turned at random, again and
again. MuJoCo runs its own model of the file; of a URDF the scene as MJCF, with links that are fixed to each other
merged in both, as MuJoCo merges them by itself, and bodies that overlap at the start kept from touching, as the files
for planners that come with such robots do. Where a file states no step it is 2 ms, MuJoCo's own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from sharnir.benchmarks.cassie import cassie, posture
from sharnir.benchmarks.contact import Case, measured
from sharnir.benchmarks.robot_files import mjcf_files, urdf_files
from sharnir.compiler import compile
from sharnir.io import load, scene_of
from sharnir.io.mjcf_export import TIMESTEP
from sharnir.io.mujoco_model import to_qpos
from sharnir.io.parsing.parse import parse
from sharnir.model.model import Model, Reals
from sharnir.spec.elements import HalfSpace
from sharnir.spec.scene import Scene

FALL = 1.2  # s
PART = 0.4  # s of a fall that are timed at once, and pushed alike
CLEARANCE = 0.05  # m between the floor and what falls
PUSH = 0.1  # of the largest input of an actuator
TORQUE = 0.02  # of the largest effort of a joint
EFFORT = 50.0  # N m or N, where the file states none


class Entry(NamedTuple):
    name: str
    file: str  # package and path in it
    target: float  # of the ratio
    floats: bool


ENTRIES = (
    Entry("humanoid", "dm_control/suite/humanoid.xml", 0.5, True),
    Entry("Panda", "example-robot-data/panda_description/urdf/panda.urdf", 1.0, False),
    Entry("UR5", "example-robot-data/ur_description/urdf/ur5_robot.urdf", 1.0, False),
    Entry("solo12", "example-robot-data/solo_description/robots/solo12.urdf", 1.0, True),
    Entry("ANYmal", "example-robot-data/anymal_b_simple_description/robots/anymal.urdf", 1.0, True),
    Entry("Talos", "example-robot-data/talos_data/robots/talos_reduced.urdf", 1.0, True),
    Entry("Cassie", "example-robot-data/cassie_description/robots/cassie_v2.sdf", 1.0, True),
    Entry("Bolt", "example-robot-data/bolt_description/robots/bolt.urdf", 1.0, True),
)


def run(quick: bool) -> list[dict[str, Any]]:
    return [row for case in cases(quick) for row in measured(case)]


def cases(quick: bool) -> Iterator[Case]:
    """The robots, each from its file."""
    for entry in ENTRIES:
        scene, twin = both(entry)
        model, dt = compile(scene), float(twin.opt.timestep)
        integrator = mujoco.mjtIntegrator(twin.opt.integrator).name[6:]
        rng = np.random.default_rng(1)
        pushes = tuple(_pushes(model, rng, 2 if quick else 12))
        starts = (
            tuple(falling_starts(model, twin, rng, 2 if quick else 12)) if entry.floats else (_within_limits(model),)
        )
        rounds = 3 if quick else 72
        what = "falls" if entry.floats else "swings"
        name = f"{entry.name} {what}, {model.nv} degrees of freedom, {1e3 * dt:g} ms, {integrator}"
        yield Case(name, model, entry.target, round(PART / dt), rounds, starts=starts, chunks=round(FALL / PART), dt=dt,
                   twin=twin, pushes=pushes)  # fmt: skip


def both(entry: Entry) -> tuple[Scene, Any]:
    """The scene of a file, and MuJoCo's model of it; with a floor where it floats and has none."""
    if entry.file.endswith(".sdf"):
        return _cassie()
    robot = next(r for r in (*mjcf_files(), *urdf_files()) if r.name == entry.file)
    if robot.path.suffix == ".xml":
        parsed = parse(robot.path, robot.roots)
        return scene_of(parsed), parsed.model
    scene = load(robot.path, robot.roots, merge_fixed=True, floating=entry.floats)
    scene.timestep = TIMESTEP
    apart = {(pair.first, pair.second) for pair in scene.contact_pairs if not pair.touch}
    if entry.floats:
        shapes = (*scene.shapes, *(shape for body in scene.bodies for shape in body.shapes))
        scene.add(HalfSpace(material=shapes[0].material))
    return scene, _twin(scene, apart)


def _cassie() -> tuple[Scene, Any]:
    """Cassie above a floor, with its loops closed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cassie.xml"
        file.write_text(cassie(falling=True))
        parsed = parse(file)
    scene, q = scene_of(parsed), posture(parsed.model)
    for joint in scene.joints:
        if joint.nv == 1:
            joint.position = float(q[parsed.model.joint(joint.name).qposadr[0]])
    return scene, parsed.model


def _twin(scene: Scene, apart: Iterable[tuple[str, str]] = ()) -> Any:
    """MuJoCo's model of a scene of one material, in which all touch that no joint connects, by MuJoCo's own rules, but
    for bodies that are to be kept apart."""
    spec = mujoco.MjSpec.from_string(scene.to_mjcf())
    friction, dimensions = (spec.pairs[0].friction, spec.pairs[0].condim) if spec.pairs else ([1.0] * 5, 3)
    for pair in list(spec.pairs):
        spec.delete(pair)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 1
        geom.condim, geom.friction = dimensions, [friction[0], friction[2], friction[3]]
    for first, second in apart:
        spec.add_exclude(bodyname1=first, bodyname2=second)
    return spec.compile()


def _pushes(model: Model, rng: np.random.Generator, count: int) -> Iterator[tuple[Reals, Reals]]:
    """Inputs of actuators where there are any; otherwise torques on the joints of arms, and none on what floats."""
    most = np.where(np.isfinite(model.drive_max_force[: model.nv]), model.drive_max_force[: model.nv], EFFORT)
    if model.joint_types[0] == "free" or model.actuator_names:
        most = np.zeros(model.nv)
    largest = np.abs(model.actuator_input_limits).max(axis=1, initial=0.0)
    largest = np.where(np.isfinite(largest), largest, 1.0)
    for _ in range(count):
        yield rng.normal(size=model.nv) * TORQUE * most, rng.uniform(-PUSH, PUSH, len(largest)) * largest


def _within_limits(model: Model) -> Reals:
    """Positions [nq] of the file, brought into the joints' limits."""
    q = model.q0.copy()
    for c in range(model.nv):
        if (at := model.coordinate_q(c)) >= 0:
            q[at] = np.clip(q[at], model.limit_lower[c], model.limit_upper[c])
    return q


def falling_starts(model: Model, twin: Any, rng: np.random.Generator, count: int) -> Iterator[Reals]:
    """Positions [nq] above the floor, turned at random; joints as in the file, within their limits."""
    data = mujoco.MjData(twin)
    solid = twin.geom_rbound > 0
    for _ in range(count):
        q = _within_limits(model)
        turn = rng.normal(size=4)
        q[3:7] = turn / np.linalg.norm(turn)
        data.qpos[:] = to_qpos(model, q)
        mujoco.mj_kinematics(twin, data)
        q[2] += CLEARANCE - float((data.geom_xpos[solid, 2] - twin.geom_rbound[solid]).min())
        yield q
