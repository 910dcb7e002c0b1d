"""Published references, and limits, by sequential impulses."""

from __future__ import annotations

import numpy as np
import pytest
from ladder import SOLVERS, end_of, errors
from measures import gaps

import sharnir
from sharnir import scenes


def tip(sim: sharnir.Simulation) -> np.ndarray:
    """x, z and their rates of the upper end of the first upright, by its angle (0 upright, counted from x to z)."""
    (angle,), (rate,) = sim.joint("ground0").position, sim.joint("ground0").velocity
    return np.array([-np.sin(angle), np.cos(angle), -rate * np.cos(angle), -rate * np.sin(angle)])


# Tip of the first upright, x, z and their rates (IFToMM A02, by an independent integration of its reduced equation).
N_FOUR_BAR = {
    2: {
        1: (-0.1950203019, -0.9807992057, -6.6766780369, 1.3275783252),
        4: (0.1176161024, 0.9930591385, 1.069039265, -0.1266150492),
        10: (0.3284581115, 0.9445185382, 1.4230514702, -0.4948688455),
    },
    40: {
        1: (-0.1153568806, -0.9933241113, -6.6699875239, 0.7746000987),
        10: (0.1805122267, 0.9835727406, 1.1484412775, -0.2107700668),
    },
}


def assert_four_bar(solver: str, n: int, dt: float, until: float) -> None:
    """Within 1e-3, what IFToMM asks for in "high precision"; twice a turn all bars are in line and rows lose rank,
    which costs maximal coordinates some digits: within 2e-2."""
    sim = sharnir.Simulation(scenes.make("n_four_bar", n=n), solver=solver, dt=dt)
    for t, values in N_FOUR_BAR[n].items():
        if t <= until:
            sim.step(round((t - sim.time) / dt))
            np.testing.assert_allclose(tip(sim), values, atol=1e-3 if solver == "simgc" else 2e-2)


@pytest.mark.parametrize(
    ("solver", "n", "until"), [("simgc", 2, 10), ("simmc", 2, 10), ("simgc", 40, 10), ("simmc", 40, 1)]
)
def test_n_four_bar(solver, n, until):
    """1 ms. Measured on simgc: 8.8e-6 m and 5.6e-5 m/s after 1 s, 7.6e-5 and 1.9e-4 after 10 s."""
    assert_four_bar(solver, n, 0.001, until)


@pytest.mark.parametrize("n", [2, 40])
def test_n_four_bar_in_maximal_coordinates_at_2_ms(n):
    """For a second. Measured: 2.2e-4 and 7.1e-4."""
    assert_four_bar("simmc", n, 0.002, 1)


def balance(n: int, dt: float, duration: float) -> tuple[float, float, float, sharnir.Simulation]:
    """The most gained and the most lost of energy, of the largest kinetic energy, and the largest (ω dt)²."""
    sim = sharnir.Simulation(scenes.make("n_four_bar", n=n), solver="simmc", dt=dt)
    start, gain, loss, kinetic, turn = sum(sim.energy), 0.0, 0.0, 0.0, 0.0
    for _ in range(round(duration / dt)):
        sim.step()
        gain, loss = max(gain, sum(sim.energy) - start), max(loss, start - sum(sim.energy))
        kinetic, turn = max(kinetic, sim.energy[0]), max(turn, (float(sim.joint("ground0").velocity[0]) * dt) ** 2)
    return gain / kinetic, loss / kinetic, turn, sim


@pytest.mark.parametrize("dt", [0.002, 0.0021, 0.0025, 0.004])
def test_two_four_bars_gain_nothing_where_all_bars_are_in_line(dt):
    """In maximal coordinates they may lose speed there (below), but gain no more than a second-order step may, stay
    closed, and warn."""
    gain, _, turn, sim = balance(2, dt, 4.0)
    assert gain <= turn / 12
    assert gaps(sim).apart < 1e-4
    assert sim.counts.warned > 0


@pytest.mark.parametrize(("n", "steps"), [(2, (0.002, 0.0021, 0.004)), (40, (0.0016, 0.0018, 0.002, 0.0022))])
def test_four_bars_keep_their_energy_at_large_steps(n, steps):
    """To 1e-3. Whether one step fails is luck; of several some do."""
    for dt in steps:
        gain, loss, _, _ = balance(n, dt, 10.0)
        assert gain < 1e-3 and loss < 1e-3, (dt, gain, loss)


ANDREWS_Q = (15.8107711951537, -15.7563710584118, 0.04082224011964, -0.534730116342095, 0.524409965879954,
             0.534730116342095, 1.04808074104194)  # fmt: skip
ANDREWS_V = (1139.92030225911, -1424.37929517753, 11.0329119106, 19.293374105, 0.57356991483, -19.293374105,
             0.32317914925)  # fmt: skip
HINGES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")


@pytest.mark.parametrize("solver", SOLVERS)
def test_andrews(solver):
    """3000 steps of 10 µs. The crank turns by 0.014 rad a step at the end; second order, growth 50 of perturbations."""
    found = []
    for dt in (1e-5, 5e-6):
        sim = sharnir.Simulation(scenes.make("andrews"), solver=solver, dt=dt)
        sim.step(round(0.03 / dt))
        q = np.array([sim.joint(n).position[0] for n in HINGES])
        v = np.array([sim.joint(n).velocity[0] for n in HINGES])
        found.append((np.abs(q - ANDREWS_Q).max(), np.abs(v - ANDREWS_V).max()))
    assert found[0][0] < 1e-4
    assert found[0][1] < 0.1
    assert found[1][0] < 0.3 * found[0][0]
    assert found[1][1] < 0.3 * found[0][1]


# limits


def limited_chain() -> sharnir.Scene:
    """Five links that may bend by 0.3 rad each, dropped."""
    scene = scenes.make("five_link_chain", friction=0.0)
    for joint in scene.joints[1:]:
        joint.limits = (-0.3, 0.3)
    scene.joints[0].limits = (-1.2, 0.5)
    return scene


def trailing(solver: str, dt: float, duration: float):
    sim = sharnir.Simulation(limited_chain(), solver=solver, dt=dt)
    sim.step(round(duration / dt))
    return end_of(sim)


@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_act_in_first_order(solver):
    """A stop is met somewhere within a step, so that each run is off by O(dt), by more or less according to where: an
    eighth of the step leaves less than a third of the error."""
    finest = trailing("simgc", 1e-5, 0.35)
    coarse, fine = (errors(trailing(solver, dt, 0.35), finest) for dt in (1.4e-3, 1.75e-4))
    assert (fine[:2] < coarse[:2] / 3).all(), (coarse, fine)


@pytest.mark.parametrize("dt", [1e-3, 2.5e-4, 5e-5])
def test_both_solvers_meet_limits_alike(dt):
    """They solve the same equations and meet the stops in the same steps: what is between them is their tolerance, 1e-6
    of the momenta, times LIGHT and the speed of 10 rad/s, and not the step's error, which is 2e-3 at 1 ms."""
    apart = errors(trailing("simgc", dt, 0.35), trailing("simmc", dt, 0.35))
    assert apart[0] < 1e-5
    assert apart[1] < 1e-3
