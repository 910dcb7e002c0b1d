"""Files that people give us: regular ones only, of bounded size, read once; one sentence where they are not."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from sharnir.errors import ModelError, ModelFileError, one_line


class FileProblemError(Exception):
    """What is wrong with a file or a value, without its place: the caller knows the element."""

    def __init__(self, reason: str, allowed: str) -> None:
        super().__init__(reason)
        self.reason, self.allowed = reason, allowed


def open_regular(path: Path | str) -> BinaryIO:
    """A regular file, open for reading; never waits on a FIFO or a device."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:  # ValueError: a zero byte, or what no file name can hold
        if getattr(error, "errno", None) == errno.ENXIO:
            raise FileProblemError("is not a regular file", "a regular file") from None
        why = getattr(error, "strerror", None) or str(error)
        raise FileProblemError(f"cannot be read: {why}", "a readable file") from None
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(state.st_mode) else "not a regular file"
        raise FileProblemError(f"is {kind}", "a regular file")
    return open(descriptor, "rb")


def read_regular(path: Path | str, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise FileProblemError(f"has {size} bytes", f"at most {limit} bytes")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FileProblemError("grew while it was read", f"at most {limit} bytes")
    return data


def read_file(path: Path | str, limit: int, what: str, allowed: str) -> bytes:
    """The same, or a ModelError that calls the file `what`."""
    try:
        return read_regular(path, limit)
    except FileProblemError as problem:
        raise ModelError(f"{what} {name_of(path)}: {problem.reason}; allowed: {allowed}, {problem.allowed}") from None


def real_folders(roots: Iterable[Path | str], of: Path) -> list[Path]:
    """Folders that exist, without links in their paths; a ModelFileError of the file that they are given for."""
    out = []
    for root in roots:
        try:
            real = Path(os.path.realpath(root))
        except (OSError, ValueError):  # a zero byte
            real = Path("\0")
        if not real.is_dir():
            raise ModelFileError(str(of), f"root {one_line(str(root))} is not a folder", "folders that exist")
        out.append(real)
    return out


def name_of(path: Path | str) -> str:
    """A path as it stands in a message: on one line, whatever it holds."""
    return one_line(str(path))
