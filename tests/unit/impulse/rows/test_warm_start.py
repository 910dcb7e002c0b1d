"""What contacts at rest take from the step before, and how much of a pile is swept (M-84, M-85)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

import sharnir
from sharnir import scenes
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, ReportItem
from sharnir.simulation.snapshot import Saved

DT = 0.005
RENAMED = 1 << 20  # added to the numbers of features


@cache
def model(name: str, n: int) -> sharnir.Model:
    return sharnir.compile(scenes.make(name, n=n))


@cache
def settled(name: str, n: int) -> Saved:
    sim = sharnir.Simulation(model(name, n), dt=DT)
    sim.run(3.0)
    return sim.save()


def going_on(saved: Saved, name: str, n: int, **settings: float) -> sharnir.Simulation:
    sim = sharnir.Simulation(model(name, n), dt=DT, **settings)
    sim.restore(saved)
    return sim


def sweeps(sim: sharnir.Simulation, steps: int) -> Iterator[float]:
    for _ in range(steps):
        sim.impulses.step(1)
        yield float(sim.impulses.reports(1)[0, ReportItem.SWEEP_COUNT, 0])


def test_contacts_go_on_under_other_names() -> None:
    """Features that meet get other numbers, points stay: impulses are found again, to the last bit of what follows."""
    saved = settled("pile", 64)
    renamed = saved.arrays["prev_contact_keys"].copy()
    count = int(renamed[ContactKey.COUNT, 0])
    assert count > 200
    renamed[ContactKey.FEATURE :: CONTACT_KEY_SIZE][:count] += RENAMED
    other = going_on(replace(saved, arrays=saved.arrays | {"prev_contact_keys": renamed}), "pile", 64)
    same = going_on(saved, "pile", 64)
    assert list(sweeps(other, 5)) == list(sweeps(same, 5))
    assert np.array_equal(other.q, same.q)


def test_names_that_two_contacts_swap_count() -> None:
    """Points whose features met before are found by these, whatever is nearer."""
    saved = settled("pile", 64)
    keys = saved.arrays["prev_contact_keys"].copy()
    count = int(keys[ContactKey.COUNT, 0])
    pairs, features = (keys[slot::CONTACT_KEY_SIZE, 0][:count] for slot in (ContactKey.PAIR, ContactKey.FEATURE))
    first = np.flatnonzero(pairs[:-1] == pairs[1:])[0]
    features[[first, first + 1]] = features[[first + 1, first]]
    swapped = replace(saved, arrays=saved.arrays | {"prev_contact_keys": keys})
    other, same = (going_on(s, "pile", 64) for s in (swapped, saved))
    for sim in (other, same):
        sim.impulses.step(1)
    assert not np.array_equal(other.q, same.q)


def pulled(**settings: float) -> sharnir.Simulation:
    """The pile after 20 steps in which a twentieth of its weight pulls at one box."""
    sim = going_on(settled("pile", 64), "pile", 64, **settings)
    sim.applied_control.numpy()[0, 0] = 0.05 * 9.81 * model("pile", 64).mass[0]
    sim.impulses.step(20)
    return sim


def test_few_contacts_of_a_pile_are_swept_where_one_box_is_pulled() -> None:
    sim = pulled()
    swept = []
    for _ in range(10):
        contacts = int(sim.impulses.state.prev_contact_keys.numpy()[ContactKey.COUNT, 0])
        swept.append(int(sim.impulses._work.active_contacts.numpy()[0, 0]) / contacts)
        sim.step()
    assert 0 < max(swept) < 0.5


def test_what_rests_is_solved_as_well() -> None:
    """Bodies move as where all contacts are swept, as they are without acceleration, as far as ε says."""
    near, everywhere = (
        pulled(epsilon=1e-12, max_sweeps=20000, accelerate=accelerate).q for accelerate in (True, False)
    )
    assert np.abs(near - everywhere).max() < 1e-10
    assert np.abs(pulled().q - everywhere).max() < 3e-7
