"""The process MuJoCo parses in: what it survives, what it may not do, and that models come out as they should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import bad_assets
import bad_urdf
import mujoco
import numpy as np
import pytest
from refusal import refused

from sharnir.errors import ModelFileError
from sharnir.io.parsing.parse import check_finite, parse
from sharnir.io.parsing.parser_client import ChildError, Worker

SMALL = '<mujoco><worldbody><body name="a"><joint/><geom size="1"/></body></worldbody></mujoco>'
SLOW = """<mujoco><worldbody>
<replicate count="150000" offset="1 0 0"><body><geom size="1"/></body></replicate></worldbody></mujoco>"""
LARGE = '<mujoco><asset><texture name="t" type="2d" builtin="flat" width="8192" height="8192"/></asset></mujoco>'
MESH = '<mujoco><asset><mesh name="m" file="{}"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'


def written(folder: Path, text: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def saved(model: mujoco.MjModel) -> bytes:
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def test_a_model_is_the_one_mujoco_reads(tmp_path):
    path = written(tmp_path, SMALL)
    parsed = parse(path)
    assert (parsed.format, parsed.path, parsed.tree.tag) == ("mjcf", path, "mujoco")
    assert saved(parsed.model) == saved(mujoco.MjModel.from_xml_path(str(path)))


def test_names_of_assets_are_those_of_the_file(tmp_path):
    (tmp_path / "arm.stl").write_bytes(bad_assets.stl())
    path = written(tmp_path, MESH.replace('name="m" ', "").replace('mesh="m"', 'mesh="arm"').format("arm.stl"))
    assert parse(path).model.mesh(0).name == "arm"


@pytest.mark.parametrize("name", ["a.stl", "a.obj", "a.msh", "b.stl", "a.dae", "a.glb"])
def test_meshes_of_every_format_are_the_same(name, tmp_path):
    """trimesh writes COLLADA and glTF; what comes back has the same vertices."""
    import trimesh

    mesh = trimesh.Trimesh(bad_assets.TETRAHEDRON, bad_assets.FACES, process=False)
    data = {
        "a.stl": bad_assets.stl, "a.obj": bad_assets.obj, "a.msh": bad_assets.msh,
        "b.stl": lambda: mesh.export(file_type="stl_ascii").encode(),
        "a.dae": lambda: mesh.export(file_type="dae"), "a.glb": lambda: mesh.export(file_type="glb"),
    }[name]()  # fmt: skip
    (tmp_path / name).write_bytes(data)
    model = parse(written(tmp_path, MESH.format(name))).model
    assert model.mesh_facenum[0] == 4
    place = np.empty(9)
    mujoco.mju_quat2Mat(place, model.mesh_quat[0])
    points = model.mesh_vert @ place.reshape(3, 3).T + model.mesh_pos[0]
    assert sorted(map(tuple, np.round(np.unique(points, axis=0), 6).tolist())) == sorted(
        map(tuple, bad_assets.TETRAHEDRON.tolist())
    )


def test_a_binary_stl_with_more_faces_than_mujoco_reads(tmp_path):
    rows = np.frombuffer(bad_assets.stl()[84:], np.uint8).reshape(4, 50)
    many = np.tile(rows, (51_000, 1))
    (tmp_path / "a.stl").write_bytes(bytes(80) + len(many).to_bytes(4, "little") + many.tobytes())
    path = written(tmp_path, MESH.format("a.stl"))
    with pytest.raises(ValueError, match="200000"):
        mujoco.MjModel.from_xml_path(str(path))
    assert parse(path).model.mesh_facenum[0] == 204_000


def test_urdf_keeps_links_and_tells_where_meshes_are(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/a.stl").write_bytes(bad_assets.stl())
    (tmp_path / "robot").mkdir()
    shape = bad_urdf.mesh("package://pack/a.stl")
    visual = bad_urdf.mesh("lost.dae").replace("collision", "visual")
    text = bad_urdf.robot(bad_urdf.A, bad_urdf.link("b", shape + visual), bad_urdf.joint("j", "a", "b", kind="fixed"))
    path = written(tmp_path / "robot", text, "r.urdf")
    with refused("not found", error=ModelFileError):
        parse(path)
    parsed = parse(path, roots=[tmp_path])
    assert [parsed.model.body(k).name for k in range(3)] == ["world", "a", "b"]
    assert parsed.files == {"package://pack/a.stl": tmp_path / "pack/a.stl"}
    assert parsed.tree.find("link[@name='b']/visual/geometry/mesh").get("filename") == "lost.dae"


def test_time_budget(tmp_path):
    """The child is ended, not waited for: it never answers."""
    with Worker() as worker:
        worker.start()
        child = worker._process
        with refused("takes longer than 0.5 s", "time_limit", error=ModelFileError):
            parse(written(tmp_path, SLOW), time_limit=0.5, worker=worker)
        assert worker._process is None and child.returncode == -signal.SIGKILL


def test_memory_budget(tmp_path):
    with refused("needs more than 400 MiB", "memory_limit", error=ModelFileError):
        parse(written(tmp_path, LARGE), time_limit=60, memory_limit=400 * 2**20)


def test_a_worker_lives_on_after_a_failure(tmp_path):
    slow, small = written(tmp_path, SLOW), written(tmp_path, SMALL, "small.xml")
    with Worker() as worker:
        assert parse(small, worker=worker).model.nbody == 2
        with refused("takes longer", error=ModelFileError):
            parse(slow, time_limit=0.5, worker=worker)
        assert parse(small, worker=worker).model.nbody == 2


def test_a_crash_is_an_error(tmp_path):
    path = written(tmp_path, SMALL)
    with Worker() as worker:
        parse(path, worker=worker)
        os.kill(worker._process.pid, signal.SIGSEGV)
        with refused("crashed MuJoCo's reader (SIGSEGV)", error=ModelFileError):
            parse(path, worker=worker)
        assert parse(path, worker=worker).model.nbody == 2


def test_the_child_can_open_no_file(tmp_path):
    """A request that skips our checks and names a file that exists: MuJoCo does not get it."""
    (tmp_path / "a.stl").write_bytes(bad_assets.stl())
    request = {"xml": MESH.format(tmp_path / "a.stl"), "models": {}, "format": "mjcf", "assets": []}
    mujoco.MjModel.from_xml_string(request["xml"])
    with Worker() as worker:
        answer, _ = worker.ask(request, [], 2**30, 120.0)
    assert answer["failed"] == "mujoco" and "a.stl" in answer["text"]


def test_no_answer_is_kept_from_one_file_to_the_next(tmp_path):
    """The same names with other contents: MuJoCo's cache of assets is off."""
    with Worker() as worker:
        sizes = []
        for scale in (1.0, 2.0):
            (tmp_path / "a.stl").write_bytes(bad_assets.stl(np.float32(scale) * bad_assets.TETRAHEDRON))
            sizes.append(parse(written(tmp_path, MESH.format("a.stl")), worker=worker).model.geom_rbound[0])
    assert sizes[1] == pytest.approx(2 * sizes[0], rel=1e-6)


