"""Asset files that are refused: name → (file name, bytes, fragments of the message)."""

from __future__ import annotations

import struct
import zlib

import numpy as np

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)


def stl(vertices: np.ndarray = TETRAHEDRON, says: int | None = None) -> bytes:
    """A binary STL; says: the number of faces its header claims."""
    rows = [struct.pack("<12fH", 0, 0, 0, *vertices[face].ravel(), 0) for face in FACES]
    return bytes(80) + struct.pack("<I", len(rows) if says is None else says) + b"".join(rows)


def msh(vertices: np.ndarray = TETRAHEDRON, faces: np.ndarray = FACES, says: tuple[int, ...] | None = None) -> bytes:
    counts = says or (len(vertices), 0, 0, len(faces))
    return struct.pack("<4i", *counts) + vertices.tobytes() + faces.tobytes()


def obj(vertex: str = "v 0 0 1", face: str = "f 2 3 4") -> bytes:
    return f"v 0 0 0\nv 1 0 0\nv 0 1 0\n{vertex}\nf 1 3 2\nf 1 2 4\nf 1 4 3\n{face}\n".encode()


def png(width: int, height: int) -> bytes:
    """The head of a PNG of any size, with little behind it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


def moved(value: float) -> np.ndarray:
    vertices = TETRAHEDRON.copy()
    vertices[2, 1] = value
    return vertices


COLLADA = (
    b'<?xml version="1.0"?>\n<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">%s</COLLADA>'
)
CASES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "stl_empty": ("a.stl", b"", ("is empty",)),
    "stl_cut": ("a.stl", stl()[:50], ("is cut off",)),
    "stl_header": ("a.stl", stl(says=4_000_000_000), ("header says 4000000000 triangles",)),
    "stl_header_less": ("a.stl", stl(says=2), ("header says 2 triangles",)),
    "stl_no_faces": ("a.stl", bytes(84), ("has 0 triangles",)),
    "stl_nan": ("a.stl", stl(moved(np.nan)), ("not finite",)),
    "stl_inf": ("a.stl", stl(moved(np.inf)), ("not finite",)),
    "stl_text_broken": ("a.stl", b"solid x\nfacet normal 0 0\nouter", ("'a.stl'",)),
    "stl_huge_numbers": ("a.stl", stl(moved(3e38)), ("maximum bounds",)),
    "obj_nan": ("a.obj", obj("v 0 0 nan"), ("line 4", "finite")),
    "obj_overflow": ("a.obj", obj("v 0 0 1e99"), ("line 4", "finite")),
    "obj_index": ("a.obj", obj(face="f 1 2 9"), ("line 8", "'9' of 4")),
    "obj_index_zero": ("a.obj", obj(face="f 0 1 2"), ("line 8", "'0' of 4")),
    "obj_index_negative": ("a.obj", obj(face="f -9 1 2"), ("line 8",)),
    "obj_word": ("a.obj", obj(face="f a b c"), ("line 8",)),
    "obj_binary": ("a.obj", bytes(range(256)), ("binary",)),
    "obj_without_vertices": ("a.obj", b"f 1 2 3\n", ("no vertices",)),
    "msh_cut": ("a.msh", msh()[:30], ("header says",)),
    "msh_header": ("a.msh", msh(says=(2**30, 0, 0, 2**30)), ("header says",)),
    "msh_negative": ("a.msh", msh(says=(-4, 0, 0, 4)), ("header says",)),
    "msh_nan": ("a.msh", msh(moved(np.nan)), ("not finite",)),
    "msh_index": ("a.msh", msh(faces=FACES + 2), ("refers to vertex",)),
    "dae_dtd": ("a.dae", b'<!DOCTYPE a [<!ENTITY b "c">]>\n' + COLLADA % b"&b;", ("DTD",)),
    "dae_cut": ("a.dae", (COLLADA % b"<asset/>")[:-9], ("not well-formed",)),
    "dae_nothing": ("a.dae", COLLADA % b"", ("'a.dae'",)),
    "dae_zip": ("a.dae", b"PK\3\4" + bytes(100), ("'a.dae'",)),
    "glb_binary": ("a.glb", bytes(range(256)), ("trimesh cannot read it",)),
    "glb_length": ("a.glb", b"glTF" + struct.pack("<4I", 2, 2**31, 2**31, 0x4E4F534A), ("'a.glb'",)),
}  # fmt: skip
TEXTURES = {
    "png_bomb": ("a.png", png(60000, 60000), ("60000 x 60000",)),
    "png_short": ("a.png", png(500, 500), ()),
    "png_not": ("a.png", b"GIF89a" + bytes(40), ("is not a PNG",)),
}
HEIGHTS = {
    "heights_1e5": ("a.bin", struct.pack("<2i", 100_000, 100_000) + bytes(100), ("100000 x 100000",)),
    "heights_cut": ("a.bin", struct.pack("<2i", 10, 10) + bytes(100), ("but has 108 bytes",)),
    "heights_nan": ("a.bin", struct.pack("<2i", 2, 2) + struct.pack("<4f", 0, 1, float("nan"), 1), ("not finite",)),
    "heights_negative": ("a.bin", struct.pack("<2i", -2, 2) + bytes(16), ("-2 x 2",)),
}
