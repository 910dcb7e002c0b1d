"""Loads on light links (M-91..M-98): no energy from nowhere, chains stay together, others do not notice."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.benchmarks.holds.measure import Watched, watch
from sharnir.benchmarks.holds.random_scenes import random_scene
from sharnir.benchmarks.holds.scenes import held_string, loaded_chain, net
from sharnir.impulse.slots import LinkLoad, PrevStep, ReportItem, StepWarning, WorldLoad

both = pytest.mark.parametrize("solver", ["simgc", "simmc"])
MOST_GAIN = 1e-3  # of S: largest kinetic energy and range of potential energy
MOST_GROWTH = 1e-4  # of S in 10 s, after the first second


def run(scene: sh.Scene, solver: str, dt: float, duration: float) -> Watched:
    with pytest.warns(sh.SimulationWarning):
        sim = sh.Simulation(sh.compile(scene), solver=solver, dt=dt)
        sim.step(5)
    return watch(sh.compile(scene), solver=solver, dt=dt, duration=duration)


@both
@pytest.mark.parametrize(
    ("links", "dt"), [((20, 0.02, 0.05, 1.0), 0.01), ((10, 0.1, 0.1, 100.0), 0.005), ((5, 0.02, 0.05, 100.0), 0.001)]
)
def test_a_load_on_a_chain_swings_and_gains_nothing(solver, links, dt):
    """Before, the first one gained 732 J in simgc, and its load fell 37 m in simmc."""
    seen = run(loaded_chain(*links), solver, dt, 3.0)
    assert seen.gain < MOST_GAIN and seen.growth < MOST_GROWTH and abs(seen.loss) < 1e-3
    assert seen.guarded == 0 and seen.position_error < 1e-6


@both
@pytest.mark.parametrize("dt", [0.002, 0.005])
def test_a_chain_that_snaps_taut_stays_together_and_gains_nothing(solver, dt):
    """What the catch takes is lost."""
    seen = run(snapping_chain(), solver, dt, 1.5)
    assert seen.gain < MOST_GAIN and seen.growth < MOST_GROWTH
    assert 0.4 < seen.loss < 0.6 and seen.position_error < 5e-3


def snapping_chain() -> sh.Scene:
    """A load of 100 kg that falls and is caught by five links of 20 g."""
    return loaded_chain(5, 0.02, 0.05, 100.0, angles=[0.5 + math.pi * (k % 2) for k in range(5)])


@both
def test_residuals_that_steps_drop_give_no_energy(solver):
    """Ten light links at 1 ms: whips of more than a radian a step are accepted with what the passes leave (M-110)."""
    folded = [0.3 + math.pi * (k % 2) for k in range(10)]
    seen = watch(sh.compile(loaded_chain(10, 0.02, 0.05, 1.0, angles=folded)), solver=solver, dt=0.001, duration=2.0)
    assert seen.gain < MOST_GAIN and seen.growth < MOST_GROWTH and seen.said


@both
def test_linearised_steps_of_a_load_on_a_chain_gain_nothing(solver):
    seen = watch(sh.compile(loaded_chain(20, 0.02, 0.05, 1.0)), solver=solver, dt=0.01, duration=2.0, passes=0)
    assert seen.gain < MOST_GAIN and seen.growth < MOST_GROWTH and seen.position_error < 1e-3


@both
def test_a_mechanism_does_not_pay_for_another(solver):
    """A pendulum beside a chain that snaps taut moves as it does alone."""

    def pendulum_beside(others: sh.Scene) -> np.ndarray:
        others.add(sh.Body(name="bob", mass=1.0, inertia=(0.1,) * 3, position=(5.0, 0, -0.5)))
        others.add(
            sh.Revolute(name="pin", parent="world", child="bob", anchor=(5.0, 0, 0), axis=(0, 1, 0), position=1.0)
        )
        sim = sh.Simulation(others, solver=solver, dt=0.005)
        angles = []
        for _ in range(200):
            sim.step()
            angles.append(float(sim.joint("pin").position[0]))
        return np.array(angles)

    with pytest.warns(sh.SimulationWarning):
        beside = pendulum_beside(snapping_chain())
    np.testing.assert_allclose(beside, pendulum_beside(sh.Scene()), atol=1e-3)


@both
def test_a_net_holds_its_load(solver):
    """With loops in generalised coordinates."""
    seen = run(net(3, 0.02, 50.0), solver, 0.01, 1.0)
    assert seen.gain < MOST_GAIN and seen.guarded == 0 and seen.position_error < 1e-6


def test_slow_waves_of_a_held_string_are_not_damped():
    """Its swing has dt·ω = 0.15, its links' own turning more than the step resolves."""
    seen = run(held_string(6, 0.02, 3.6e3, 50.0, 0.3), "simgc", 0.005, 3.0)
    assert seen.gain < MOST_GAIN and -1e-3 < seen.loss < 0.02


