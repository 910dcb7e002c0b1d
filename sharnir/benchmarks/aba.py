"""The articulated-body algorithm on one core, double precision, against Pinocchio.

Both evaluate a batch of different states in one call: ours a captured graph, Pinocchio `abaInParallel` on one
thread, which loops in C++ and so has no Python overhead per evaluation either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sharnir.benchmarks.harness import interleaved, row
from sharnir.benchmarks.mechanisms import chain, limbs, states
from sharnir.compiler import compile
from sharnir.dynamics.evaluator import Dynamics
from sharnir.errors import ModelError
from sharnir.precision import get_precision
from sharnir.rotations import quat_to_matrix
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene

LARGEST_FOR_PEER = 500  # Pinocchio 4.1's data for a chain of 1000 joints does not fit into 24 GiB


def run(quick: bool) -> list[dict[str, Any]]:
    if get_precision() != "double":
        raise ModelError("bench aba: precision: given 'single'; allowed: 'double'")
    cases = [prepared(scene) for scene in (chain(5), limbs(), chain(10), chain(100), chain(1000))]
    rounds = 11 if quick else 101
    return [
        case.row(ours, peer, rounds)
        for case, (ours, peer) in zip(cases, interleaved([(c.ours, c.peer) for c in cases], rounds), strict=True)
    ]


class Case(NamedTuple):
    """A mechanism ready to be evaluated in a batch of different states."""

    name: str
    links: int
    evaluations: int
    ours: Callable[[], object]
    peer: Callable[[], object] | None
    peer_name: str | None
    difference: float | None

    def row(self, ours: np.ndarray, peer: np.ndarray | None, rounds: int) -> dict[str, Any]:
        scale = 1e6 / self.evaluations
        return row(
            self.name, "us/evaluation", ours * scale, None if peer is None else peer * scale, self.peer_name,
            links=self.links, ns_per_link=float(np.median(ours)) * 1e9 / self.evaluations / self.links,
            evaluations=self.evaluations, rounds=rounds, difference=self.difference,
        )  # fmt: skip


def prepared(scene: Scene) -> Case:
    model = compile(scene)
    evaluations = max(20, 6000 // model.nb)
    q, v, tau = states(model, evaluations)
    dynamics = Dynamics(model, evaluations)
    for target, values in ((dynamics.q, q), (dynamics.v, v), (dynamics.tau, tau)):
        target.assign(values)
    peer, name, difference = None, None, None
    if model.nb <= LARGEST_FOR_PEER:
        peer, name, difference = pinocchio_peer(scene, dynamics, q, v, tau)
    return Case(scene.name, model.nb, evaluations, dynamics.aba, peer, name, difference)


def pinocchio_peer(
    scene: Scene, dynamics: Dynamics, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[Callable[[], object], str, float]:
    """Pinocchio's batched call on the same states, and how far its answer is from ours (relative)."""
    try:
        import pinocchio as pin
    except ImportError:
        raise ModelError("bench aba: the peer is missing; allowed: pip install 'sharnir[bench]'") from None
    model = pinocchio_model(pin, scene)
    v, tau = (np.asfortranarray(to_child_frame(scene, q, x)) for x in (v, tau))
    positions, out = np.asfortranarray(q), np.zeros(v.shape, order="F")
    pool = pin.ModelPool(model, 1)

    def call() -> object:
        return pin.abaInParallel(1, pool, positions, v, tau, out)

    call()
    ours = dynamics.aba().numpy().copy()
    if isinstance(scene.joints[0], Free):
        # v̇ of the linear velocity in the root's axes: Rᵀ(a − ω_world × v_world)
        for w in range(q.shape[1]):
            R = quat_to_matrix(q[3:7, w])
            ours[:3, w] = R.T @ ours[:3, w] - np.cross(v[3:6, w], v[:3, w])
    difference = float(np.linalg.norm(ours - out) / np.linalg.norm(out))
    return call, f"pinocchio {pin.__version__} abaInParallel, 1 thread", difference


def to_child_frame(scene: Scene, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Velocities or forces with a free root's linear part in the root's axes, as Pinocchio has it."""
    x = x.copy()
    if isinstance(scene.joints[0], Free):
        for w in range(q.shape[1]):
            x[:3, w] = quat_to_matrix(q[3:7, w]).T @ x[:3, w]
    return x


def pinocchio_model(pin: Any, scene: Scene) -> Any:
    """The same mechanism in Pinocchio: free root and hinges given in body frames."""
    from sharnir.compiler.motions import body_frame

    model = pin.Model()
    model.gravity.linear = np.array(scene.gravity)
    ids = {WORLD: 0}
    bodies = {b.name: b for b in scene.bodies}
    for joint in scene.joints:
        place = body_frame(joint.name, "parent_frame", joint.parent_frame)
        kind = pin.JointModelFreeFlyer() if isinstance(joint, Free) else pin.JointModelRZ()
        number = model.addJoint(ids[joint.parent], kind, pin.SE3(place.R, place.x), joint.name)
        body = bodies[joint.child]
        inertia = pin.Inertia(body.mass, np.array(body.center_of_mass), np.array(body.inertia))
        model.appendBodyToJoint(number, inertia, pin.SE3.Identity())
        ids[joint.child] = number
    return model
