"""The exact solver against published and closed-form solutions (tests/data/references.json)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sharnir
from sharnir import scenes

REFERENCES = json.loads((Path(__file__).parents[1] / "data" / "references.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("degrees", ["10", "45", "90", "120", "170", "179"])
def test_pendulum_returns_after_its_period(degrees):
    amplitude = np.radians(float(degrees))
    period = REFERENCES["pendulum_period_length_1"]["period_by_amplitude_deg"][degrees]
    run = sharnir.simulate(scenes.make("pendulum", angle=amplitude), period, times=[period / 2, period], rtol=1e-12)
    # Near the turning points the angle changes with the square of a time error; the velocity shows it.
    acceleration = 9.81 * np.sin(amplitude)
    assert run.q[1, 0] == pytest.approx(-amplitude, abs=1e-9)
    assert abs(run.v[2, 0] / acceleration) < 1e-8 * period
    assert abs(run.v[1, 0] / acceleration) < 1e-8 * period


@pytest.mark.parametrize("t", ["0.5", "1", "2", "3"])
def test_double_pendulum(t):
    run = sharnir.simulate(scenes.make("double_pendulum"), float(t), times=[float(t)])
    q, v = run.q[-1], run.v[-1]
    absolute = [q[0], q[0] + q[1], v[0], v[0] + v[1]]
    # the reference is given to 8 decimals
    np.testing.assert_allclose(absolute, REFERENCES["double_pendulum"]["th1_th2_w1_w2"][t], atol=2e-8)


@pytest.mark.parametrize("n", [2, 40])
def test_n_four_bar(n):
    """Passes its branching configuration, where all bars lie in line, twice a revolution for 20 s."""
    reference = REFERENCES["n_four_bar"]["B0_xy_vxvy"][str(n)]
    times = [float(t) for t in reference]
    run = sharnir.simulate(scenes.make("n_four_bar", n=n), times[-1], times=times, rtol=1e-11, atol=1e-13)
    for k, values in enumerate(reference.values(), start=1):
        angle, rate = np.pi / 2 + run.q[k, 0], run.v[k, 0]
        corner = [np.cos(angle), np.sin(angle), -rate * np.sin(angle), rate * np.cos(angle)]
        np.testing.assert_allclose(corner, values, atol=1e-7)
    assert run.loop_error.max() < 1e-9


def test_andrews_squeezer():
    reference = REFERENCES["andrews"]
    model = sharnir.compile(scenes.make("andrews"))
    run = sharnir.simulate(model, reference["t"], times=[reference["t"]])
    names = [name.lower() for name in reference["coordinates"]]
    q = [run.q[-1, model.joint(name).q][0] for name in names]
    v = [run.v[-1, model.joint(name).v][0] for name in names]
    np.testing.assert_allclose(q, reference["q"], atol=1e-7)
    np.testing.assert_allclose(v, reference["v"], rtol=1e-7)
    assert run.loop_error.max() < 1e-9
    assert np.abs(run.energy_error).max() < 1e-9 * run.energy_scale


def test_andrews_squeezer_by_radau():
    """The method for stiff systems reaches the same state."""
    reference = REFERENCES["andrews"]
    run = sharnir.simulate(scenes.make("andrews"), 0.03, method="radau", times=[0.03], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(run.q[-1, 0], reference["q"][0], atol=1e-6)


def test_free_box_tumbles_as_the_elliptic_functions_say():
    reference = REFERENCES["free_box"]
    run = sharnir.simulate(scenes.make("free_box"), 10.0, times=[10.0])
    np.testing.assert_allclose(run.v[-1, 3:], reference["w_body_t10"], atol=1e-8)
    assert run.kinetic[0] == pytest.approx(reference["E0"], rel=1e-10)
    height = 8.0 * 10.0 - 0.5 * 9.8 * 100.0
    np.testing.assert_allclose(run.q[-1, :3], [-20.0, 20.0, height], atol=1e-9)