@both
def test_stiffened_links_are_counted_and_said(solver):
    sim = sh.Simulation(sh.compile(loaded_chain(5, 0.02, 0.05, 100.0)), solver=solver, dt=0.01)
    with pytest.warns(sh.SimulationWarning, match="links"):
        sim.step(10)
    report = sim.impulses.reports(10)[:, :, 0]
    assert (report[1:, ReportItem.STIFFENED_LINKS] == 5).all()
    assert (report[1:, ReportItem.WARNINGS].astype(int) & StepWarning.LINKS_STIFFENED).all()


@both
@pytest.mark.parametrize("name", ["five_link_chain", "double_pendulum_rods", "humanoid"])
def test_who_is_not_loaded_steps_bit_for_bit_as_without_it(name, solver):
    """Levers of 0 switch the measurement off; a loaded chain is then guarded at once."""
    scene = _scene(name)
    states = []
    for on in (True, False):
        sim = sh.Simulation(scene, solver=solver, dt=0.002)
        if not on:
            switch_off(sim)
        for _ in range(100):
            sim.step()
        assert not sim.impulses.state.link_load.numpy().any()
        states.append(state_bits(sim))
    assert states[0] == states[1]


def test_without_it_a_loaded_chain_is_guarded():
    """So that the test above can fail."""
    sim = sh.Simulation(sh.compile(loaded_chain(5, 0.02, 0.05, 100.0)), solver="simgc", dt=0.01)
    switch_off(sim)
    sim.step(10)
    loads = sim.impulses.state.link_load.numpy()[: -WorldLoad.SIZE].reshape(-1, LinkLoad.SIZE)
    assert not loads[:, : LinkLoad.RESERVE].any() and sim.counts.guarded > 5


def switch_off(sim: sh.Simulation) -> None:
    layout = sim.impulses._context.layout
    layout.tree_lever = 0.0
    layout.joint_lever.zero_()


def state_bits(sim: sh.Simulation) -> bytes:
    """All that evolves but the ticks of the machine."""
    arrays = sim.save().arrays
    arrays["prev_step"] = np.delete(arrays["prev_step"], (PrevStep.TICKS_TAIL, PrevStep.TICKS_LEFT), axis=0)
    return b"".join(values.tobytes() for values in arrays.values())


def _scene(name: str) -> sh.Scene:
    if name == "double_pendulum_rods":
        return loaded_chain(2, 1.0, 0.5, 1.0, angles=[1.0, 0.5])
    return scenes.make(name)


def test_a_saved_chain_goes_on_bit_for_bit_and_old_states_have_no_loads():
    scene = loaded_chain(5, 0.02, 0.05, 100.0)
    first, second = (sh.Simulation(sh.compile(scene), solver="simgc", dt=0.01) for _ in range(2))
    first.step(20)
    saved = first.save()
    second.restore(saved)
    for sim in (first, second):
        sim.step(20)
    assert first.impulses.state.link_load.numpy().any()
    np.testing.assert_array_equal(first.q, second.q)
    del saved.arrays["link_load"]
    second.restore(saved)
    assert not second.impulses.state.link_load.numpy().any()


@pytest.mark.parametrize(("n", "mass", "length", "load"), [(20, 0.02, 0.05, 1.0), (10, 0.1, 0.1, 100.0)])
def test_a_chain_that_snaps_taut_holds_its_load_in_maximal_coordinates(n, mass, length, load):
    """Folded, at 20 ms: links turn by more than a radian a step at the snap. Without (M-114) the load falls on."""
    folded = [0.5 + math.pi * (k % 2) for k in range(n)]
    sim = sh.Simulation(loaded_chain(n, mass, length, load, angles=folded), solver="simmc", dt=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.SimulationWarning)
        opening = max(sim.step().position_error for _ in range(200))
    assert sim.body("load").position[2] > -1.05 * n * length
    assert opening < 0.02
    assert sim.step().position_error < 1e-6


@pytest.mark.parametrize("seed", [10, 215, 260])
def test_random_chains_that_were_torn_stay_together(seed):
    """The chains of `bench holds` at 20 ms that (M-114) keeps: their links had lost all tension, and fell."""
    sim = sh.Simulation(random_scene(seed), solver="simmc", dt=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sh.SimulationWarning)
        sim.run(2.0)
    assert sim.step().position_error < 1e-6
