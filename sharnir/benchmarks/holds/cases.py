"""The cases of `sharnir bench holds`: a scene, steps, and what must hold in it beside the bounds of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from sharnir import scenes as named
from sharnir.benchmarks.holds import scenes
from sharnir.model.model import Reals
from sharnir.precision import get_precision
from sharnir.simulation.simulate import simulate
from sharnir.simulation.simulation import Simulation
from sharnir.spec.scene import Scene

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02)  # s
SOLVERS = ("simgc", "simmc")
STRAIGHT = 1e-4  # m, by which the tip of the Peaucellier linkage may leave its line
UNIFORM_PRESSURE = 0.03  # relative, of the deceleration of flat plates
DROPS = 42
ROUNDING = {"double": 1e-9, "single": 1e-6}  # of S, in a few impacts
SWING = 0.3  # rad, amplitude of the loaded chain
Check = Callable[[Simulation], tuple[float, float, str]]  # measured, most allowed, what it is


class Case(NamedTuple):
    """A scene that is watched. most_loss: of S, where none is due, at steps up to loss_step. check: of another run."""

    name: str
    build: Callable[[], Scene]
    duration: float  # s
    steps: tuple[float, ...] = STEPS
    most_loss: float = math.inf
    loss_step: float = math.inf
    driven: bool = False  # motors do work: energy says nothing
    check: Check | None = None


def cases(quick: bool) -> Iterator[Case]:
    """All of them; quick: few steps and short runs."""
    for family in (impacts, chains, corrections, spins, mechanisms, plates):
        for case in family(quick):
            yield case._replace(steps=case.steps[:1], duration=min(case.duration, 1.0)) if quick else case


def impacts(quick: bool) -> Iterator[Case]:
    """Several impacts in a step."""
    for gap in (0.2, 0.03, 0.01):
        yield Case(
            f"three balls, gap {gap:g} m", partial(scenes.three_balls, gap), 0.1, most_loss=ROUNDING[get_precision()]
        )
    for k in range(0, DROPS, 14 if quick else 1):
        yield Case(f"drop of a column, {k}", partial(scenes.column_drop, k), 1.0, most_loss=1e-2, loss_step=0.001)
    for e in (0.3, 0.5, 0.8):
        yield Case(
            f"column, e = {e:g}",
            partial(scenes.ball_column, [0.3, 0.0, 0.01, 1e-4], [0.0] * 4, restitution=e, friction=0.3), 2.0,
        )  # fmt: skip
    for k in range(1, 5):
        for gap in (0.0, 1e-4):
            yield Case(
                f"cradle, {k} of 5, gap {1e3 * gap:g} mm", partial(scenes.cradle, k, gap=gap), 0.8,
                check=partial(cradle_error, pulled=k),
            )  # fmt: skip


def cradle_error(sim: Simulation, pulled: int) -> tuple[float, float, str]:
    """After the first impact (0.55 to 0.75 s): speeds against those of k balls that go on, over the speed at impact."""
    sim.run(0.64)
    rates = np.array([float(sim.joint(f"hinge{k}").velocity[0]) for k in range(5)])
    height = 1.0 - math.cos(0.5)
    fastest = math.sqrt(2 * 9.81 * height)
    moving = np.abs(rates) > 0.5 * fastest
    wrong = float(np.sum(moving != (np.arange(5) >= 5 - pulled)))
    return wrong, 0.0, "balls that move and should not, or the other way round"


def chains(quick: bool) -> Iterator[Case]:
    """Loads on light links."""
    loads = ((20, 0.02, 0.05, 1.0), (10, 0.1, 0.1, 100.0), (5, 0.02, 0.05, 100.0), (100, 0.02, 0.05, 1000.0))
    for n, mass, length, load in loads:
        label = f"{n} × {mass:g} kg + {load:g} kg"
        yield Case(label, partial(scenes.loaded_chain, n, mass, length, load), 20.0)
        folded = [0.5 + math.pi * (k % 2) for k in range(n)]
        if n <= 20:
            yield Case(
                f"{label}, folded",
                partial(scenes.loaded_chain, n, mass, length, load, angles=folded), 11.0,
            )  # fmt: skip
    yield Case("20 equal links", lambda: scenes.loaded_chain(20, 0.1, 0.05, 0.1, angles=[1.0] * 20), 16.0)
    yield Case("net 5 × 5 + 50 kg", lambda: scenes.net(5, 0.02, 50.0), 16.0)
    for what, check in (("period", swing_period), ("amplitude", swing_amplitude)):
        yield Case(f"swing, 20 × 0.02 kg + 100 kg, {what}", swing, 60.0, steps=(0.005,), check=check)
    yield Case(
        "held string, quickest mode 30 rad/s", lambda: scenes.held_string(20, 0.02, 12e3, 50.0, 0.3), 5.0,
        steps=(0.005,), most_loss=0.1,
    )  # fmt: skip


def swing() -> Scene:
    """A load of 100 kg on 20 hinged links of 20 g."""
    return scenes.loaded_chain(20, 0.02, 0.05, 100.0, angles=[SWING] * 20, hinges=True)


def _swing_angles(sim: Simulation, duration: float) -> Reals:
    """Angle of the first link from hanging, after every step."""
    angles: list[float] = []
    for _ in range(round(duration / sim.dt)):
        sim.step()
        angles.append(SWING - float(sim.joint("joint0").position[0]))
    return np.array(angles)


def _period(t: Reals, angles: Reals) -> float:
    """s, mean time between crossings of 0 in one direction."""
    k = np.flatnonzero((angles[:-1] > 0) & (angles[1:] <= 0))
    crossings = t[k] + (t[k + 1] - t[k]) * angles[k] / (angles[k] - angles[k + 1])
    return float(np.diff(crossings).mean())


def swing_period(sim: Simulation) -> tuple[float, float, str]:
    """Period against that of the exact solver, relative."""
    exact = simulate(swing(), duration=5.0)
    angles = _swing_angles(sim, 20.0)
    ours = _period(np.arange(1.0, len(angles) + 1.0) * sim.dt, angles)
    return (
        abs(ours / _period(exact.t, SWING - exact.q[:, 0]) - 1.0),
        2e-3,
        "of the period, against the exact solver",
    )


def swing_amplitude(sim: Simulation) -> tuple[float, float, str]:
    """Amplitude lost in 60 s."""
    angles = _swing_angles(sim, 60.0)
    last = np.abs(angles[-round(5.0 / sim.dt) :]).max()
    return 1.0 - float(last) / SWING, 0.01, "of the amplitude, in 60 s"


def corrections(quick: bool) -> Iterator[Case]:
    """Overlaps and folds."""
    for tilt in (1e-2, 1e-4, 1e-7):
        yield Case(
            f"overlapping slide, tilt {tilt:g}", partial(scenes.overlapping_slide, tilt), 0.5,
            check=slide_travel,
        )  # fmt: skip
    parallelogram = {"crank": 0.1, "coupler": 0.2, "rocker": 0.1, "ground": 0.2}
    yield Case("parallelogram through its fold", lambda: named.make("four_bar", **parallelogram), 20.0)
    yield Case("parallelogram at its fold", lambda: named.make("four_bar", **parallelogram, start=0.0), 20.0)
    for start in (math.pi, 1e-6, 1e-3):
        yield Case(f"fast parallelogram, {start:.3g} rad from flat", partial(fast_parallelogram, start), 11.0)
    for edge in (1e-3, 1.0, 100.0, 1e4):
        yield Case(
            f"box of {edge:g} m at rest", partial(scenes.large_box, edge), 1.0,
            check=partial(sinking, edge=edge),
        )  # fmt: skip


def fast_parallelogram(start: float) -> Scene:
    """A parallelogram under gravity that turns at 20 rad/s from near a fold."""
    return named.make("four_bar", crank=0.1, coupler=0.2, rocker=0.1, ground=0.2, spin=20.0, gravity=True, start=start)


def slide_travel(sim: Simulation) -> tuple[float, float, str]:
    """Largest way of the slide in a step."""
    farthest, before = 0.0, 0.0
    for _ in range(50):
        sim.step()
        now = float(sim.joint("slide").position[0])
        farthest, before = max(farthest, abs(now - before)), now
    return farthest, 0.011, "m that a correction of 10 mm moved the slide in a step"


def sinking(sim: Simulation, edge: float) -> tuple[float, float, str]:
    """How far a box sinks in a second."""
    sim.run(1.0)
    return abs(float(sim.body("box").position[2]) - edge / 2), max(2e-6, 1e-5 * edge), "m that a box sinks"


def spins(quick: bool) -> Iterator[Case]:
    """Bodies that turn fast."""
    for rate in (70.0, 700.0, 3000.0):
        yield Case(f"ball on the floor, {rate:g} rad/s", partial(scenes.spinning_ball, rate), 5.0)
        yield Case(f"free body, {rate:g} rad/s", partial(scenes.free_spin, rate), 5.0)


def mechanisms(quick: bool) -> Iterator[Case]:
    """Where maximal coordinates fell behind."""
    yield Case("sliding rod, µ = 2", lambda: scenes.sliding_rod(2.0), 0.5, check=steps_without_force)
    yield Case("motor against a limit", scenes.motor_at_limit, 2.0, driven=True, check=beyond_limit)
    yield Case(
        "peaucellier", lambda: named.make("peaucellier"), 60.0, steps=(0.001, 0.002, 0.005), driven=True,
        check=off_the_line,
    )  # fmt: skip
    yield Case("Euler's disk", scenes.euler_disk, 0.3, steps=(0.0005, 0.001, 0.002), most_loss=0.02, loss_step=0.001)


def steps_without_force(sim: Simulation) -> tuple[float, float, str]:
    """Steps in touch without a contact force, before the first one with it."""
    idle = 0
    for _ in range(20):
        sim.step()
        points = sim.contacts()
        if any(np.linalg.norm(c.force) > 0 for c in points):
            break
        idle += bool(points)
    return float(idle), 0.0, "steps in touch without a force"


def beyond_limit(sim: Simulation) -> tuple[float, float, str]:
    """How far a motor drives a hinge beyond its limit."""
    sim.run(2.0)
    return float(sim.joint("hinge").position[0]) - 0.5, 1e-3, "rad beyond the limit"


def off_the_line(sim: Simulation) -> tuple[float, float, str]:
    """How far the tip of the linkage is off its line after 30 s."""
    sim.run(30.0)
    tip = sim.body("side_at")
    turn = np.array(tip.rotation).reshape(3, 3)
    line = (0.5**2 - 0.2**2) / 0.4
    away = abs(float(tip.position[0] + 0.1 * turn[0, 0]) - line)
    return away, STRAIGHT if sim.dt <= 0.001 else math.inf, "m off the line after 30 s"


def plates(quick: bool) -> Iterator[Case]:
    """Flat plates that turn on their face."""
    for shape in ("disc", "square", "rectangle", "ring"):
        yield Case(
            f"spinning {shape}", partial(scenes.spinning_plate, shape), 0.2, steps=(0.001, 0.005),
            check=partial(spin_friction_error, shape=shape),
        )  # fmt: skip


def spin_friction_error(sim: Simulation, shape: str) -> tuple[float, float, str]:
    """Deceleration of the spin against that of uniform pressure, relative."""
    before = float(sim.body("plate").angular_velocity[2])
    sim.run(0.02)
    after = float(sim.body("plate").angular_velocity[2])
    model = sim.model
    mass, moment = float(model.mass[0]), float(model.inertia[0][2, 2])
    expected = 0.4 * mass * 9.81 * MEAN_RADIUS[shape] / moment
    return (
        abs((before - after) / sim.time / expected - 1.0),
        UNIFORM_PRESSURE,
        "of the deceleration of uniform pressure",
    )


def rectangle_mean_radius(a: float, b: float) -> float:
    """Mean distance from the middle of points of a rectangle with sides a and b."""
    d = math.hypot(a, b)
    return d / 6 + a**2 / (12 * b) * math.asinh(b / a) + b**2 / (12 * a) * math.asinh(a / b)


MEAN_RADIUS = {
    "disc": 2 / 3 * 0.1,
    "square": rectangle_mean_radius(0.2, 0.2),
    "rectangle": rectangle_mean_radius(0.2, 0.1),
    "ring": 2 / 3 * (0.1**3 - 0.08**3) / (0.1**2 - 0.08**2),
}  # m, mean distance from the middle, which is the arm of friction under uniform pressure
