"""A small robot with meshes that touch and meshes that are seen, for tests of what may lie around it."""

from __future__ import annotations

import struct

import numpy as np

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "<f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], "<i4")
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ROBOT = f"""<robot name="r"><link name="base"/><link name="arm">{INERTIAL}
  <visual><geometry><mesh filename="part.glb"/></geometry></visual>
  <collision><geometry><mesh filename="part.stl"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>
"""


def robot(seen: str) -> str:
    """The robot with another file of the mesh that is seen."""
    return ROBOT.replace("part.glb", seen)


def tetrahedron(kind: str = "stl") -> bytes:
    """A mesh of four triangles, as binary STL or glTF."""
    if kind == "stl":
        rows = b"".join(struct.pack("<12fH", 0, 0, 0, *CORNERS[f].ravel(), 0) for f in FACES)
        return bytes(80) + len(FACES).to_bytes(4, "little") + rows
    import trimesh

    return trimesh.Trimesh(CORNERS, FACES, process=False).export(file_type=kind)
