"""Every file of the catalogue is answered by one sentence: where, what, why, and what would be right."""

from __future__ import annotations

import os
from pathlib import Path

import bad_assets
import bad_mjcf
import bad_urdf
import pytest
from refusal import refused

from sharnir.errors import ModelFileError
from sharnir.io.parsing.parse import parse
from sharnir.io.parsing.parser_client import Worker

SECONDS, BYTES = 20.0, 2**30
MESH_IN_MJCF = (
    '<mujoco>\n<asset>\n<mesh name="m" file="{}"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
)
TEXTURE = '<mujoco>\n<asset>\n<texture name="t" type="2d" file="{}"/></asset></mujoco>'
HEIGHTS = '<mujoco>\n<asset>\n<hfield name="h" size="1 1 1 1" file="{}"/></asset></mujoco>'


@pytest.fixture(scope="module")
def worker():
    with Worker() as one:
        yield one


def error_of(path: Path, worker: Worker, *fragments: str) -> ModelFileError:
    """The error of a file, its form checked."""
    with refused(*fragments, "; allowed: ", error=ModelFileError) as caught:
        parse(path, time_limit=SECONDS, memory_limit=BYTES, worker=worker)
    error = caught.value
    assert error.file and error.reason and error.allowed
    assert str(error).startswith(f"{error.file}:")
    return error


def check(path: Path, worker: Worker, line: int | None, element: str, fragments: tuple[str, ...]) -> None:
    error = error_of(path, worker, *fragments)
    assert error.file == str(path)
    if line is not None or element:
        assert (error.line, error.element) == (line, element), error


@pytest.mark.parametrize("case", bad_mjcf.CASES)
def test_mjcf(case, tmp_path, worker):
    text, line, element, fragments = bad_mjcf.CASES[case]
    path = tmp_path / "model.xml"
    path.write_text(text)
    check(path, worker, line, element, fragments)


@pytest.mark.parametrize("case", bad_urdf.CASES)
def test_urdf(case, tmp_path, worker):
    text, line, element, fragments = bad_urdf.CASES[case]
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    check(path, worker, line, element, fragments)


@pytest.mark.parametrize("language", ["mjcf", "urdf"])
@pytest.mark.parametrize("case", bad_assets.CASES)
def test_mesh(case, language, tmp_path, worker):
    name, data, fragments = bad_assets.CASES[case]
    (tmp_path / name).write_bytes(data)
    path = tmp_path / "model"
    path.write_text(
        MESH_IN_MJCF.format(name)
        if language == "mjcf"
        else bad_urdf.robot("\n", bad_urdf.link("a", bad_urdf.mesh(name)))
    )
    check(path, worker, 3, "mesh", fragments)


@pytest.mark.parametrize("case", [*bad_assets.TEXTURES, *bad_assets.HEIGHTS])
def test_texture_and_heights(case, tmp_path, worker):
    name, data, fragments = (bad_assets.TEXTURES | bad_assets.HEIGHTS)[case]
    (tmp_path / name).write_bytes(data)
    path = tmp_path / "model.xml"
    path.write_text((TEXTURE if case in bad_assets.TEXTURES else HEIGHTS).format(name))
    check(path, worker, 3, "texture" if case in bad_assets.TEXTURES else "hfield", fragments)


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"\xff\xfe<\0m\0", "0xff is not UTF-8"),
        (b"<mujoco>\n\xe9</mujoco>", "0xe9 is not UTF-8"),
        (b"<mujoco>\n\0</mujoco>", "zero byte"),
        (b"\x7fELF" + bytes(200), "zero byte"),
        (bytes(range(256)) * 40, "0x80 is not UTF-8"),
    ],
)  # fmt: skip
def test_not_text(data, fragment, tmp_path, worker):
    path = tmp_path / "model.xml"
    path.write_bytes(data)
    error_of(path, worker, fragment)


