"""The process in which coacd takes a mesh apart: bounded memory and time. Reads one message from stdin, answers on
stdout, with the messages of `frames.py`."""

from __future__ import annotations

import os
import sys

import numpy as np

from sharnir.io.parsing.parser_process import limit_resources
from sharnir.io.parsing.pipe import frame, read_frame


def main() -> None:
    """One mesh: its convex parts as blobs of points."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    request = read_frame(sys.stdin.buffer)
    assert request is not None
    message, (vertices, faces) = request
    import coacd

    limit_resources(message["memory_limit"], message["time_limit"])
    mesh = coacd.Mesh(np.frombuffer(vertices, "<f8").reshape(-1, 3), np.frombuffer(faces, "<i4").reshape(-1, 3))
    parts = coacd.run_coacd(mesh, threshold=message["concavity"])
    answers.writelines(frame({}, [np.ascontiguousarray(points, "<f8").tobytes() for points, _ in parts]))
    answers.flush()


if __name__ == "__main__":
    main()
