"""A bounded queue of bytes in memory that two processes share: one puts records in, the other takes them out."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator

CONTROL = 64  # bytes before the records
HEAD, TAIL, TROUBLE = range(3)  # bytes put in so far, bytes taken out so far, 1 once the reader can write no more
WORD = 8  # bytes: records start at multiples; each begins with a word, its length, 0 where the rest is skipped


def shared_file(size: int) -> int:
    """Descriptor of some shared memory, zeroed, that no other program sees."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("sharnir-recording")
    else:
        descriptor, name = tempfile.mkstemp()
        os.unlink(name)
    os.ftruncate(descriptor, size)
    return descriptor


class Ring:
    """One end of the queue; `capacity` bytes of records, a multiple of WORD."""

    def __init__(self, descriptor: int, capacity: int) -> None:
        self.capacity = capacity
        everything = memoryview(mmap.mmap(descriptor, CONTROL + capacity))
        self._control = everything[:CONTROL].cast("Q")
        self._data = everything[CONTROL:]
        self._lengths = self._data.cast("Q")
        self._head = self._tail = 0

    @property
    def used(self) -> int:
        """Bytes that wait to be taken out."""
        return self._control[HEAD] - self._control[TAIL]

    @property
    def trouble(self) -> bool:
        """Whether the other end has given up."""
        return self._control[TROUBLE] != 0

    def touch(self) -> None:
        """Have the system provide all of the memory now: no step shall wait for it."""
        self._data[:] = bytes(self.capacity)

    def give_up(self) -> None:
        """Tell the writing end that nothing is taken out any more."""
        self._control[TROUBLE] = 1

    def put(self, *parts: bytes) -> bool:
        """Put a record of some parts in; whether there was room for it."""
        size = sum(map(len, parts))
        needed = WORD + size + -size % WORD
        at = self._head % self.capacity
        skipped = self.capacity - at if at + needed > self.capacity else 0
        if self._head + skipped + needed - self._control[TAIL] > self.capacity:
            return False
        if skipped:
            self._lengths[at // WORD] = 0
            at = 0
        self._lengths[at // WORD] = size
        at += WORD
        for part in parts:
            self._data[at : at + len(part)] = part
            at += len(part)
        self._head += skipped + needed
        self._control[HEAD] = self._head
        return True

    def taken(self) -> Iterator[memoryview]:
        """Records put in so far, oldest first; each is free again when the next is asked for."""
        head = self._control[HEAD]
        while self._tail < head:
            at = self._tail % self.capacity
            size = self._lengths[at // WORD]
            if size == 0:
                self._tail += self.capacity - at
            else:
                yield self._data[at + WORD : at + WORD + size]
                self._tail += WORD + size + -size % WORD
            self._control[TAIL] = self._tail
