"""Files of robots, and small models written for a test, as MuJoCo parses them."""

from __future__ import annotations

import pytest

from sharnir.benchmarks.robot_files import Outcome, mjcf_files, outcome
from sharnir.io import Parsed
from sharnir.io.parsing.parse import parse

FILES = [robot for robot in mjcf_files() if "assets/build_fruitfly" not in robot.name]


def parsed(tmp_path, text: str, suffix: str = "xml") -> Parsed:
    file = tmp_path / f"robot.{suffix}"
    file.write_text(text)
    return parse(file)


def found(robot) -> Outcome:
    out = outcome(robot)
    if not out.loaded or out.parsed.model.nv == 0:
        pytest.skip(out.reason or "nothing moves")
    return out
