"""Contact: piles of boxes, balls and mixed shapes, and a humanoid that stands, falls and lies, against MuJoCo.

Both run the same scene by the same step, self-contact on, chunk by chunk in turns; each comes to rest by itself. MuJoCo
uses Newton's method, its default, or conjugate gradients where a pile is one large island, for which they are faster.
Times are wall clock over a chunk; p99.9 is of single steps by the kernel's own clock, plus the mean time of the search
for contacts, where that is a kernel of its own. Residuals are the last change of an impulse, over weight times step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sharnir import scenes
from sharnir.benchmarks.harness import spread
from sharnir.benchmarks.runners import Ours, Peer, Runner, peer_of, place
from sharnir.collision.queries.shape_poses import shape_poses
from sharnir.compiler import compile
from sharnir.model.model import Model, Reals
from sharnir.simulation.simulation import Simulation

DT = 0.005  # s
GROWTH = 15.0  # target, from 100 to 1,000 bodies
FALL = 240  # steps: 1.2 s, of which the first 0.45 in the air
FALLS_FROM = 1.0  # m, of the lowest shape's middle
LIMP = 0.1  # of the stiffness that holds the humanoid up, where it falls and lies
BENT = 0.6  # of the joints' ranges, within which it is bent at random
REST = (
    ("sunk, µm", "sunk"), ("slip of 99 %, µm/s", "slip"), ("most", "slip_most"), ("creep, µm/s", "creep"),
    ("jitter, µm/s", "jitter"),
)  # fmt: skip
BOTH: tuple[tuple[str, dict[str, Any]], ...] = (("simgc", {}), ("simmc", {}))


class Case(NamedTuple):
    name: str
    model: Model
    target: float | None  # of the ratio
    chunk: int  # steps
    rounds: int
    settle: float = 0.0  # s, before the rounds
    solvers: tuple[tuple[str, dict[str, Any]], ...] = (("simgc", {}),)  # with settings
    peer: str = "newton"
    starts: tuple[Reals, ...] = ()  # positions: one to start from, or several to restart from
    chunks: int = 1  # between restarts
    settling: bool = False  # whether the way to rest is a row too
    dt: float = DT
    twin: Any = None  # MuJoCo's model, where it is not made of ours
    pushes: tuple[tuple[Reals, Reals], ...] = ()  # forces on coordinates and inputs of actuators, in turns of chunks


def run(quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for case in (*piles(quick), *humanoids(quick)):
        rows += measured(case)
    sizes: list[list[dict[str, Any]]] = []
    for case in mixtures(quick):
        sizes.append(measured(case))
        rows += sizes[-1]
    return rows + [_growth(few, many) for few, many in zip(*sizes, strict=True)]


def piles(quick: bool) -> Iterator[Case]:
    """Boxes and balls."""
    boxes, balls = (8, 27) if quick else (64, 216)
    rounds, settle = (2, 0.5) if quick else (60, 5.0)
    yield Case(
        f"pile of {boxes} boxes", compile(scenes.make("pile", n=boxes)), 0.8, 50, rounds, settle, settling=True
    )  # fmt: skip
    yield Case(
        f"{balls} balls in a tray", compile(scenes.make("balls", n=balls)), 0.8, 50, rounds, 3 * settle,
        peer="cg", settling=True,
    )  # fmt: skip


def mixtures(quick: bool) -> Iterator[Case]:
    """Mixed bodies, few and many."""
    few, many = (10, 40) if quick else (100, 1000)
    settle = 0.5 if quick else 5.0
    for n, peer, chunk, rounds in ((few, "newton", 50, 2 if quick else 40), (many, "cg", 10, 2 if quick else 30)):
        yield Case(
            f"{n} mixed bodies", compile(scenes.make("mixed", n=n)), None, chunk, rounds, settle,
            peer=peer, settling=True,
        )  # fmt: skip


def humanoids(quick: bool) -> Iterator[Case]:
    """The humanoid on its feet, in the air and on the floor."""
    rounds, settle = (2, 0.5) if quick else (60, 5.0)
    upright = compile(scenes.make("humanoid"))
    coarse = {"epsilon": 1e-3 * float(upright.mass.sum()) * 9.81 * DT, "max_sweeps": 20}
    solvers = (*BOTH, ("simgc", coarse))
    yield Case("humanoid standing", upright, 0.5, 200, rounds, settle, solvers)
    limp = limp_humanoid()
    postures = tuple(postures_in_the_air(limp, 2 if quick else 12))
    yield Case("humanoid falling", limp, 0.5, FALL, rounds, solvers=solvers, starts=postures)
    fallen = Simulation(limp, dt=DT)
    place(fallen, postures[0])
    fallen.run(1.0 if quick else 15.0)
    yield Case("humanoid lying", limp, 0.5, 200, rounds, settle, solvers, starts=(fallen.q.copy(),))


def limp_humanoid() -> Model:
    scene = scenes.make("humanoid")
    scene.joints = [replace(joint, stiffness=LIMP * np.array(joint.stiffness)) for joint in scene.joints]
    return compile(scene)


def postures_in_the_air(model: Model, count: int) -> Iterator[Reals]:
    """Positions [nq] in the air, turned and bent at random."""
    rng = np.random.default_rng(2)  # the first whose postures do not overlap themselves
    for _ in range(count):
        q = model.q0.copy()
        for name in model.joint_names[1 : model.nb]:
            where = model.joint(name)
            q[where.q] = BENT * rng.uniform(model.limit_lower[where.v], model.limit_upper[where.v])
        turn = rng.normal(size=4)
        q[3:7] = turn / np.linalg.norm(turn)
        q[2] += FALLS_FROM - shape_poses(model, q)[1][model.shape_link >= 0, 2].min()
        yield q


def measured(case: Case) -> list[dict[str, Any]]:
    """Rows of a case, of every solver."""
    ours = [Ours(case.model, solver, case.dt, settings) for solver, settings in case.solvers]
    peer = peer_of(case.model, case.dt, case.peer) if case.twin is None else Peer(case.model, case.twin)
    runners: list[Runner] = [*ours, *([] if peer is None else [peer])]
    if len(case.starts) == 1:
        for runner in runners:
            runner.place(case.starts[0])
    rows = []
    if case.settle > 0:
        _rounds(case, runners, round(case.settle / (case.dt * case.chunk)), restart=False)
        if case.settling:
            rows = [_row(case, mine, peer, ", settling", rests=False) for mine in ours]
        for runner in runners:
            runner.forget()
    restart = len(case.starts) > 1
    _rounds(case, runners, case.rounds, restart)
    rests = not restart and not case.pushes
    if rests:
        for runner in runners:
            runner.watch_rest()
    return [_row(case, mine, peer, "", rests) for mine in ours] + rows


def _rounds(case: Case, runners: list[Runner], rounds: int, restart: bool) -> None:
    for k in range(rounds):
        for runner in runners:
            if restart and k % case.chunks == 0:
                runner.place(case.starts[k // case.chunks % len(case.starts)])
            if case.pushes:
                runner.push(*case.pushes[k % len(case.pushes)])
            runner.chunk(case.chunk)


def _row(case: Case, ours: Ours, peer: Peer | None, phase: str, rests: bool) -> dict[str, Any]:
    """rests: whether it is at rest, and what overlaps or creeps is measured."""
    mine, theirs = (None if r is None else 1e6 * np.array(r.seconds) for r in (ours, peer))
    assert mine is not None
    mean, theirs_mean = float(mine.mean()), None if theirs is None else float(theirs.mean())
    facts = ours.facts()
    several = len(case.solvers) > 1
    settings = "" if ours.sim.settings.epsilon is None else f", ε 1e-3, ≤ {ours.sim.settings.max_sweeps} sweeps"
    target = None if phase else case.target
    row = {
        "case": case.name + (f", {ours.name}{settings}" if several else "") + phase, "unit": "µs", "ours": mean,
        "peer": theirs_mean, "ratio": None if theirs_mean is None else mean / theirs_mean, "target_ratio": target,
        "ours_median": float(np.median(mine)), "ours_spread": spread(mine), **facts,
        "contacts_ours": float(np.mean(ours.contacts)),
        "target": "–" if target is None else f"≤ {target:g}",
        "median": _pair(f"{np.median(mine):.4g}", None if theirs is None else f"{np.median(theirs):.4g}"),
        "p99.9": f"{facts['step_p99.9']:.4g}",
        "search": f"{facts['search_us']:.3g}" if ours.sim.impulses.layout.contact_model.only_round == 0 else "–",
        "sweeps": f"{facts['sweeps_mean']:.1f}, {facts['sweeps_max']}",
        "residual": f"{facts['residual_of_weight']:.0e}",
        "contacts": _pair(f"{np.mean(ours.contacts):.0f}", None if peer is None else f"{np.mean(peer.contacts):.0f}"),
    }  # fmt: skip
    if peer is not None and theirs is not None:
        row |= {"peer_median": float(np.median(theirs)), "peer_spread": spread(theirs)}
        row |= {"peer_name": peer.name, "contacts_peer": float(np.mean(peer.contacts))}
    return row | (_at_rest(ours, peer) if rests else {})


def _at_rest(ours: Ours, peer: Peer | None) -> dict[str, Any]:
    """Overlaps, and how fast bodies creep."""
    row: dict[str, Any] = {}
    for label, key in REST:
        mine, theirs = getattr(ours, key), None if peer is None else getattr(peer, key)
        row |= {f"{key}_ours": mine, f"{key}_peer": theirs}
        row[label] = _pair(f"{1e6 * mine:.2g}", None if theirs is None else f"{1e6 * theirs:.2g}")
    return row


def _pair(ours: str, peer: str | None) -> str:
    return ours if peer is None else f"{ours} | {peer}"


def _growth(few: dict[str, Any], many: dict[str, Any]) -> dict[str, Any]:
    """How many times as long a step of many bodies takes as one of few; the peer's where it solves both alike."""
    case = f"growth from {few['case']} to {many['case']}"
    same = few["peer"] is not None and few["peer_name"] == many["peer_name"]
    peer = many["peer"] / few["peer"] if same else None
    return {"case": case, "unit": "-fold", "ours": many["ours"] / few["ours"], "peer": peer, "ratio": None,
            "target": f"≤ {GROWTH:g}"}  # fmt: skip
