"""Links of a URDF that overlap at the start do not touch each other; the report says so, and all else touches."""

from __future__ import annotations

import mujoco
import pytest

import sharnir as sh
from sharnir import enums as kinds
from sharnir.benchmarks.robot_files import urdf_files
from sharnir.collision.filters import build_collision_filter
from sharnir.io.parsing.parse import parse

INERTIAL = '<inertial><mass value="1"/><inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial>'


def link(name: str, radius: float) -> str:
    return (
        f'<link name="{name}">{INERTIAL}<collision><geometry><sphere radius="{radius}"/></geometry></collision></link>'
    )


def joint(parent: str, child: str, x: float, limit: str = 'lower="-1" upper="1"') -> str:
    return (
        f'<joint name="{child}_joint" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/><limit {limit} effort="1" velocity="1"/></joint>'
    )


# balls of 0.1 m in a row: the second next to each, 0.15 m away, overlaps by 0.05 m; the small ones at the end do not
ROW = (
    "<robot name='row'>" + link("base", 0.1) + link("hip", 0.01) + link("thigh", 0.1) + link("shank", 0.01)
    + link("foot", 0.01) + joint("base", "hip", 0.1) + joint("hip", "thigh", 0.05) + joint("thigh", "shank", 0.2)
    + joint("shank", "foot", 0.1) + "</robot>"
)  # fmt: skip


def written(tmp_path, text: str):
    file = tmp_path / "robot.urdf"
    file.write_text(text)
    return file


def touching(scene: sh.Scene) -> set[frozenset[str]]:
    """Bodies that may touch."""
    model = sh.compile(scene)
    may, names = build_collision_filter(model), [*model.body_names, "world"]
    pairs = [(a, b) for a in range(len(model.shape_link)) for b in range(a) if may.row(a)[b]]
    return {frozenset(names[model.shape_link[k]] for k in pair) for pair in pairs}


def listed(scene: sh.Scene) -> list[str]:
    return [entry.name for entry in scene.import_report if entry.element == "links" and entry.effect == "changed"]


def test_links_that_overlap_are_kept_apart_and_listed(tmp_path) -> None:
    file = written(tmp_path, ROW)
    scene = sh.load(file, floating=True)
    [entry] = scene.import_report
    assert entry.effect == "changed" and entry.name == "base and thigh" and "0.05 m" in entry.reason
    kept = sh.load(file, floating=True, exclude_overlapping=False)
    assert [(e.element, e.name, e.effect) for e in kept.import_report] == [("bodies", "base and thigh", "unseen")]
    assert touching(kept) - touching(scene) == {frozenset(("base", "thigh"))}
    with pytest.raises(sh.ModelError, match="base and thigh"):
        sh.load(file, floating=True, strict=True)
    sh.load(file, floating=True, strict=True, exclude_overlapping=False)


def test_what_is_added_to_the_world_touches_all_links_of_a_fixed_robot(tmp_path) -> None:
    scene = sh.load(written(tmp_path, ROW))
    assert set(listed(scene)) == {"base and thigh"}
    scene.add(sh.HalfSpace(position=(0.0, 0.0, -1.0)))
    model = sh.compile(scene)
    ground, may = model.shape_kind.tolist().index(kinds.ShapeKind.HALF_SPACE), build_collision_filter(model)
    touched = {model.body_names[model.shape_link[k]] for k in range(len(model.shape_link)) if may.row(ground)[k]}
    assert touched == {"hip", "thigh", "shank", "foot"}


def test_a_fixed_base_does_not_touch_what_is_jointed_to_it(tmp_path) -> None:
    file = written(tmp_path, ROW)
    base = {frozenset(("world", name)) for name in ("hip", "thigh", "shank", "foot")}
    assert base & touching(sh.load(file)) == base - {frozenset(("world", name)) for name in ("hip", "thigh")}
    assert base <= touching(sh.load(file, exclude_overlapping=False))


@pytest.mark.parametrize("robot", [r for r in urdf_files() if r.name.endswith("solo12.urdf")], ids=lambda r: r.name)
def test_the_same_links_overlap_in_mujoco(robot) -> None:
    peer = parse(robot.path, robot.roots).model
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    pairs = {tuple(sorted(int(b) for b in peer.geom_bodyid[contact.geom])) for contact in data.contact}
    apart = {f"{peer.body(a).name} and {peer.body(b).name}" for a, b in pairs if peer.body_parentid[b] != a}
    found = listed(sh.load(robot.path, robot.roots))
    assert found and set(found) == apart and len(apart) < len(pairs)
