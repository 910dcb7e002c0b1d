"""The house: sizes of files and folders, what CONTRIBUTING and architecture.md say of them, files of one step."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sharnir"
BASE_MODULES = {"__init__", "checks", "child_process", "enums", "errors", "moved", "precision", "progress"}
BASE_MODULES |= {"regular_files", "rotations", "__main__"}
MOST_LINES, MOST_MODULES, MOST_IN_SOLVE = 400, 18, 16


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports_of(module: str) -> set[str]:
    """Modules of the package that a module imports when it is imported."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sharnir"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".replace(".", "/")
                is_module = (ROOT / f"{inner}.py").exists() or (ROOT / inner).is_dir()
                found.add(inner.replace("/", ".") if is_module else str(node.module))
    return found


def test_files_have_at_most_400_lines() -> None:
    long = {str(f.relative_to(ROOT)): n for f in python_files() if (n := f.read_text().count("\n")) > MOST_LINES}
    assert not long


def test_folders_have_at_most_18_modules() -> None:
    folders = [d for d in PACKAGE.rglob("*") if d.is_dir() and list(d.glob("*.py"))]
    sizes = {str(d.relative_to(ROOT)): len([f for f in d.glob("*.py") if f.stem != "__init__"]) for d in folders}
    assert not {d: n for d, n in sizes.items() if n > MOST_MODULES}
    assert sizes["sharnir/impulse/solve"] <= MOST_IN_SOLVE  # room for two more


def test_nothing_lies_loose_at_the_top_but_base_types() -> None:
    assert {f.stem for f in PACKAGE.glob("*.py")} == BASE_MODULES


def test_contributing_names_every_package_and_base_module() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    layout = text[text.index("## Layout") : text.index("## How we work")]
    named = set(re.findall(r"sharnir/(\w+)/", layout))
    assert named == {d.name for d in PACKAGE.iterdir() if (d / "__init__.py").exists()}
    assert set(re.findall(r"sharnir/(\w+)\.py", layout)) == BASE_MODULES


def test_architecture_shows_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [name for layer in contracts[0]["layers"] for name in layer.split(" | ")]
    page = (ROOT / "docs/architecture.md").read_text()
    shown = re.findall(r"\w+", page[page.index("    cli  report") : page.index("| folder |")])
    expected = [name for name in layers if name not in ("rotations", "progress", "precision", "moved")]
    assert shown == expected


def test_a_step_is_told_by_twelve_files_that_import_downwards() -> None:
    """The files that architecture.md names beside the step exist; no phase imports the step or a later one."""
    page = (ROOT / "docs/architecture.md").read_text()
    step = page[page.index("    begin_step") : page.index("On a GPU the stages")]
    named = set(re.findall(r"[\w/]+\.py", step)) - {"step.py"}
    assert len(named) <= 12
    engine = PACKAGE / "impulse"
    assert all(any((folder / f).exists() for folder in (engine, engine / "step", PACKAGE)) for f in named)
    for phase in (
        "free_motion",
        "assembly",
        "velocity_phase",
        "iteration_errors",
        "residuals",
        "commit",
        "position_phase",
    ):
        assert "sharnir.impulse.step.step" not in imports_of(f"sharnir.impulse.step.{phase}"), phase


@pytest.mark.parametrize("name", ["slots", "data", "row_kinds", "tolerances"])
def test_data_of_the_engine_knows_nothing_of_steps(name: str) -> None:
    assert not any(
        m.startswith(("sharnir.impulse.step", "sharnir.impulse.solve")) for m in imports_of(f"sharnir.impulse.{name}")
    )
