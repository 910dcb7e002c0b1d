"""Compiled objects of CPU kernels: what they are compiled for, that stale ones are not called, that all are known."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sharnir as sh
from sharnir import scenes
from sharnir.control import kinematics
from sharnir.dynamics import evaluator
from sharnir.dynamics.evaluator import Dynamics
from sharnir.exact import system
from sharnir.impulse import engine
from sharnir.kernels import objects, target
from sharnir.kernels.build import Build
from sharnir.kernels.catalogue import PLACES, all_kernels
from sharnir.kernels.objects import Kernel


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    from sharnir.child_process import child_environment

    surroundings = {**child_environment(), **variables}
    return subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=False)


def test_an_unknown_target_is_refused_in_a_sentence():
    done = run_python("import sharnir, sharnir.kernels.types", SHARNIR_TARGET="pentium")
    assert done.stderr.splitlines()[-1].endswith(
        "SHARNIR_TARGET: unknown target: given 'pentium'; allowed: 'x86-64-v4', 'x86-64-v3', 'native'"
    )


@pytest.mark.parametrize(
    ("system", "machine", "flags", "expected"),
    [
        ("Linux", "x86_64", set().union(*target.LEVELS.values()), "x86-64-v4"),
        ("Linux", "x86_64", target.LEVELS["x86-64-v3"], "x86-64-v3"),
        ("Linux", "x86_64", target.LEVELS["x86-64-v4"], "native"),  # AVX-512 without what comes before it
        ("Linux", "x86_64", set(), "native"),
        ("Linux", "aarch64", set().union(*target.LEVELS.values()), "native"),
        ("Darwin", "x86_64", set().union(*target.LEVELS.values()), "native"),
    ],
)
def test_the_target_is_the_best_level_of_the_processor(monkeypatch, system, machine, flags, expected):
    monkeypatch.setattr(target.platform, "system", lambda: system)
    monkeypatch.setattr(target.platform, "machine", lambda: machine)
    monkeypatch.setattr(target, "processor_flags", lambda: frozenset(flags))
    assert target.default_target.__wrapped__() == expected


def test_every_source_of_kernels_and_every_flag_is_in_the_digest(monkeypatch, tmp_path):
    for name in ("impulse/step.py", "viewer/page.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(objects, "PACKAGE", tmp_path)
    first = objects.digest.__wrapped__()
    (tmp_path / "viewer" / "page.py").write_text("2")
    assert objects.digest.__wrapped__() == first
    (tmp_path / "impulse" / "step.py").write_text("2")
    second = objects.digest.__wrapped__()
    monkeypatch.setattr(objects, "CPU_FLAGS", "-target-cpu x86-64-v2")
    assert len({first, second, objects.digest.__wrapped__()}) == 3


def test_an_object_of_another_digest_is_not_found(monkeypatch):
    sh.Simulation(scenes.make("pendulum"))
    assert objects.find_object(engine.STEPS) is not None
    monkeypatch.setattr(objects, "digest", lambda: "0" * 16)
    assert objects.find_object(engine.STEPS) is None
    assert objects.function_of(engine.STEPS) is None


def test_a_half_written_entry_is_no_object(monkeypatch, tmp_path):
    monkeypatch.setattr(objects, "folders", lambda: (tmp_path,))
    (tmp_path / engine.STEPS.entry).write_text('["missing.o"')
    assert objects.find_object(engine.STEPS) is None
    (tmp_path / engine.STEPS.entry).write_text('["missing.o", "symbol", ""]')
    assert objects.find_object(engine.STEPS) is None


def test_a_damaged_object_is_compiled_again_and_not_called(monkeypatch, tmp_path):
    Dynamics(sh.compile(scenes.make("pendulum"))).crba()
    kernel = evaluator.TREE_KERNELS["crba"]
    monkeypatch.setattr(objects, "folders", lambda: (tmp_path,))
    Build(kernel, "cpu", objects.BLOCK_DIM).compile()
    path, _ = objects.find_object(kernel)
    whole = path.read_bytes()
    for damaged in (whole[:1000], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        assert objects.find_object(kernel) is None
        Build(kernel, "cpu", objects.BLOCK_DIM).compile()
        assert path.read_bytes() == whole and objects.find_object(kernel) is not None


def test_the_catalogue_has_every_kernel_that_is_called():
    modules = (engine, evaluator, system, kinematics)
    called = {x for module in modules for x in vars(module).values() if isinstance(x, Kernel)}
    called |= {*evaluator.TREE_KERNELS.values(), *system.MOTION_KERNELS.values()}
    called |= {Kernel("sharnir.collision.queries.distance", "pair_contacts_kernel")}
    called |= {Kernel("sharnir.collision.queries.raycast", "ray_cast_kernel")}
    assert called - {engine.WRENCHES} == set(all_kernels())  # wrenches_kernel is a GPU's
    assert len(PLACES) == len({kernel.module for kernel in all_kernels()})


def test_a_step_imports_no_source_of_kernels_once_they_are_compiled():
    code = """
import sys
import sharnir as sh
from sharnir import scenes
sh.Simulation(scenes.make("humanoid")).step()
print([m for m in ("step.cpu", "step.step", "rows.assembly", "solve.pgs") if f"sharnir.impulse.{m}" in sys.modules])
"""
    run_python(code)
    assert run_python(code).stdout.strip() == "[]"
