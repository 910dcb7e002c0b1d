"""Asset files before MuJoCo reads them: sizes that fit the header, finite vertices, indices in range.

Runs in the child process. COLLADA, glTF and text STL are turned into MuJoCo's own MSH by trimesh.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import numpy as np

from sharnir.io.parsing.files import FileProblemError
from sharnir.io.parsing.size_limits import MAX_FACES, MAX_HEIGHTS, MAX_PIXELS

FINITE = "finite vertex coordinates"
PNG = b"\x89PNG\r\n\x1a\n"
STL_FACES = 200_000  # MuJoCo reads no more from a binary STL


def checked(kind: str, data: bytes, msh: bool) -> bytes:
    """The bytes MuJoCo is to see of an asset of this kind, or a FileProblemError. msh: turn it into an MSH file."""
    if not data:
        raise FileProblemError("is empty", f"a file of type {kind}")
    if kind in CHECKS and not (kind == "stl" and is_text_stl(data)):
        CHECKS[kind](data)
    return _converted(kind, data) if msh and kind != "msh" else data


def is_text_stl(data: bytes) -> bool:
    """An STL file written as text: begins with `solid` and does not have the size its count of faces asks for."""
    fits = len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little")
    return data.lstrip()[:5].lower() == b"solid" and not fits


def _check_stl(data: bytes) -> None:
    if len(data) < 84:
        raise FileProblemError(
            f"is cut off: a binary STL has at least 84 bytes, this one {len(data)}", "a whole STL file"
        )
    faces = int.from_bytes(data[80:84], "little")
    if len(data) != 84 + 50 * faces:
        raise FileProblemError(
            f"header says {faces} triangles, {84 + 50 * faces} bytes, but the file has {len(data)} bytes",
            "as many bytes as the header says",
        )
    if not faces:
        raise FileProblemError("has 0 triangles", "a mesh with triangles")
    rows = np.frombuffer(data, np.uint8, 50 * faces, 84).reshape(faces, 50)
    _check_finite(rows[:, 12:48].copy().view("<f4").reshape(-1, 3), np.arange(3 * faces).reshape(-1, 3))


def _check_finite(vertices: Any, faces: Any) -> None:
    """Vertices [n, 3] finite, faces [m, 3] among them."""
    if len(vertices) < 3:
        raise FileProblemError(f"has {len(vertices)} vertices", "at least 4 vertices that are not in one plane")
    wrong = np.nonzero(~np.isfinite(vertices).all(axis=1))[0]
    if len(wrong):
        raise FileProblemError(f"vertex {wrong[0]} is not finite", FINITE)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        row = int(np.nonzero(((faces < 0) | (faces >= len(vertices))).any(axis=1))[0][0])
        raise FileProblemError(
            f"face {row} refers to vertex {faces[row].max()} of {len(vertices)}", f"indices below {len(vertices)}"
        )
    if len(faces) > MAX_FACES:
        raise FileProblemError(f"has {len(faces)} faces", f"at most {MAX_FACES} faces")


def _check_obj(data: bytes) -> None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileProblemError("is not text: a binary file", "a Wavefront OBJ file") from None
    lines = text.splitlines()
    vertices = sum(line.startswith(("v ", "v\t")) for line in lines)
    if not vertices:
        raise FileProblemError("has no vertices", "a Wavefront OBJ file with v and f lines")
    seen = 0
    for row, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            seen += 1
            if len(words) < 4 or not all(_is_finite(w) for w in words[1:4]):
                raise FileProblemError(f"line {row}: vertex {line[:60].strip()!r} is not three finite numbers", FINITE)
        elif words[0] == "f":
            for word in words[1:]:
                index = _index(word)
                if index is None or not (0 < index <= vertices or 0 < -index <= seen):
                    raise FileProblemError(
                        f"line {row}: face refers to vertex {word[:20]!r} of {vertices}", f"1 to {vertices}"
                    )


def _is_finite(word: str) -> bool:
    try:
        return bool(np.isfinite(np.float32(word)))
    except (ValueError, OverflowError):
        return False


def _index(word: str) -> int | None:
    try:
        return int(word.split("/", maxsplit=1)[0])
    except ValueError:
        return None


def _check_msh(data: bytes) -> None:
    triangles_of(data)


def triangles_of(data: bytes) -> tuple[Any, Any]:
    """Vertices [n, 3] and triangles [m, 3] of an MSH file, once it holds what its header says."""
    if len(data) < 16:
        raise FileProblemError(f"is cut off: {len(data)} bytes", "a whole MSH file")
    n_vertices, n_normals, n_coordinates, n_faces = counts = struct.unpack("<4i", data[:16])
    size = 16 + 12 * (n_vertices + n_normals + n_faces) + 8 * n_coordinates
    if min(counts) < 0 or len(data) != size:
        raise FileProblemError(
            f"header says {size} bytes, but the file has {len(data)}", "as many bytes as the header says"
        )
    vertices = np.frombuffer(data, "<f4", 3 * n_vertices, 16).reshape(-1, 3)
    faces = np.frombuffer(data, "<i4", 3 * n_faces, size - 12 * n_faces).reshape(-1, 3)
    _check_finite(vertices, faces)
    return vertices, faces


def _check_png(data: bytes) -> None:
    if data[:8] != PNG or data[12:16] != b"IHDR" or len(data) < 33:
        raise FileProblemError("is not a PNG image", "a PNG file")
    width, height = struct.unpack(">2I", data[16:24])
    if not 0 < width * height <= MAX_PIXELS:
        raise FileProblemError(f"has {width} x {height} pixels", f"1 to {MAX_PIXELS} pixels")


def _check_hfield(data: bytes) -> None:
    if len(data) < 8:
        raise FileProblemError(f"is cut off: {len(data)} bytes", "a whole height field file")
    rows, columns = struct.unpack("<2i", data[:8])
    if not (rows > 0 and columns > 0 and rows * columns <= MAX_HEIGHTS):
        raise FileProblemError(f"has {rows} x {columns} heights", f"1 to {MAX_HEIGHTS} heights")
    if len(data) != 8 + 4 * rows * columns:
        raise FileProblemError(
            f"says {rows} x {columns} heights, but has {len(data)} bytes", f"{8 + 4 * rows * columns} bytes"
        )
    if not np.isfinite(np.frombuffer(data, "<f4", rows * columns, 8)).all():
        raise FileProblemError("holds a height that is not finite", "finite heights")


CHECKS = {"stl": _check_stl, "obj": _check_obj, "msh": _check_msh, "png": _check_png, "hfield": _check_hfield}


def _converted(kind: str, data: bytes) -> bytes:
    """A mesh of trimesh's formats as MSH: all its parts in one, in metres."""
    if kind == "dae":
        _check_collada(data)
    try:
        import trimesh
    except ImportError:
        raise FileProblemError(
            f"{kind} needs trimesh", "pip install 'sharnir[meshes]', or a mesh as STL or OBJ"
        ) from None
    try:
        scene = trimesh.load_scene(BytesIO(data), file_type=kind, resolver=None)
        if kind == "dae" and scene.units not in (None, "meter", "meters", "m"):
            scene = scene.convert_units("meters")
        mesh = scene.to_mesh()
        vertices, faces = np.asarray(mesh.vertices, "<f4"), np.asarray(mesh.faces, "<i4")
    except ImportError as error:
        raise FileProblemError(f"{kind} needs {error.name}", "pip install 'sharnir[meshes]', or STL or OBJ") from None
    except MemoryError:
        raise
    except Exception as error:
        raise FileProblemError(
            f"trimesh cannot read it: {type(error).__name__}: {error}", f"a whole {kind} file"
        ) from None
    if not len(faces):
        raise FileProblemError("has no triangles", "a mesh with faces")
    _check_finite(vertices, faces)
    return struct.pack("<4i", len(vertices), 0, 0, len(faces)) + vertices.tobytes() + faces.tobytes()


def _check_collada(data: bytes) -> None:
    """COLLADA is XML: the same rules hold, and a zip archive of it is not taken."""
    from sharnir.errors import ModelFileError
    from sharnir.io.parsing.xml_tree import read_tree

    try:
        read_tree(data, "")
    except ModelFileError as error:
        where = f"line {error.line}: " if error.line else ""
        raise FileProblemError(where + error.reason, error.allowed) from None