class TestKindsOfFiles:
    def test_missing(self, tmp_path, worker):
        error_of(tmp_path / "no.xml", worker, "No such file")

    def test_folder(self, tmp_path, worker):
        error_of(tmp_path, worker, "is a folder")

    def test_fifo(self, tmp_path, worker):
        os.mkfifo(tmp_path / "model.xml")
        error_of(tmp_path / "model.xml", worker, "is not a regular file")

    def test_device(self, worker):
        error_of(Path("/dev/zero"), worker, "is not a regular file")

    def test_fifo_as_mesh(self, tmp_path, worker):
        os.mkfifo(tmp_path / "a.stl")
        (tmp_path / "model.xml").write_text(MESH_IN_MJCF.format("a.stl"))
        check(tmp_path / "model.xml", worker, 3, "mesh", ("is not a regular file",))

    def test_folder_as_mesh(self, tmp_path, worker):
        (tmp_path / "a.stl").mkdir()
        (tmp_path / "model.xml").write_text(MESH_IN_MJCF.format("a.stl"))
        check(tmp_path / "model.xml", worker, 3, "mesh", ("is a folder",))

    def test_symlink_out(self, tmp_path, worker):
        (tmp_path / "secret.stl").write_bytes(bad_assets.stl())
        (tmp_path / "robot").mkdir()
        (tmp_path / "robot/a.stl").symlink_to("../secret.stl")
        (tmp_path / "robot/model.xml").write_text(MESH_IN_MJCF.format("a.stl"))
        check(tmp_path / "robot/model.xml", worker, 3, "mesh", ("leads out of the declared roots",))

    def test_symlinked_folder_out(self, tmp_path, worker):
        (tmp_path / "other").mkdir()
        (tmp_path / "other/a.stl").write_bytes(bad_assets.stl())
        (tmp_path / "robot").mkdir()
        (tmp_path / "robot/meshes").symlink_to("../other")
        (tmp_path / "robot/model.xml").write_text(MESH_IN_MJCF.format("meshes/a.stl"))
        check(tmp_path / "robot/model.xml", worker, 3, "mesh", ("leads out of the declared roots",))

    def test_symlink_to_itself(self, tmp_path, worker):
        (tmp_path / "a.stl").symlink_to("a.stl")
        (tmp_path / "model.xml").write_text(MESH_IN_MJCF.format("a.stl"))
        check(tmp_path / "model.xml", worker, 3, "mesh", ("'a.stl'",))

    def test_root_is_no_folder(self, tmp_path, worker):
        (tmp_path / "model.xml").write_text("<mujoco/>")
        with refused("is not a folder", error=ModelFileError):
            parse(tmp_path / "model.xml", [tmp_path / "no"], worker=worker)

    def test_too_large(self, tmp_path, worker):
        with open(tmp_path / "model.xml", "wb") as file:
            file.truncate(10**12)
        error_of(tmp_path / "model.xml", worker, "1000000000000 bytes", "at most")

    def test_too_large_as_mesh(self, tmp_path, worker):
        with open(tmp_path / "a.stl", "wb") as file:
            file.truncate(10**12)
        (tmp_path / "model.xml").write_text(MESH_IN_MJCF.format("a.stl"))
        check(tmp_path / "model.xml", worker, 3, "mesh", ("1000000000000 bytes",))


class TestFilesOfFiles:
    def write(self, folder: Path, **files: str) -> Path:
        for name, text in files.items():
            (folder / f"{name}.xml").write_text(text)
        return folder / "main.xml"

    def test_cycle_of_includes(self, tmp_path, worker):
        include = '<mujoco>\n<include file="{}.xml"/></mujoco>'
        main = self.write(tmp_path, main=include.format("b"), b=include.format("c"), c=include.format("b"))
        error = error_of(main, worker, "includes itself or is included twice")
        assert error.file.endswith("c.xml")

    def test_error_in_an_included_file(self, tmp_path, worker):
        main = self.write(tmp_path, main='<mujoco>\n<include file="b.xml"/></mujoco>',
                          b='<mujoco>\n\n<worldbody>\n<geom size="-1" name="g"/></worldbody></mujoco>')  # fmt: skip
        error = error_of(main, worker, "must be positive")
        assert (Path(error.file).name, error.line, error.element, error.name) == ("b.xml", 4, "geom", "g")

    @pytest.mark.parametrize(("geom", "reason"), [("geom", "must be positive"), ("goem", "unrecognized element")])
    def test_error_in_an_attached_file(self, geom, reason, tmp_path, worker):
        attached = f'<mujoco><worldbody>\n<body name="x">\n<{geom} size="-1"/></body></worldbody></mujoco>'
        main = self.write(tmp_path, main='<mujoco><asset>\n<model name="b" file="b.xml"/></asset><worldbody>\n\n'
                          '<attach model="b" body="x" prefix="p"/></worldbody></mujoco>', b=attached)  # fmt: skip
        error = error_of(main, worker, reason)
        assert (Path(error.file).name, error.line, error.element) == ("b.xml", 3, geom)

    def test_models_that_attach_ever_more(self, tmp_path, worker):
        """Ten files, each attaching the next ten times: ten thousand million bodies."""
        files = {}
        for k in range(10):
            attach = "".join(f'<attach model="m" body="x" prefix="p{i}"/>' for i in range(10))
            files[f"m{k}"] = (f'<mujoco><asset><model name="m" file="m{k + 1}.xml"/></asset><worldbody><body name="x">'
                              f"{attach}</body></worldbody></mujoco>")  # fmt: skip
        files["m10"] = '<mujoco><worldbody><body name="x"><geom size="1"/></body></worldbody></mujoco>'
        self.write(tmp_path, **files)
        error = error_of(tmp_path / "m0.xml", worker, "at most 500000 elements")
        assert error.element == "attach"

    def test_cycle_of_models(self, tmp_path, worker):
        model = '<mujoco><asset><model name="m" file="{}.xml"/></asset></mujoco>'
        main = self.write(tmp_path, main=model.format("b"), b=model.format("c"), c=model.format("b"))
        error_of(main, worker, "attaches itself")
