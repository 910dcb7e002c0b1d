"""Meshes as convex parts, by coacd: only where a user asks for it, in a child process, kept on disk by content."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sharnir.child_process import NOWHERE, child_environment, module_command
from sharnir.errors import ModelError, fail
from sharnir.io.parsing.pipe import frame, read_frame
from sharnir.rotations import Array

TIME_LIMIT = 600.0  # s, of one mesh
MEMORY_LIMIT = 4 * 2**30  # bytes
LEAST, MOST = 0.01, 1.0  # concavity that coacd takes
Whole = NDArray[np.int32]


def checked_concavity(value: object) -> float | None:
    """What `load` was given as `decompose`, or a ModelError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not LEAST <= value <= MOST:
        allowed = f"a concavity from {LEAST:g} (fine) to {MOST:g} (coarse), or None for hulls"
        raise fail("load", "decompose is out of range", repr(value), allowed)
    try:
        importlib.metadata.version("coacd")
    except importlib.metadata.PackageNotFoundError:
        raise fail("load", "decompose needs coacd", "not installed", "pip install 'sharnir[decompose]'") from None
    return float(value)


def convex_parts(where: str, vertices: Array, faces: Whole, concavity: float) -> list[Array]:
    """[n, 3] points of each convex part of a surface, vertices [n, 3] and faces [m, 3]; from the cache where the same
    was asked for before."""
    vertices, faces = np.ascontiguousarray(vertices, "<f8"), np.ascontiguousarray(faces, "<i4")
    request = {"concavity": concavity, "memory_limit": MEMORY_LIMIT, "time_limit": TIME_LIMIT}
    asked = f"coacd {importlib.metadata.version('coacd')} {concavity!r} {len(vertices)} ".encode()
    kept = cache_folder() / hashlib.sha256(asked + vertices.tobytes() + faces.tobytes()).hexdigest()
    found = _read(kept.read_bytes()) if kept.is_file() else None
    if found is not None:
        return found
    answer = _ask(where, b"".join(frame(request, [vertices.tobytes(), faces.tobytes()])))
    found = _read(answer)
    if found is None:
        raise _failure(where, "coacd found no parts")
    _keep(kept, answer)
    return found


def cache_folder() -> Path:
    """Where parts are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sharnir" / "parts"


def _failure(where: str, reason: str) -> ModelError:
    return fail(where, "its mesh cannot be decomposed", reason, "a closed surface, or load without decompose")


def _ask(where: str, request: bytes) -> bytes:
    try:
        done = subprocess.run(
            module_command("sharnir.io.convex_decomposition_process"), input=request, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=TIME_LIMIT, check=False, cwd=NOWHERE,
            env=child_environment(),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _failure(where, f"it took longer than {TIME_LIMIT:g} s") from None
    if done.returncode:
        raise _failure(where, f"coacd ended with status {done.returncode}")
    return done.stdout


def _read(answer: bytes) -> list[Array] | None:
    """Parts in an answer of the child or in the cache, None where it is damaged."""
    try:
        message = read_frame(BytesIO(answer))
        parts = [np.frombuffer(blob, "<f8").reshape(-1, 3).astype(float) for blob in message[1]] if message else []
    except (ValueError, KeyError, TypeError):
        return None
    whole = message is not None and message[0]["blobs"] == [part.nbytes for part in parts]
    return parts if parts and whole and all(np.isfinite(part).all() for part in parts) else None


def _keep(path: Path, answer: bytes) -> None:
    """Write at once or not at all; a disk that is full or read-only costs the time of the next load only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(answer)
        os.replace(file.name, path)
    except OSError:
        return
