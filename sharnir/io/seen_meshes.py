"""Meshes that are only seen: found under the same roots, of the same size at most and read by the same child process as
those that touch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType

import numpy as np

from sharnir.errors import ModelError, one_line
from sharnir.io.parsing.assets import triangles_of
from sharnir.io.parsing.documents import MESHES
from sharnir.io.parsing.files import FileProblemError, Files
from sharnir.io.parsing.parse import MEMORY_LIMIT, TIME_LIMIT
from sharnir.io.parsing.parser_client import ChildError, Worker
from sharnir.io.parsing.size_limits import MAX_ASSET_BYTES
from sharnir.model.model import Ints
from sharnir.rotations import Array

Surface = tuple[Array, Ints]  # vertices [n, 3] in the file's units, triangles [m, 3]
_known: dict[tuple[str, bytes], Surface] = {}  # by format and hash of the file


class SeenMeshes:
    """Reads the meshes of a scene's visuals, in a child process that is started with the first one.

    roots: folders that they may lie in, the first of which relative paths begin at; None for a scene that a program
    made itself, whose files may lie anywhere.
    """

    def __init__(self, roots: Sequence[str] | None) -> None:
        self._folder = Path(roots[0]) if roots else Path()
        self._files = Files(self._folder / "scene", (roots or ())[1:])
        self._anywhere = roots is None
        self._worker = Worker()

    def __enter__(self) -> SeenMeshes:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._worker.close()

    def surface(self, reference: str) -> Surface:
        """All that a file holds, in one surface; a ModelError says why there is none."""
        try:
            kind = PurePosixPath(reference).suffix.lower().lstrip(".")
            if kind not in MESHES:
                raise FileProblemError(f"is of unknown type {kind!r}", ", ".join(MESHES))
            real = Path(reference) if self._anywhere else self._files.find(reference, [self._folder])
            data = self._files.read(real, MAX_ASSET_BYTES)
            known = kind, hashlib.sha256(data).digest()
            if known not in _known:
                _known[known] = self._read(kind, data)
            return _known[known]
        except FileProblemError as problem:
            reason = f"{one_line(reference)} is not shown: {one_line(problem.reason)}"
            raise ModelError(f"{reason}; allowed: {one_line(problem.allowed)}") from None

    def _read(self, kind: str, data: bytes) -> Surface:
        """By the child. Its answer is not trusted."""
        try:
            answer, blobs = self._worker.ask({"seen": kind}, [data], MEMORY_LIMIT, TIME_LIMIT)
        except ChildError as failure:
            raise FileProblemError(f"cannot be read: {failure}", "a smaller or a whole mesh") from None
        if "failed" in answer or len(blobs) != 1:
            reason = answer.get("reason", "needs too much memory")
            raise FileProblemError(str(reason), str(answer.get("allowed", "a smaller mesh")))
        vertices, faces = triangles_of(blobs[0])
        return vertices.astype(float), faces.astype(np.int32)
