"""Take the pictures of this folder anew: needs chromium and pillow. Names of scenes may be given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from PIL import Image

from sharnir.viewer import screenshot

HERE = Path(__file__).parent
SMALL: dict[str, Any] = {"size": (560, 400), "panel": False}
PICTURES: dict[str, dict[str, Any]] = {
    "grasp_arm": {"size": (1000, 640), "seconds": 0.5, "dt": 0.005, "show": ("Contacts",)},
    "humanoid": {"size": (1000, 640), "seconds": 0.5, "dt": 0.005, "show": ("Contacts", "Joints", "Balance")},
    "pile": {**SMALL, "seconds": 1.0, "show": ("Contacts",)},
    "mixed": {**SMALL, "seconds": 0.4, "dt": 0.005},
    "balls": {**SMALL, "seconds": 0.5},
    "five_link_chain": {**SMALL, "seconds": 0.7},
    "peaucellier": {**SMALL, "seconds": 0.2, "show": ("Joints",)},
    "double_wishbone": {**SMALL, "seconds": 0.5},
    "trailer": {**SMALL, "seconds": 2.0},
    "trailer_robot": {"size": (1000, 640), "seconds": 39.0, "dt": 0.005, "view": "camera beside"},
    "humanoid_valve": {"size": (1000, 640), "seconds": 9.0, "dt": 0.005, "panel": False},
    "humanoid_stone": {"size": (1000, 640), "seconds": 9.0, "dt": 0.005, "panel": False},
    "manipulator_grasp": {"size": (1000, 640), "seconds": 7.5, "dt": 0.005, "panel": False},
    "gripper": {**SMALL, "seconds": 0.3, "show": ("Joints",)},
    "andrews": {**SMALL, "seconds": 0.01, "dt": 1e-4},
    "box_on_slope": {**SMALL, "seconds": 0.2, "show": ("Contacts", "Balance")},
}


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        path = HERE / f"{name}.png"
        screenshot(name, path, **PICTURES[name])
        with Image.open(path) as image:
            image.convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main()
