"""Messages of ROS 2 as bytes: CDR, little-endian, as `ros2msg` schemas describe them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENCAPSULATION = b"\x00\x01\x00\x00"
FORMATS = {"uint8": "B", "int32": "i", "uint32": "I", "uint64": "Q", "float64": "d"}
SIZES = {kind: struct.calcsize(f"<{code}") for kind, code in FORMATS.items()}


class Writer:
    """Puts values behind each other, aligned to their size from the end of the encapsulation on."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def put(self, kind: str, *values: Any) -> Writer:
        """Numbers of one kind."""
        self._align(SIZES[kind])
        self._bytes += struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
        return self

    def text(self, value: str) -> Writer:
        """A string."""
        data = value.encode() + b"\0"
        self.put("uint32", len(data))
        self._bytes += data
        return self

    def array(self, kind: str, values: NDArray[Any] | bytes) -> Writer:
        """A sequence of numbers."""
        data = (
            values if isinstance(values, bytes) else np.ascontiguousarray(values, dtype=f"<{FORMATS[kind]}").tobytes()
        )
        self.put("uint32", len(data) // SIZES[kind])
        if data:
            self._align(SIZES[kind])
        self._bytes += data
        return self

    def done(self) -> bytes:
        """The message."""
        return ENCAPSULATION + bytes(self._bytes)

    def _align(self, size: int) -> None:
        self._bytes += bytes(-len(self._bytes) % size)


class Reader:
    """Takes values out again; ValueError where they are not there."""

    def __init__(self, data: bytes | memoryview) -> None:
        if bytes(data[:4]) != ENCAPSULATION:
            raise ValueError("not little-endian CDR")
        self._data, self._at = memoryview(data)[4:], 0

    def get(self, kind: str) -> Any:
        """A number."""
        return struct.unpack(f"<{FORMATS[kind]}", self._take(SIZES[kind], SIZES[kind]))[0]

    def text(self) -> str:
        """A string."""
        return bytes(self._take(self.get("uint32"), 1)).rstrip(b"\0").decode()

    def array(self, kind: str) -> NDArray[Any]:
        """A sequence of numbers."""
        count = self.get("uint32")
        data = self._take(count * SIZES[kind], SIZES[kind]) if count else b""
        return np.frombuffer(data, f"<{FORMATS[kind]}")

    def _take(self, size: int, align: int) -> memoryview:
        at = self._at + -self._at % align
        if at + size > len(self._data):
            raise ValueError("message ends too early")
        self._at = at + size
        return self._data[at : at + size]
