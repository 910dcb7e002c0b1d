"""Reading MCAP files as they are: whole, cut off anywhere, or spoilt. No length in a file is believed before it is
checked, and nothing needs the index at the end, which a recording that was killed has not."""

from __future__ import annotations

import io
import mmap
import struct
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Metadata
from mcap.writer import MCAP0_MAGIC

from sharnir.errors import RecordingError, one_line
from sharnir.regular_files import FileProblemError, name_of, open_regular

LARGEST = 2**28  # bytes of a record, or of a chunk when it is unpacked
UNPACKED, RATIO = 2**26, 100  # bytes of all chunks when unpacked: the first, and so many times as many as the file has
RECORD = struct.Struct("<BQ")
CHUNK = struct.Struct("<QQQII")  # first and last time, size, checksum, length of the compression's name
MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, two times
ALLOWED = "a recording that sharnir wrote"


class Place(NamedTuple):
    """Where a message is: its chunk, and its bytes there once that is unpacked."""

    chunk: int
    start: int
    end: int


class Places:
    """Places of messages, in a few bytes each."""

    def __init__(self) -> None:
        self._numbers = array("Q")

    def __len__(self) -> int:
        return len(self._numbers) // 3

    def __getitem__(self, k: int) -> Place:
        return Place(*self._numbers[3 * k : 3 * k + 3])

    def __iter__(self) -> Iterator[Place]:
        return (self[k] for k in range(len(self)))

    def append(self, place: Place) -> None:
        """One more."""
        self._numbers.extend(place)


class Chunk(NamedTuple):
    """A chunk in the file."""

    at: int  # first byte of its data
    end: int
    size: int  # bytes when unpacked
    checksum: int
    compression: bytes


class McapFile:
    """The records of a file, found by one walk through it. A last record that is not whole is left out; anything else
    that is wrong is a RecordingError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata: dict[str, dict[str, str]] = {}
        self.attachments: dict[str, bytes] = {}
        self.topics: dict[int, str] = {}
        self.messages: dict[str, Places] = {}
        self.complete = False  # whether it was ended, with its index
        self._chunks: list[Chunk] = []
        self._unpacked: tuple[int, bytes] = (-1, b"")
        try:
            with open_regular(path) as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileProblemError as problem:
            raise self.trouble(problem.reason) from None
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            text = (error.strerror if isinstance(error, OSError) else "") or "it is empty"
            raise self.trouble(text) from None
        self._left = UNPACKED + RATIO * len(self._data)
        self._walk()

    def trouble(self, reason: str) -> RecordingError:
        """What is wrong with the file."""
        return RecordingError(f"recording {name_of(self.path)}: {one_line(reason)}; allowed: {ALLOWED}")

    def read(self, place: Place) -> memoryview:
        """The bytes of a message."""
        return memoryview(self._unpack(place.chunk))[place.start : place.end]

    def _walk(self) -> None:
        size = len(self._data)
        if self._data[: len(MCAP0_MAGIC)] != MCAP0_MAGIC:
            raise self.trouble("is not an MCAP file")
        at = len(MCAP0_MAGIC)
        while at + RECORD.size <= size and not self.complete:
            opcode, length = RECORD.unpack_from(self._data, at)
            at += RECORD.size
            if length > size - at:
                if length > LARGEST or opcode not in (*Opcode,):
                    raise self.trouble(f"the record at byte {at - RECORD.size} cannot be that long: {length} bytes")
                break
            try:
                self._record(opcode, at, at + length)
            except (ValueError, struct.error, zstandard.ZstdError, MemoryError, EOFError) as error:
                raise self.trouble(f"the record at byte {at - RECORD.size} is spoilt: {error}") from None
            at += length

    def _record(self, opcode: int, at: int, end: int) -> None:
        if opcode == Opcode.CHUNK:
            self._chunks.append(self._chunk(at, end))
            self._index(len(self._chunks) - 1)
        elif opcode == Opcode.METADATA:
            found = Metadata.read(stream(self._data[at:end]))
            self.metadata[found.name] = found.metadata
        elif opcode == Opcode.ATTACHMENT:
            data = self._data[at:end]
            if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
                raise ValueError("the checksum of an attachment differs")
            attachment = Attachment.read(stream(data))
            self.attachments[attachment.name] = attachment.data
        elif opcode == Opcode.FOOTER:
            self.complete = True
        elif opcode not in (*Opcode,):
            raise ValueError(f"there is no record of kind {opcode}")

    def _chunk(self, at: int, end: int) -> Chunk:
        _, _, size, checksum, name = CHUNK.unpack_from(self._data, at)
        at += CHUNK.size
        compression = bytes(self._data[at : at + name]) if name <= 16 else b""
        (length,) = struct.unpack_from("<Q", self._data, at + name)
        at += name + 8
        if compression != b"zstd" or length != end - at or size > LARGEST:
            raise ValueError("a chunk of such a size or compression is none of ours")
        self._left -= size
        if self._left < 0:
            raise ValueError(f"its chunks hold more than {UNPACKED} bytes, and more than {RATIO} times the file's")
        return Chunk(at, end, size, checksum, compression)

    def _unpack(self, number: int) -> bytes:
        """The records of a chunk; the last one is kept."""
        if self._unpacked[0] != number:
            chunk = self._chunks[number]
            packed = self._data[chunk.at : chunk.end]
            if zstandard.frame_content_size(packed) != chunk.size:
                raise ValueError("a chunk has another size than it says")
            data = zstandard.decompress(packed, max_output_size=chunk.size)
            if len(data) != chunk.size or zlib.crc32(data) != chunk.checksum:
                raise ValueError("the checksum of a chunk differs")
            self._unpacked = number, data
        return self._unpacked[1]

    def _index(self, number: int) -> None:
        """Where the messages of a chunk are."""
        data = self._unpack(number)
        at, size = 0, len(data)
        while at < size:
            opcode, length = RECORD.unpack_from(data, at)
            at += RECORD.size
            if length > size - at:
                raise ValueError("a message is longer than its chunk")
            if opcode == Opcode.MESSAGE:
                channel = MESSAGE.unpack_from(data, at)[0]
                if channel not in self.topics:
                    raise ValueError(f"there is no channel {channel}")
                self.messages[self.topics[channel]].append(Place(number, at + MESSAGE.size, at + length))
            elif opcode == Opcode.CHANNEL:
                found = Channel.read(stream(data[at : at + length]))
                self.topics[found.id] = found.topic
                self.messages.setdefault(found.topic, Places())
            at += length


def stream(data: bytes) -> Any:
    """Bytes as MCAP's own records are read from."""
    return Bounded(io.BytesIO(data), len(data))


class Bounded(ReadDataStream):
    """A stream that has what is asked of it, or raises ValueError."""

    def __init__(self, source: Any, size: int) -> None:
        super().__init__(source)
        self._left = size

    def read(self, length: int) -> bytes:
        """So many bytes."""
        if length > self._left:
            raise ValueError("it ends too early")
        self._left -= length
        return super().read(length)
