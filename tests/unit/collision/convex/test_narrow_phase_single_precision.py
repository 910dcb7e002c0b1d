"""Single precision, in a process of its own, against double precision."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from narrow_pairs import touch_all
from narrow_reference import random_hulls, random_shapes

from sharnir.enums import ShapeKind

KINDS = [ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HULL, ShapeKind.HALF_SPACE]
N, MARGIN = 300, 0.05


def least_gaps() -> np.ndarray:
    """[pair of kinds, pair] m, and the points finite."""
    out = []
    for i, a in enumerate(KINDS):
        for b in KINDS[i:]:
            rng = np.random.default_rng([a, b])
            hulls = random_hulls(rng)
            A, B = random_shapes(rng, a, N), random_shapes(rng, b, N)
            points = touch_all(hulls, A, B, MARGIN)
            assert np.all(np.isfinite(points.point)) and points.count.max() <= 4
            out.append(points.least())
    return np.array(out)


@pytest.mark.slow
def test_single_precision_agrees_with_double(tmp_path: Path) -> None:
    """To 3e-4 m of shapes of 1 m: cylinders keep the points of a rim, and polytopes end, at 1e-4 of the size."""
    if os.environ.get("SHARNIR_PRECISION") == "single":
        pytest.skip("there is no double precision in this process")
    file = tmp_path / "gaps.npy"
    code = f"import numpy as np, test_narrow_phase_single_precision as t; np.save({str(file)!r}, t.least_gaps())"
    here = Path(__file__).parent
    tests = os.pathsep.join([str(here.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "SHARNIR_PRECISION": "single", "PYTHONPATH": tests}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=here, env=environment)
    single, double = np.load(file), least_gaps()
    near = np.isfinite(single) & np.isfinite(double)
    assert near.sum() > 2000
    assert np.all(np.minimum(single, double)[~near] > MARGIN - 2e-4)
    assert np.abs(single[near] - double[near]).max() < 3e-4
