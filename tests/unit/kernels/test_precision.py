"""Single precision: how near it is to double, and how it is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_trees import TYPES, Array, random_scene, random_state, relative

from sharnir import Fixed, ModelError, compile, dynamics, get_precision, set_precision

HERE = Path(__file__).parent


def results() -> dict[str, Array]:
    """Dynamics of a tree of 30 bodies, the same in every process, in the precision of this one."""
    rng = np.random.default_rng(7)
    movable = tuple(t for t in TYPES if t is not Fixed)
    model = compile(random_scene(rng, 30, root_types=movable, reverse=0.3, armature=True))
    q, v, a, tau, f_ext = random_state(rng, model)
    return {
        "aba": dynamics.aba(model, q, v, tau, f_ext),
        "rnea": dynamics.rnea(model, q, v, a, f_ext),
        "crba": dynamics.crba(model, q),
    }


def run(code: str, *arguments: str, precision: str = "double") -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, with the modules of the tests at hand."""
    paths = [str(HERE), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"SHARNIR_PRECISION": precision, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    path = tmp_path_factory.mktemp("single") / "results.npz"
    code = "import sys, numpy, test_precision; numpy.savez(sys.argv[1], **test_precision.results())"
    done = run(code, str(path), precision="single")
    assert done.returncode == 0, done.stderr
    with np.load(path) as file:
        return dict(file)


# Most: ten times the worst of 30 such trees (1.5e-5, 1.1e-6, 6.9e-7; what accelerations lose more is cond M).
# Least: even the rounding of the inputs is more, so less would mean that it was double all the same.
@pytest.mark.parametrize(("name", "most"), [("aba", 1.5e-4), ("rnea", 1.1e-5), ("crba", 7e-6)])
def test_single_is_near_double(single: dict[str, Array], name: str, most: float) -> None:
    assert get_precision() == "double"
    assert 1e-8 < relative(single[name], results()[name]) < most


def test_precision_is_fixed_once_kernels_are_built() -> None:
    results()
    with pytest.raises(ModelError, match=r"kernels were already built: given 'single'.*uses 'double'"):
        set_precision("single")
    set_precision("double")  # what is in use may be asked for again
    assert get_precision() == "double"


def test_precision_can_be_chosen_before_kernels_are_built() -> None:
    done = run(
        "import sharnir; sharnir.set_precision('single'); from sharnir.kernels.types import real; "
        "print(real.__name__, sharnir.get_precision())"
    )
    assert done.stdout.split() == ["float32", "single"], done.stderr


def test_unknown_precision_is_refused() -> None:
    with pytest.raises(ModelError, match="unknown precision: given 'half'; allowed: 'double' or 'single'"):
        set_precision("half")


def test_unknown_precision_in_environment_is_refused() -> None:
    done = run("import sharnir; sharnir.dynamics", precision="half")
    assert done.returncode != 0
    assert "ModelError: SHARNIR_PRECISION: unknown precision: given 'half'" in done.stderr
