"""The wheel: complete, usable far from the repository, at once where it has kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest

from sharnir.kernels.target import default_target

ROOT = Path(__file__).parents[2]
USE = """
import sharnir
from sharnir import dynamics, scenes
model = sharnir.compile(scenes.make("andrews"))
dynamics.aba(model, model.q0, model.v0, model.v0)
print(sharnir.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    words = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, "-m", *words], check=True, env={**os.environ, "SHARNIR_NO_KERNELS": "1"})
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_without_kernels_is_pure_python_and_complete(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    ours = {str(p.relative_to(ROOT)) for kind in ("py", "js", "toml") for p in (ROOT / "sharnir").rglob(f"*.{kind}")}
    ours |= {"sharnir/py.typed"}
    assert ours <= set(names)
    assert not [n for n in names if n.startswith(("tests/", "examples/"))]
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_wheel_runs_outside_the_repository(wheel, tmp_path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(site))


@pytest.mark.slow
def test_a_wheel_with_kernels_steps_a_robot_in_an_empty_environment_without_compiling(tmp_path):
    """As `python -m build` makes it: both levels of x86-64; about four minutes."""
    build, user = tmp_path / "build", tmp_path / "user"
    for folder in (build, user):
        venv.create(folder, with_pip=True)
    run = partial(subprocess.run, check=True, cwd=tmp_path, capture_output=True, text=True)
    run([build / "bin" / "python", "-m", "pip", "install", "--quiet", "build"])
    run([build / "bin" / "python", "-m", "build", "--wheel", "--outdir", tmp_path / "out", ROOT])
    (wheel,) = (tmp_path / "out").glob("*.whl")
    assert wheel.name.endswith("manylinux_2_28_x86_64.whl") and wheel.stat().st_size < 15e6
    run([user / "bin" / "python", "-m", "pip", "install", "--quiet", wheel])
    for target in default_target(), "x86-64-v3":
        empty = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / target), "SHARNIR_TARGET": target}
        done = run([user / "bin" / "sharnir", "run", "humanoid", "--duration", "0.1"], env=empty)
        assert "humanoid" in done.stdout and "compiling" not in done.stderr
        assert not list((tmp_path / target).rglob("*.o"))
