"""Old names of modules: they give the new ones, with a warning that names these, once; and find nothing else."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import sharnir
from sharnir.moved import MOVED, PACKAGES, new_place

ROOT = Path(sharnir.__file__).parent
LATER = {"benchmarks.mujoco_twin"}  # needs what is not always installed


def fresh(code: str) -> list[str]:
    """Lines that a new process writes, warnings included."""
    words = [sys.executable, "-P", "-W", "always::DeprecationWarning", "-c", code]
    done = subprocess.run(words, env={"PYTHONPATH": str(ROOT.parent)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in (done.stdout + done.stderr).splitlines() if line]


def place(name: str) -> Path:
    return ROOT.joinpath(*name.split("."))


@pytest.mark.parametrize("old", MOVED)
def test_the_table_is_true(old):
    new = place(MOVED[old])
    assert new.with_suffix(".py").exists() or (new / "__init__.py").exists()
    assert not place(old).with_suffix(".py").exists() and not (place(old) / "__init__.py").exists()


@pytest.mark.parametrize("old", [old for old in MOVED if old not in LATER])
def test_the_old_name_gives_the_new_module_and_warns(old):
    for name in [name for name in sys.modules if new_place(name)]:
        del sys.modules[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = importlib.import_module(f"sharnir.{old}")
    new = importlib.import_module(f"sharnir.{MOVED[old]}")
    said = [str(w.message) for w in caught if w.category is DeprecationWarning]
    assert f"sharnir.{old} is now sharnir.{MOVED[old]}" in said
    if f"sharnir.{old}" in PACKAGES:
        assert found is not new and all(getattr(found, name) is value for name, value in public(new).items())
    else:
        assert found is new and sys.modules[new.__name__] is new and new.__spec__.name == new.__name__


def public(module) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


@pytest.mark.parametrize(
    "line",
    [
        "import sharnir.switching; sharnir.switching.with_solver",
        "from sharnir.switching import with_solver",
        "from sharnir import switching; switching.with_solver",
        "import sharnir; sharnir.switching.with_solver",
    ],
)
def test_every_way_to_import_warns_once_where_it_is_imported(line):
    again = "import sharnir.switching\nfrom sharnir.switching import with_solver\nprint(with_solver.__module__)"
    told = fresh(f"{line}\n{again}")
    assert told[0] == "sharnir.simulation.switch_solver"
    assert [x for x in told if "DeprecationWarning" in x] == [
        "<string>:1: DeprecationWarning: sharnir.switching is now sharnir.simulation.switch_solver"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "from sharnir.observe.support import support_polygon as x",
        "from sharnir.observe import support; x = support.support_polygon",
        "import sharnir.observe.support; x = sharnir.observe.support.support_polygon",
    ],
)
def test_modules_of_old_packages_are_the_new_ones(line):
    told = fresh(f"{line}\nimport sharnir\nprint(x is sharnir.support_polygon)")
    assert told[0] == "True"
    warned = [x.partition("DeprecationWarning: ")[2] for x in told if "DeprecationWarning" in x]
    assert warned == [
        "sharnir.observe is now sharnir.sensors",
        "sharnir.observe.support is now sharnir.sensors.support_polygon",
    ]


def test_no_second_copy_is_found_in_an_old_package():
    told = fresh(
        "import sharnir.observe.sensors as a, sharnir.sensors.sensors as b\n"
        "import sharnir.importing.convert.shapes as c, sharnir.io.convert.shapes as d\nprint(a is b, c is d)"
    )
    assert told[0] == "True True"
    assert any("sharnir.importing.convert.shapes is now sharnir.io.convert.shapes" in x for x in told)


def test_what_never_was_is_not_found():
    for name in ("sharnir.nothing", "sharnir.observe.nothing", "sharnir.switching.nothing", "sharnir.access"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module(name)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(sharnir, "nothing")  # noqa: B009


def test_the_package_itself_uses_no_old_names():
    lines = (
        "import sharnir, sharnir.viewer, sharnir.cli.main, sharnir.simulation.simulation, sharnir.report, sharnir.io\n"
        "import sharnir.recording.read.recording, sharnir.scenes.demonstrators, sharnir.benchmarks.runners"
    )
    assert not [x for x in fresh(lines) if " is now sharnir." in x]
