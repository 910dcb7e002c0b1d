"""Meshes that MuJoCo does not read, converted by trimesh."""

from __future__ import annotations

import io
from pathlib import PurePosixPath

from sharnir.errors import ModelError, fail


MOST_FACES = 200_000  # that MuJoCo reads from an STL file


def needs_conversion(suffix: str, content: bytes) -> bool:
    """Whether a file MuJoCo can read by its suffix is one it refuses: STL as text, or with too many faces."""
    if suffix != ".stl" or len(content) < 84:
        return False
    faces = int.from_bytes(content[80:84], "little")
    return len(content) != 84 + 50 * faces or faces > MOST_FACES


def stl_bytes(name: str, content: bytes) -> bytes:
    """A mesh file of another format (DAE, GLB, PLY, …) as binary STL, all its parts in one."""
    try:
        import trimesh
    except ImportError:
        raise fail(f"mesh {name!r}", "needs trimesh", "no trimesh", "pip install 'sharnir[meshes]'") from None
    suffix = PurePosixPath(name).suffix.lower().lstrip(".")
    try:
        mesh = trimesh.load(io.BytesIO(content), file_type=suffix, force="mesh")
        if len(mesh.faces) > MOST_FACES:
            mesh = mesh.convex_hull
        return bytes(mesh.export(file_type="stl"))
    except Exception as error:  # trimesh and its readers raise whatever they meet
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"mesh {name!r}: cannot be read: {problem}; allowed: STL, OBJ, DAE, GLB, PLY") from None
