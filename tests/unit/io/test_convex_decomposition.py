"""Meshes as convex parts: by coacd, where asked for, reported, kept by content."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from refusal import refused

import sharnir as sh
from sharnir.io import convex_decomposition as parts

RING = trimesh.creation.annulus(0.3, 0.5, 0.2, sections=24)
URDF = """<robot name="r"><link name="base">{base}</link><link name="peg"><inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{peg}</geometry></collision></link>
  <link name="arm"/><joint name="fix" type="fixed"><parent link="base"/><child link="arm"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="peg"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
INERTIAL = """<inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
TWO_JOINTS = URDF.replace('<link name="arm"/>', f'<link name="arm">{INERTIAL}</link>').replace(
    'type="fixed">', 'type="continuous">'
)
MESH = '<collision><geometry><mesh filename="ring.stl"/></geometry></collision>'
ROD = '<cylinder radius="0.05" length="0.1"/>'


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Parts of one ring serve all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def loaded(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(parts, "cache_folder", lambda: cache)
    RING.export(tmp_path / "ring.stl")

    def load(concavity: float | None = 0.05, peg: str = ROD, text: str = URDF, **options) -> sh.Scene:
        (tmp_path / "robot.urdf").write_text(text.format(base=MESH, peg=peg))
        return sh.load(tmp_path / "robot.urdf", decompose=concavity, **options)

    return load


def ring_parts(scene: sh.Scene) -> list[sh.ConvexHull]:
    return [shape for shape in scene.shapes if isinstance(shape, sh.ConvexHull)]


def placed(shape: sh.ConvexHull) -> trimesh.Trimesh:
    """The part as a solid in the world."""
    from scipy.spatial.transform import Rotation

    points = Rotation.from_quat(shape.orientation).apply(np.array(shape.points)) + shape.position
    return trimesh.convex.convex_hull(points)


def test_parts_fill_what_the_mesh_fills_and_leave_its_hole(loaded):
    scene = loaded()
    solids = [placed(shape) for shape in ring_parts(scene)]
    assert len(solids) > 4
    assert sum(solid.volume for solid in solids) == pytest.approx(RING.volume, rel=0.05)
    assert RING.convex_hull.volume > 1.4 * RING.volume
    inside, _ = trimesh.sample.sample_surface(RING, 300, seed=1)
    bounds = np.array([solid.bounds for solid in solids])
    assert all(((p > bounds[:, 0] - 0.01) & (p < bounds[:, 1] + 0.01)).all(axis=1).any() for p in inside)
    hole = np.random.default_rng(0).uniform(-0.15, 0.15, (100, 3)) * [1, 1, 0.5]
    assert not any(solid.contains(hole).any() for solid in solids)
    entries = [e for e in scene.import_report if "convex parts" in e.reason]
    assert [(e.element, e.effect) for e in entries] == [("geom", "changed")]
    assert f"{len(solids)} convex parts" in entries[0].reason


def test_without_being_asked_nothing_is_decomposed(loaded):
    scene = loaded(None)
    [hull] = ring_parts(scene)
    assert placed(hull).volume == pytest.approx(RING.convex_hull.volume, rel=1e-6)
    assert not any("convex parts" in e.reason for e in scene.import_report)


def test_a_rod_passes_through_the_ring_and_is_held_by_its_hull(loaded):
    """Left out of what overlaps at the start, the rod touches the ring only where it is."""
    heights = {}
    for name, concavity in (("parts", 0.05), ("hull", None)):
        scene = loaded(concavity, exclude_overlapping=False)
        joint = next(j for j in scene.joints if j.name == "slide")
        joint.position = 0.5
        sim = sh.Simulation(scene, dt=0.002)
        sim.run(1.0)
        heights[name] = float(sim.q[0])
    assert heights["parts"] == pytest.approx(-1.0, abs=1e-3)  # its limit
    assert heights["hull"] == pytest.approx(0.15, abs=1e-3)  # on the lid of the hull


def test_links_overlap_by_their_parts_not_by_hulls(loaded):
    """A rod in the hole touches nothing; one in the rim does."""

    def overlaps(concavity: float | None = 0.05, peg: str = ROD):
        scene = loaded(concavity, peg, TWO_JOINTS)  # links that a joint connects never touch
        return [e.name for e in scene.import_report if "overlap" in e.reason]

    assert overlaps(None) == ["base and peg"]
    assert overlaps() == []
    assert overlaps(peg='<box size="1 0.1 0.1"/>') == ["base and peg"]


def test_materials_and_groups_hold_for_all_parts(loaded):
    shapes = ring_parts(loaded())
    assert len({(s.material.name, s.group, s.mask) for s in shapes}) == 1
    assert shapes[0].group


def test_parts_are_found_once(loaded, cache, monkeypatch):
    first = loaded()
    monkeypatch.setattr(parts, "_ask", lambda *_: pytest.fail("asked again"))
    assert loaded().shapes == first.shapes
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    for damage in (b"", b"nonsense", whole[:-8], b"\0" * len(whole)):
        kept.write_bytes(damage)
        with pytest.raises(pytest.fail.Exception, match="asked again"):
            loaded()
    kept.write_bytes(whole)
    with pytest.raises(pytest.fail.Exception, match="asked again"):
        loaded(0.2)


def test_what_coacd_cannot_do_is_refused(loaded, monkeypatch):
    monkeypatch.setattr(parts, "TIME_LIMIT", 0.01)
    with refused("robot.urdf: geom", "cannot be decomposed", "longer than 0.01 s", error=sh.ModelFileError):
        loaded(0.3)


@pytest.mark.parametrize("value", [0.0, 2.0, True, "fine", float("nan")])
def test_a_concavity_out_of_range_is_refused(loaded, value):
    with refused("load: decompose is out of range", "from 0.01 (fine) to 1 (coarse)"):
        loaded(value)


def test_without_coacd_the_answer_says_what_to_install(loaded, monkeypatch):
    import importlib.metadata

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with refused("decompose needs coacd", "pip install 'sharnir[decompose]'"):
        loaded()