def test_nonsense_from_the_child_is_refused():
    with Worker() as worker:
        for received in (b"\xff" * 9, (4).to_bytes(8, "little") + b"null", (9).to_bytes(8, "little") + b'{"blobs":'):
            with pytest.raises(ChildError, match="nonsense"):
                worker._complete(bytearray(received), 10)
        text = b'{"blobs": [99]}'
        with pytest.raises(ChildError, match="too large"):
            worker._complete(bytearray(len(text).to_bytes(8, "little") + text), 10)


def test_a_compiled_model_that_overflowed_is_refused():
    model = mujoco.MjModel.from_xml_string(SMALL)
    check_finite(model, Path("a.xml"))
    model.body_mass[1] = np.inf
    with refused("a.xml: ", "not finite in body_mass", error=ModelFileError):
        check_finite(model, Path("a.xml"))


def test_a_load_starts_one_process_that_imports_mujoco_and_little_else(tmp_path, monkeypatch):
    """Which is why a load costs about as much as to import MuJoCo: 0.22 s against 0.23 s, measured."""
    started, plain = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(a[0]) or plain(*a, **k))
    assert parse(written(tmp_path, SMALL)).model.nbody == 2
    assert len(started) == 1
    monkeypatch.undo()
    module = started[0][-1]
    look = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert "mujoco" in loaded
    assert not {"warp", "scipy", "viser", "matplotlib", "mcap", "trimesh", "rich", "typer"} & set(loaded)
