"""Hard limits of whoever starts us (`ulimit -v`, `-t`, …) are kept by the processes we start, and stop nothing."""

from __future__ import annotations

import math
import resource
import subprocess
import sys

import bad_models
import pytest

from sharnir.io.parsing import parser_process

LOAD = """
import resource, sys
import sharnir.io.parsing.parse as parse
from sharnir.io.seen_meshes import SeenMeshes
kind, limit = getattr(resource, sys.argv[2]), int(sys.argv[3])
resource.setrlimit(kind, (limit, limit))
model = parse.parse(sys.argv[1]).model
print(model.nbody)
with SeenMeshes([sys.argv[1].rpartition("/")[0]]) as meshes:
    print(len(meshes.surface("part.stl")[0]))
"""
LIMITS = {
    "RLIMIT_AS": 3 * 2**30, "RLIMIT_CPU": 60, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 64,
    "RLIMIT_DATA": 2 * 2**30,
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_hard_limit_below_ours_does_not_stop_loading(tmp_path, name):
    (tmp_path / "robot.urdf").write_text(bad_models.ROBOT)
    (tmp_path / "part.stl").write_bytes(bad_models.tetrahedron())
    hard = resource.getrlimit(getattr(resource, name))[1]
    limit = LIMITS[name] if hard == resource.RLIM_INFINITY else min(hard, LIMITS[name])
    words = [sys.executable, "-P", "-c", LOAD, str(tmp_path / "robot.urdf"), name, str(limit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["3", "4"] or done.stdout.split() == ["3", "12"], done.stderr


def test_a_hard_limit_that_is_too_small_for_a_model_is_one_sentence(tmp_path):
    texture = '<texture name="t" type="2d" builtin="flat" width="8192" height="8192"/>'
    (tmp_path / "robot.xml").write_text(f"<mujoco><asset>{texture}</asset></mujoco>")
    words = [sys.executable, "-P", "-c", LOAD, str(tmp_path / "robot.xml"), "RLIMIT_AS", str(500 * 2**20)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "ModelFileError" in done.stderr.splitlines()[-1] and "to compile; allowed" in done.stderr.splitlines()[-1]


class Kernel:
    """Limits as the kernel keeps them for who is not root: a hard one never rises. Infinity is −1, as there."""

    def __init__(self, hard: int) -> None:
        self.limits: dict[int, tuple[int, int]] = {}
        self.hard = hard

    def __getattr__(self, name: str):
        return getattr(resource, name)

    def getrlimit(self, kind: int) -> tuple[int, int]:
        return self.limits.get(kind, (self.hard, self.hard))

    def setrlimit(self, kind: int, limit: tuple[int, int]) -> None:
        soft, hard = (math.inf if x == resource.RLIM_INFINITY else x for x in limit)
        present = self.getrlimit(kind)[1]
        if soft > hard or hard > (math.inf if present == resource.RLIM_INFINITY else present):
            raise ValueError("not allowed to raise maximum limit")
        self.limits[kind] = limit


@pytest.mark.parametrize("hard", [resource.RLIM_INFINITY, 2**40, 2**30, 100])
def test_limits_of_a_child_stay_below_hard_ones(monkeypatch, hard):
    """Twice, as a child is asked more than once; root may raise hard limits, so the kernel itself would not tell."""
    kernel = Kernel(hard)
    monkeypatch.setattr(parser_process, "resource", kernel)
    for memory in (2**31, 2**32):
        parser_process.limit_resources(memory, 60.0)
        most = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        assert kernel.limits[resource.RLIMIT_AS] == (most, hard)
        assert 0 < kernel.limits[resource.RLIMIT_CPU][0] <= (math.inf if hard < 0 else hard)
    with parser_process.no_files():
        assert kernel.limits[resource.RLIMIT_NOFILE][0] == 0
    assert kernel.limits[resource.RLIMIT_NOFILE] == (hard, hard)
