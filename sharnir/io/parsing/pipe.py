"""Messages between parent and child: a length of eight bytes, JSON, then blobs of the sizes the JSON names."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

LARGEST_JSON = 512 * 2**20


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
    """One message and its blobs, or None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    if size > LARGEST_JSON:
        return None
    message = json.loads(stream.read(size))
    return message, [stream.read(n) for n in message["blobs"]]


def frame(message: dict[str, Any], blobs: list[bytes]) -> list[bytes]:
    """A message and its blobs as bytes."""
    text = json.dumps({**message, "blobs": [len(b) for b in blobs]}).encode()
    return [len(text).to_bytes(8, "little"), text, *blobs]
