"""TOML of others as a table of Python values: bounded in size, number of entries and depth before it is parsed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sharnir.errors import ModelError, one_line
from sharnir.regular_files import name_of, read_file

MAX_BYTES = 64 * 2**20  # of a file
MAX_ENTRIES = 4 * 2**20  # keys, tables and lists: each takes some hundred bytes of memory
MAX_DEPTH = 100  # of lists and tables in each other, and parts of a dotted key
MAX_DOTTED = 2**16  # parts of all dotted keys together
MAX_QUOTED = 1000  # of these, in quotes, where marks within them hide how many parts a key has
BETWEEN = re.compile(rb"[^\n,=\[\]{}]+")  # what stands between two marks
FLOAT = re.compile(rb"[+-]?[0-9_]+\.[0-9_]+(?:[eE][+-]?[0-9_]+)?\r?")
FEW = "a file of fewer entries"


def read_toml(path: Path, what: str, allowed: str) -> dict[str, Any]:
    """The table in a file. what: what the file is called; allowed: what would be right."""
    return parsed(read_file(path, MAX_BYTES, what, allowed), f"{what} {name_of(path)}", allowed)


def parsed(data: bytes, where: str, allowed: str) -> dict[str, Any]:
    """The table that some TOML stands for; a ModelError says why it does not."""
    for reason in excesses(data):
        raise ModelError(f"{where}: {reason}; allowed: {FEW}")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, huge numbers, nested without end
        raise ModelError(f"{where}: not TOML: {one_line(str(error))}; allowed: {allowed}") from None


def excesses(data: bytes) -> Iterator[str]:
    """What a file has too much of. The parser makes a dict for every part of a dotted key, and walks all parts of it
    over and over: some bytes could cost gigabytes or hours."""
    if len(data) > MAX_BYTES:
        yield f"has {len(data)} bytes, more than {MAX_BYTES}"
    entries = sum(map(data.count, (b"[", b"{", b"=")))
    if entries > MAX_ENTRIES:
        yield f"has {entries} entries, more than {MAX_ENTRIES}"
    bare = data.replace(b" ", b"").replace(b"\t", b"")
    dotted = 0
    for part in BETWEEN.finditer(bare):
        text = part[0]
        dots = text.count(b".")
        if dots and not FLOAT.fullmatch(text):
            dotted += dots
            if dots > MAX_DEPTH:
                yield f"has a key of more than {MAX_DEPTH} parts"
            if dotted > MAX_DOTTED:
                yield f"has more than {MAX_DOTTED} dots in its keys"
    quoted = sum(map(bare.count, (b'".', b"'.")))
    if quoted > MAX_QUOTED:
        yield f"has more than {MAX_QUOTED} quoted parts of dotted keys"
