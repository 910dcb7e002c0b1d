"""The wheel: pure Python, complete, and usable far from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
    subprocess.run([sys.executable, "-m", *words], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_is_pure_python_and_complete(wheel):
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
