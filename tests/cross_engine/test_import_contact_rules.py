"""Which geoms of an MJCF file touch, and with which friction, is as in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from mujoco_parts import FILES, found, parsed

import sharnir as sh
from sharnir.collision.filters import build_collision_filter
from sharnir.io import Parsed, scene_of
from sharnir.io.convert.source import Source

WIDE = 5.0  # m, wider than any model here


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
