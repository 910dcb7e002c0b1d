"""The process that lets MuJoCo parse: bounded memory and time, no files, no state but its answers.

Speaks over stdin and stdout: a length of eight bytes, JSON, then blobs of the sizes the JSON names. No pickle.
Run as `python -m sharnir.io.parsing.parser_process`; `worker.py` is the other end.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, BinaryIO

import mujoco
import numpy as np

from sharnir.io.parsing.assets import checked, triangles_of
from sharnir.io.parsing.files import FileProblemError
from sharnir.io.parsing.pipe import frame, read_frame

try:
    import resource
except ImportError:  # not on Windows: the parent's clock is the only limit there
    resource = None  # type: ignore[assignment]


def main() -> None:
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    warnings.simplefilter("always")
    mujoco.mj_setCacheCapacity(mujoco.mj_getCache(), 0)
    if resource:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    _send(answers, {"ready": True}, [])
    while (request := read_frame(source)) is not None:
        _send(answers, *answer(*request))
        del request


def _send(stream: BinaryIO, message: dict[str, Any], blobs: list[bytes]) -> None:
    for part in frame(message, blobs):
        stream.write(part)
    stream.flush()


def answer(request: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Check the assets, parse, compile; the model as MJB, or what went wrong."""
    limit_resources(request["memory_limit"], request["time_limit"])
    if "seen" in request:
        return seen(request["seen"], blobs[0])
    name = ""
    try:
        assets = {}
        for (name, kind), blob in zip(request["assets"], blobs, strict=True):
            assets[name] = checked(kind, blob, name.endswith(".msh"))
        name = ""
        with no_files(), warnings.catch_warnings(record=True) as caught:
            models = {name: text.encode() for name, text in request["models"].items()}
            spec = mujoco.MjSpec.from_string(request["xml"], include=models, assets=assets)
            if request["format"] == "urdf":
                for mesh in spec.meshes:
                    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX  # it gives no mass: any surface will do
            model = spec.compile()
        size = mujoco.mj_sizeModel(model)
        if size > request["memory_limit"]:
            return {"failed": "memory"}, []
        buffer = np.empty(size, np.uint8)
        mujoco.mj_saveModel(model, None, buffer)
        return {"warnings": [str(w.message)[:1000] for w in caught[:100]]}, [buffer.tobytes()]
    except FileProblemError as problem:
        return {"failed": "asset", "asset": name, "reason": problem.reason, "allowed": problem.allowed}, []
    except MemoryError:
        return {"failed": "memory"}, []
    except Exception as error:
        text = str(error)
        if "allocate memory" in text or "bad_alloc" in text:
            return {"failed": "memory"}, []
        return {"failed": "mujoco", "text": text[:10_000]}, []


def seen(kind: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """A mesh that is only seen, as MSH, or what is wrong with it."""
    try:
        mesh = checked(kind, data, msh=True)
        triangles_of(mesh)
        return {}, [mesh]
    except FileProblemError as problem:
        return {"failed": "asset", "reason": problem.reason, "allowed": problem.allowed}, []
    except MemoryError:
        return {"failed": "memory"}, []


def limit_resources(memory: int, seconds: float) -> None:
    """Address space of this process in bytes, processor time from now on in seconds."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_CPU, int(spent + 2 * seconds) + 2)


def _limit(kind: int, soft: int) -> None:
    """Set a limit for now, or what the caller's own hard limit (`ulimit`) leaves of it."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


class no_files:  # noqa: N801
    """Within the block this process can open no file and no socket."""

    def __enter__(self) -> None:
        if resource:
            self.before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, self.before[1]))

    def __exit__(self, *_: object) -> None:
        if resource:
            resource.setrlimit(resource.RLIMIT_NOFILE, self.before)


if __name__ == "__main__":
    main()
